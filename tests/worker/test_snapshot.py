"""Copies of arguments keep memory order and sharing; differences are found byte by byte."""

import collections
import math

import pytest
import torch

from opdebug.worker import snapshot as module
from opdebug.worker.snapshot import Snapshot, aliasing, changed, shares_storage, tensors_in

Pair = collections.namedtuple("Pair", "first second")


def copy_of(tree):
    return Snapshot.take(tree).copy()


VIEWS = {
    "contiguous": lambda: torch.arange(6.0).view(2, 3),
    "transposed": lambda: torch.arange(6.0).view(2, 3).t(),
    "offset": lambda: torch.arange(9.0)[3:],
    "expanded": lambda: torch.arange(3.0).expand(2, 3),
    "overlapping": lambda: torch.arange(9.0).as_strided((3, 4), (2, 1), 1),
    "scalar": lambda: torch.tensor(2.0),
    "empty": lambda: torch.arange(6.0)[6:],
    "negated": lambda: torch._neg_view(torch.arange(4.0)),
    "conjugated": lambda: torch.tensor([1 + 2j]).conj(),
    "imaginary part": lambda: torch.tensor([1 + 2j, 3j]).conj().imag,
    "8-bit": lambda: torch.arange(4.0).to(torch.float8_e4m3fn)[1:],
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_copy_is_the_same_view_over_other_memory(name):
    original = VIEWS[name]()
    copy = copy_of({"x": original})["x"]
    assert module._metadata(copy) == module._metadata(original)
    assert copy.untyped_storage().nbytes() == original.untyped_storage().nbytes()
    assert changed({"x": original}, {"x": copy}) == []
    assert not shares_storage(original, copy)


def test_sharing_between_arguments_is_kept():
    base = torch.arange(12.0)
    tree = {"args": (base, base[2:6], [base.view(3, 4).t()]), "kwargs": {"out": base, "other": torch.zeros(3)}}
    copy = copy_of(tree)
    copy["args"][1].fill_(-1)
    assert copy["args"][0].tolist() == [0, 1, -1, -1, -1, -1, 6, 7, 8, 9, 10, 11]
    assert copy["args"][2][0][2, 0] == -1
    assert copy["kwargs"]["out"] is copy["args"][0]
    assert base[2] == 2
    assert not shares_storage(tree, copy)


def test_each_copy_is_fresh():
    snapshot = Snapshot.take([torch.zeros(3)])
    snapshot.copy()[0].fill_(1)
    assert snapshot.copy()[0].tolist() == [0, 0, 0]


def test_the_original_may_change_after_it_was_taken():
    x = torch.zeros(3)
    snapshot = Snapshot.take([x])
    x.fill_(1)
    assert snapshot.copy()[0].tolist() == [0, 0, 0]


def test_containers_and_other_leaves():
    options = {"k": [1]}
    tree = {"args": (Pair(torch.zeros(1), None), [1, "a"], torch.float16, math, torch.Size([2])),
            "kwargs": collections.OrderedDict(o=options, d=collections.defaultdict(list, a=[2]))}
    copy = copy_of(tree)
    assert type(copy["args"][0]) is Pair
    assert copy["args"][1:] == tree["args"][1:]
    assert copy["args"][2] is torch.float16
    assert copy["args"][3] is math
    assert type(copy["args"][4]) is torch.Size
    assert type(copy["kwargs"]) is collections.OrderedDict
    assert copy["kwargs"]["d"].default_factory is list
    assert copy["kwargs"]["o"] == options
    assert copy["kwargs"]["o"]["k"] is not options["k"]


def test_gradients_and_parameters():
    tree = [torch.nn.Parameter(torch.ones(2)), torch.ones(2, requires_grad=True), torch.ones(2)]
    copy = copy_of(tree)
    assert [type(t) for t in copy] == [torch.nn.Parameter, torch.Tensor, torch.Tensor]
    assert [t.requires_grad for t in copy] == [True, True, False]
    assert copy_of([tree[1] * 2])[0].is_leaf


def test_unusual_tensors_are_cloned():
    tree = {"s": torch.eye(3).to_sparse(), "q": torch.quantize_per_tensor(torch.eye(3), 0.1, 0, torch.qint8),
            "n": torch.nested.nested_tensor([torch.ones(2)])}
    copy = copy_of(tree)
    assert changed(tree, copy) == []
    copy["s"]._values().fill_(3)
    assert changed(tree, copy) == ["s"]
    assert aliasing(tree) == "none"


def test_of_a_huge_storage_only_what_is_reached_is_copied(monkeypatch):
    monkeypatch.setattr(module, "WHOLE_STORAGE_LIMIT", 64)
    base = torch.arange(1000.0)
    tree = {"x": base[10:20], "y": base[30:40:3], "z": base[500:501].requires_grad_(False)}
    copy = copy_of(tree)
    assert changed(tree, copy) == []
    assert copy["x"].storage_offset() == 10
    assert copy["z"].tolist() == [500]
    copy["x"].as_strided((1,), (1,), 30).fill_(-1)
    assert copy["y"][0] == -1


def test_changes_are_named_by_path():
    tree = {"x": torch.zeros(3), "args": (torch.zeros(2), [torch.zeros(2)]), "kwargs": {"out": torch.zeros(4)}}
    copy = copy_of(tree)
    copy["args"][1][0][1] = 1
    copy["kwargs"]["out"].resize_(2)
    assert changed(tree, copy) == ["args[1][0]", "kwargs['out']"]
    assert changed({"x": tree["x"]}, {}) == ["x"]
    assert [path for path, _ in tensors_in({"xs[0]": tree["x"], 3: tree["x"]})] == ["xs[0]", "[3]"]
    assert [path for path, _ in tensors_in([tree["x"]])] == ["[0]"]


def test_changes_are_bitwise_and_include_the_gaps():
    tree = {"x": torch.full((3,), float("nan")), "z": torch.zeros(2), "g": torch.zeros(7)[1::2]}
    copy = copy_of(tree)
    assert changed(tree, copy) == []
    copy["z"].neg_()
    copy["g"].as_strided((1,), (1,), 2).fill_(5)
    assert changed(tree, copy) == ["z", "g"]


def test_bytes_outside_a_view_are_not_its_own():
    base = torch.zeros(9, dtype=torch.uint8)
    tree = {"x": base[1:4], "y": base[4:7]}
    copy = copy_of(tree)
    copy["y"].fill_(1)
    assert changed(tree, copy) == ["y"]


@pytest.mark.parametrize(
    ("make", "relation"),
    [
        (lambda x: {"x": x, "y": x.clone()}, "none"),
        (lambda x: {"a": x, "out": x}, "out=a"),
        (lambda x: {"a": x, "out": x.view_as(x)}, "out=a"),
        (lambda x: {"x": x, "y": x[1:]}, "y⊂x"),
        (lambda x: {"y": x[1:], "x": x}, "y⊂x"),
        (lambda x: {"x": x, "y": x.t()}, "y⊂x"),
        (lambda x: {"x": x, "xs": [x[0], x[0]], "out": x}, "out=x,xs[0]⊂x,xs[1]=xs[0]"),
        (lambda x: {"x": x, "n": torch._neg_view(x)}, "n⊂x"),
        (lambda x: {"x": x[:0], "y": torch.empty(0), "s": "text"}, "none"),
    ],
)
def test_relations(make, relation):
    assert aliasing(make(torch.arange(9.0).view(3, 3))) == relation


def test_shared_memory_between_trees():
    x = torch.arange(4.0)
    assert shares_storage({"x": x}, [1, (x[2:],)])
    assert not shares_storage({"x": x}, [x.clone()])
    assert not shares_storage(torch.empty(0), torch.empty(0))
