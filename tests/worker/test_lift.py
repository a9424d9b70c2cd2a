"""Lifting changes the dtype and nothing else, or, for a reference of the candidate's own, the layout as well."""

import torch

from opdebug.worker.lift import is_canonical, is_narrow, lift

CPU = torch.device("cpu")


def test_floats_and_complex_are_widened_and_the_rest_is_kept():
    tree = {"h": torch.ones(2, dtype=torch.half), "c": torch.ones(2, dtype=torch.complex64),
            "i": torch.ones(2, dtype=torch.int8), "e": torch.ones(2).to(torch.float8_e4m3fn),
            "list": [torch.ones(1), 3], "n": None}
    lifted = lift(tree, CPU)
    assert [lifted[k].dtype for k in "hcie"] == [torch.float64, torch.complex128, torch.int8, torch.float64]
    assert lifted["list"][0].dtype == torch.float64 and lifted["list"][1] == 3 and lifted["n"] is None


def test_the_original_is_never_written_through_a_lifted_copy():
    x = torch.zeros(3, dtype=torch.float64)
    lift({"x": x}, CPU)["x"].add_(1)
    lift({"x": x}, CPU, canonical=True)["x"].add_(1)
    assert x.tolist() == [0, 0, 0]


def test_strides_overlap_and_aliasing_survive():
    base = torch.arange(12.0)
    tree = {"a": base.as_strided((3, 4), (1, 2), 1), "b": base[2:8], "z": base[:1].expand(5)}
    lifted = lift(tree, CPU)
    for name, tensor in tree.items():
        assert (lifted[name].stride(), lifted[name].storage_offset()) == (tensor.stride(), tensor.storage_offset())
        assert torch.equal(lifted[name].float(), tensor)
    lifted["b"].zero_()
    assert lifted["a"][0, 1].item() == 0


def test_a_canonical_copy_is_contiguous_and_alone():
    base = torch.arange(12.0)
    tree = {"a": base.view(3, 4).t(), "b": base[2:8]}
    lifted = lift(tree, CPU, canonical=True)
    assert all(is_canonical(tensor) for tensor in lifted.values())
    assert lifted["a"].untyped_storage().data_ptr() != lifted["b"].untyped_storage().data_ptr()
    assert torch.equal(lifted["a"].float(), tree["a"])


def test_negative_and_conjugate_views_are_carried_out():
    x = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex64)
    assert lift({"x": x.conj()}, CPU)["x"].tolist() == [1 - 2j, 3 + 1j]
    assert not is_canonical(x.conj()) and is_canonical(x) and is_narrow(x) and not is_narrow(torch.ones(1).long())
