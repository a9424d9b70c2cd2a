"""One pair of tensors: shape, dtype and device first, then NaN, infinities and values with their exact metrics."""

import json
import math

import pytest
import torch

from opdebug.judge import blocks
from opdebug.judge.compare import _device_problem
from opdebug.judge.judgement import judge
from opdebug.judge.policies import policy

NAN, INF = math.nan, math.inf
DEFAULT = policy({"policy": "torch-default"})
EXACT = policy({"policy": "exact"})


def compared(candidate, reference, tolerance=DEFAULT, **options):
    judgement = judge(candidate, reference, tolerance, **options)
    json.dumps(judgement.comparisons, allow_nan=False)
    assert judgement.agrees == all(c["agrees"] for c in judgement.comparisons)
    (comparison,) = judgement.comparisons
    return comparison


def allclose(atol, rtol):
    return policy({"atol": atol, "rtol": rtol})


def test_all_the_fields_of_a_mismatch():
    reference = torch.tensor([[1.0, 2.0], [4.0, 0.0]], dtype=torch.float64)
    candidate = torch.tensor([[1.0, 2.5], [5.0, 0.0]], dtype=torch.float64)
    comparison = compared(candidate, reference, allclose(0.25, 0.0))
    assert comparison == {
        "output": "output", "agrees": False, "reason": "values",
        "message": "2 of 4 elements differ by more than 0.25 + 0·|reference|; "
                   "the furthest off: at [1, 0], candidate 5.0, reference 4.0",
        "dtype": {"candidate": "float64", "reference": "float64"}, "shape": [2, 2],
        "total": 4, "mismatched": 2, "mismatched_share": 0.5, "max_abs": 1.0, "max_rel": 0.25,
        "cosine": pytest.approx(26 / math.sqrt(32.25 * 21)), "rel_l2": pytest.approx(math.sqrt(1.25 / 21)),
        "ulp_max": 2**50,
        "nan": {"candidate": 0, "reference": 0, "differing": 0}, "inf": {"candidate": 0, "reference": 0, "differing": 0},
        "worst": {"index": [1, 0], "candidate": 5.0, "reference": 4.0, "abs": 1.0, "rel": 0.25},
        "first": {"index": [0, 1], "candidate": 2.5, "reference": 2.0, "abs": 0.5, "rel": 0.25},
        "tolerance": {"policy": "allclose", "atol": 0.25, "rtol": 0.0},
        "passing_tolerance": {"atol": 1.0, "rtol": pytest.approx(0.1875)},
    }


def test_equal_tensors():
    x = torch.tensor([1.0, -2.0, 0.0])
    comparison = compared(x, x.clone())
    assert comparison["agrees"]
    assert (comparison["max_abs"], comparison["max_rel"], comparison["ulp_max"]) == (0.0, 0.0, 0)
    assert (comparison["cosine"], comparison["rel_l2"]) == (pytest.approx(1.0), 0.0)
    assert (comparison["worst"], comparison["first"]) == (None, None)


def test_the_largest_distance_is_shown_where_all_agree():
    comparison = compared(torch.tensor([1.0, 3.0, 2.25]), torch.tensor([1.0, 2.5, 2.0]), allclose(1, 0))
    assert comparison["agrees"]
    assert comparison["worst"] == {"index": [1], "candidate": 3.0, "reference": 2.5, "abs": 0.5, "rel": 0.2}
    assert comparison["first"] is None
    assert comparison["passing_tolerance"]["atol"] == 0.5


def test_the_worst_exceeds_its_own_bound_most():
    comparison = compared(torch.tensor([103.0, 2.0]), torch.tensor([100.0, 1.0]), allclose(0, 0.025))
    assert (comparison["worst"]["index"], comparison["first"]["index"]) == ([1], [0])
    assert comparison["max_abs"] == 3.0


def test_shape_before_everything():
    comparison = compared(torch.zeros(2, 3, dtype=torch.int32), torch.full((3, 2), NAN))
    assert comparison["reason"] == "shape"
    assert "[2, 3]" in comparison["message"]
    assert "[3, 2]" in comparison["message"]
    assert compared(torch.zeros(1), torch.zeros(()))["reason"] == "shape"


def test_dtype_is_a_finding_and_the_values_are_still_measured():
    comparison = compared(torch.tensor([1.0, 3.0]), torch.tensor([1.0, 2.0], dtype=torch.float64))
    assert comparison["reason"] == "dtype"
    assert comparison["message"] == "the candidate has dtype float32, the reference float64"
    assert comparison["max_abs"] == 1.0
    assert judge(torch.ones(1), torch.ones(1).half(), DEFAULT).kind == "output_structure"
    assert compared(torch.tensor([2**63], dtype=torch.uint64), torch.tensor([5]))["reason"] == "dtype"


@pytest.mark.parametrize(("candidate", "reference", "reason"), [
    (torch.float16, torch.float64, None), (torch.complex64, torch.complex128, None),
    (torch.float32, torch.complex128, "dtype"), (torch.int32, torch.float64, "dtype"),
    (torch.int32, torch.int64, "dtype"), (torch.bool, torch.uint8, "dtype"), (torch.int64, torch.int64, None),
])
def test_dtypes_against_a_wider_reference(candidate, reference, reason):
    comparison = compared(torch.ones(2).to(candidate), torch.ones(2).to(reference), reference_is_wider=True)
    assert comparison["reason"] == reason


def test_the_candidates_dtype_chooses_the_tolerance_against_a_wider_reference():
    reference = torch.tensor([1.0], dtype=torch.float64)
    comparison = compared(torch.tensor([1.001], dtype=torch.bfloat16), reference, reference_is_wider=True)
    assert comparison["tolerance"] == {"policy": "torch-default", "atol": 1e-5, "rtol": 1.6e-2}


def test_the_correctly_rounded_result_agrees_with_a_wider_reference():
    third = torch.tensor([1 / 3, 1e6], dtype=torch.float64)
    comparison = compared(third.half(), third, EXACT, reference_is_wider=True)
    assert comparison["agrees"]
    assert (comparison["inf"]["candidate"], comparison["inf"]["differing"]) == (1, 0)
    wrong = torch.nextafter(third.half(), torch.zeros(2).half())
    comparison = compared(wrong, third, EXACT, reference_is_wider=True)
    assert (comparison["mismatched"], comparison["ulp_max"]) == (2, 1)


def test_device_rules():
    cpu, gpu, other = torch.device("cpu"), torch.device("cuda:0"), torch.device("cuda:1")
    assert _device_problem(gpu, cpu, None) is None
    assert _device_problem(gpu, gpu, None) is None
    assert _device_problem(cpu, gpu, None)[0] == "device"
    assert _device_problem(gpu, other, None)[0] == "device"
    assert _device_problem(cpu, cpu, gpu)[0] == "device"
    assert _device_problem(gpu, cpu, torch.device("cuda")) is None
    assert _device_problem(other, cpu, gpu)[0] == "device"
    comparison = compared(torch.ones(1), torch.ones(1), expected_device=torch.device("cuda"))
    assert (comparison["reason"], comparison["max_abs"]) == ("device", 0.0)


def test_nan_agrees_with_nan_and_hides_nothing():
    comparison = compared(torch.tensor([NAN, 1.0]), torch.tensor([NAN, 1.0]))
    assert comparison["agrees"]
    comparison = compared(torch.tensor([NAN, 100.0, 1.0]), torch.tensor([0.0, 1.0, 1.0]))
    assert comparison["reason"] == "nan_positions"
    assert comparison["nan"] == {"candidate": 1, "reference": 0, "differing": 1}
    assert (comparison["max_abs"], comparison["mismatched"]) == (99.0, 2)
    assert comparison["worst"]["index"] == [1]
    assert comparison["first"] == {"index": [0], "candidate": "nan", "reference": 0.0, "abs": None, "rel": None}
    assert comparison["passing_tolerance"] is None


def test_a_finite_candidate_against_nan_fails():
    comparison = compared(torch.zeros(3), torch.tensor([0.0, NAN, 0.0]), allclose(1e9, 1e9))
    assert comparison["reason"] == "nan_positions"
    assert comparison["worst"]["index"] == [1]


def test_infinities_by_sign():
    assert compared(torch.tensor([INF, -INF, 1.0]), torch.tensor([INF, -INF, 1.0]))["agrees"]
    comparison = compared(torch.tensor([INF, INF, 2.0]), torch.tensor([INF, -INF, 1.0]), allclose(1e9, 1e9))
    assert comparison["reason"] == "inf_positions"
    assert comparison["inf"] == {"candidate": 2, "reference": 2, "differing": 1}
    assert comparison["max_abs"] == 1.0
    assert judge(torch.tensor([INF]), torch.tensor([1.0]), DEFAULT).kind == "values"


def test_nothing_finite_leaves_no_metrics():
    comparison = compared(torch.tensor([NAN]), torch.tensor([NAN]))
    assert comparison["agrees"]
    assert [comparison[k] for k in ("max_abs", "max_rel", "cosine", "rel_l2", "ulp_max")] == [None] * 5


def test_tiny_outputs_ten_times_too_large_fail():
    reference = torch.tensor([1e-5, 2e-5, -3e-5])
    comparison = compared(reference * 10, reference, allclose(1e-8, 1e-5))
    assert comparison["reason"] == "values"
    assert comparison["rel_l2"] == pytest.approx(9.0, rel=1e-5)
    assert comparison["cosine"] == pytest.approx(1.0)


def test_float16_differences_do_not_overflow():
    comparison = compared(torch.tensor([60000.0]).half(), torch.tensor([-60000.0]).half())
    assert (comparison["max_abs"], comparison["max_rel"], comparison["cosine"]) == (120000.0, 2.0, -1.0)


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_cosine_and_l2_at_the_edges_of_float64(scale):
    reference = torch.tensor([3.0, 4.0], dtype=torch.float64) * scale
    candidate = torch.tensor([4.0, 3.0], dtype=torch.float64) * scale
    comparison = compared(candidate, reference)
    assert comparison["cosine"] == pytest.approx(24 / 25)
    assert comparison["rel_l2"] == pytest.approx(math.sqrt(2) / 5)
    same = compared(reference, reference.clone())
    assert (same["cosine"], same["rel_l2"]) == (pytest.approx(1.0), 0.0)


def test_a_distance_that_float64_cannot_hold():
    comparison = compared(torch.tensor([1e308], dtype=torch.float64), torch.tensor([-1e308], dtype=torch.float64))
    assert comparison["reason"] == "values"
    assert (comparison["max_abs"], comparison["passing_tolerance"]) == (None, None)
    assert comparison["cosine"] == pytest.approx(-1.0)
    assert comparison["rel_l2"] == pytest.approx(2.0)


def test_zero_references_have_no_relative_error():
    comparison = compared(torch.tensor([0.5, 1.0]), torch.zeros(2))
    assert [comparison[k] for k in ("max_rel", "cosine", "rel_l2")] == [None] * 3
    assert comparison["passing_tolerance"] == {"atol": pytest.approx(1.0), "rtol": None}


def test_signed_zeros_are_equal():
    comparison = compared(torch.tensor([0.0, -0.0]), torch.tensor([-0.0, 0.0]), EXACT)
    assert (comparison["agrees"], comparison["ulp_max"]) == (True, 0)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2",
                                  "float8_e4m3fnuz", "float8_e5m2fnuz"])
def test_ulp_counts_representable_values(name):
    dtype = getattr(torch, name)
    bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
    pattern = torch.tensor([1.0, 0.25]).to(dtype)
    moved = (pattern.view(bits) + torch.tensor([1, 3], dtype=bits)).view(dtype)
    assert compared(moved, pattern, EXACT)["ulp_max"] == 3
    smallest = torch.tensor([1], dtype=bits).view(dtype)
    negative = (-smallest.double()).to(dtype)
    comparison = compared(smallest, negative, EXACT)
    assert (comparison["ulp_max"], comparison["max_abs"]) == (2, 2 * smallest.double().item())


def test_ulp_of_the_whole_float64_range():
    largest = torch.finfo(torch.float64).max
    comparison = compared(torch.tensor([largest], dtype=torch.float64), torch.tensor([-largest], dtype=torch.float64))
    assert comparison["ulp_max"] == 2 * 0x7FEF_FFFF_FFFF_FFFF


@pytest.mark.parametrize(("dtype", "low", "high", "distance"), [
    (torch.int64, -(2**63), 2**63 - 1, 2**64 - 1), (torch.uint64, 0, 2**64 - 1, 2**64 - 1),
    (torch.uint8, 0, 255, 255), (torch.int8, -128, 127, 255), (torch.uint32, 1, 2**32 - 1, 2**32 - 2),
])
def test_integers_are_exact(dtype, low, high, distance):
    candidate = torch.tensor([low, high, low], dtype=dtype)
    comparison = compared(candidate, torch.tensor([low, low, high], dtype=dtype), allclose(1e30, 1e30))
    assert comparison["reason"] == "values"
    assert (comparison["mismatched"], comparison["max_abs"]) == (2, distance)
    assert (comparison["first"]["candidate"], comparison["first"]["reference"]) == (high, low)
    assert comparison["tolerance"] == {"policy": "exact", "atol": 0.0, "rtol": 0.0}
    assert comparison["passing_tolerance"]["atol"] == distance
    assert compared(candidate, candidate.clone())["agrees"]


def test_neighbouring_large_integers_differ():
    comparison = compared(torch.tensor([2**62 + 1]), torch.tensor([2**62]))
    assert (comparison["mismatched"], comparison["max_abs"]) == (1, 1)


def test_booleans():
    comparison = compared(torch.tensor([True, False]), torch.tensor([True, True]))
    assert comparison["first"] == {"index": [1], "candidate": False, "reference": True, "abs": 1, "rel": 1.0}


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex(dtype):
    reference = torch.tensor([3 + 4j, 1j], dtype=dtype)
    assert compared(reference.clone(), reference)["agrees"]
    comparison = compared(torch.tensor([3 + 9j, 1j], dtype=dtype), reference)
    assert (comparison["max_abs"], comparison["max_rel"], comparison["ulp_max"]) == (5.0, 1.0, None)
    assert comparison["first"] == {"index": [0], "candidate": "3+9j", "reference": "3+4j", "abs": 5.0, "rel": 1.0}
    assert compared(torch.tensor([complex(1, NAN)], dtype=dtype), torch.tensor([complex(NAN, 2)], dtype=dtype))["agrees"]
    infinite = torch.tensor([complex(INF, 1)], dtype=dtype)
    assert compared(infinite, infinite.clone())["agrees"]
    assert compared(infinite, torch.tensor([complex(-INF, 1)], dtype=dtype))["reason"] == "inf_positions"
    assert compared(infinite, torch.tensor([complex(1, INF)], dtype=dtype))["reason"] == "inf_positions"


def test_complex32():
    x = torch.tensor([1 + 2j], dtype=torch.complex32)
    assert compared(x, x.clone())["agrees"]
    assert compared(x, torch.tensor([1 + 3j], dtype=torch.complex32))["max_abs"] == 1.0


def test_conjugate_and_negative_views():
    z = torch.tensor([1 + 2j, 3 - 4j])
    assert compared(z.conj(), torch.tensor([1 - 2j, 3 + 4j]))["agrees"]
    assert compared(z.conj().imag, torch.tensor([-2.0, 4.0]))["agrees"]
    assert compared(z.conj().imag, torch.tensor([2.0, 4.0]))["max_abs"] == 4.0


def test_power_of_two_and_packed_dtypes():
    scale = torch.tensor([126, 127, 255], dtype=torch.uint8).view(torch.float8_e8m0fnu)
    assert compared(scale, scale.clone())["agrees"]
    other = torch.tensor([127, 127, 255], dtype=torch.uint8).view(torch.float8_e8m0fnu)
    comparison = compared(other, scale)
    assert (comparison["max_abs"], comparison["ulp_max"], comparison["nan"]["differing"]) == (0.5, 1, 0)
    packed = torch.tensor([0x12, 0x34], dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    assert compared(packed, packed.clone())["agrees"]
    changed = torch.tensor([0x12, 0x35], dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    assert compared(changed, packed)["first"]["index"] == [1]


def test_outputs_that_require_gradients_or_overlap():
    x = torch.ones(3, requires_grad=True)
    assert compared(x * 2, torch.full((3,), 2.0))["agrees"]
    assert compared(torch.ones(1).expand(4, 5), torch.ones(4, 5))["agrees"]
    overlapping = torch.arange(5.0).as_strided((3, 3), (1, 1))
    assert compared(overlapping, torch.tensor([[0.0, 1, 2], [1, 2, 3], [2, 3, 4]]))["agrees"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool, torch.complex64])
def test_tensors_without_elements_agree(dtype):
    comparison = compared(torch.empty(0, 3, dtype=dtype), torch.empty(0, 3, dtype=dtype))
    assert (comparison["agrees"], comparison["total"], comparison["mismatched_share"]) == (True, 0, 0.0)
    assert compared(torch.empty(0), torch.empty(1))["reason"] == "shape"


def test_meta_tensors_have_nothing_to_compare():
    assert compared(torch.empty(2, device="meta"), torch.empty(2))["reason"] == "structure"


@pytest.mark.parametrize("rtol", [0.0, 1e-3, 0.3])
@pytest.mark.parametrize("atol", [0.0, 1e-3, 0.7])
def test_the_passing_tolerance_passes_and_hardly_less_does_not(atol, rtol):
    torch.manual_seed(0)
    reference = torch.randn(1000, dtype=torch.float64)
    candidate = reference + torch.randn(1000, dtype=torch.float64)
    passing = compared(candidate, reference, allclose(atol, rtol))["passing_tolerance"]
    assert compared(candidate, reference, allclose(passing["atol"], rtol))["agrees"]
    assert compared(candidate, reference, allclose(atol, passing["rtol"]))["agrees"]
    less = 1 - 1e-12
    assert not compared(candidate, reference, allclose(passing["atol"] * less, rtol))["agrees"]
    assert not compared(candidate, reference, allclose(atol, passing["rtol"] * less))["agrees"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "sliced", "channels_last"])
def test_blocks_give_the_same_answer_as_one_block(monkeypatch, dtype, layout):
    torch.manual_seed(1)
    values = (torch.randn(4, 6, 5, 8) * 100).to(dtype)
    changed = values.clone()
    changed[1, 2, 3, 4] += 7
    changed[3, 5, 4, 1] += 50
    if dtype.is_floating_point:
        changed[2, 0, 0, 0] = NAN
        changed[0, 0, 0, 0] = values[0, 0, 0, 0] = INF
    arrange = {
        "contiguous": lambda t: t, "transposed": lambda t: t.permute(3, 1, 0, 2), "sliced": lambda t: t[:, :, ::2, 1:],
        "channels_last": lambda t: t.contiguous(memory_format=torch.channels_last),
    }[layout]
    whole = compared(arrange(changed), arrange(values))
    monkeypatch.setattr(blocks, "BLOCK", 7)
    parts = compared(arrange(changed), arrange(values))
    for key in ("cosine", "rel_l2"):
        assert parts.pop(key) == pytest.approx(whole.pop(key))
    assert parts == whole


def test_cosine_over_several_blocks_of_extreme_values(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 2)
    reference = torch.tensor([3e300, 4e300, 0.0, 1.0, 5e200], dtype=torch.float64)
    comparison = compared(reference.flip(0), reference.flip(0).clone())
    assert comparison["cosine"] == pytest.approx(1.0)
    assert compared(reference * 2, reference)["rel_l2"] == pytest.approx(1.0)
