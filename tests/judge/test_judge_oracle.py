"""The judge against a slow oracle that knows Python's arithmetic only."""

import math
from fractions import Fraction

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from opdebug.judge.judgement import judge
from opdebug.judge.policies import policy

SPECIAL = [0.0, -0.0, math.nan, math.inf, -math.inf, 1.0, -1.0, 65504.0, 5e-324, 1.7e308, -1.7e308]
floats = st.one_of(st.sampled_from(SPECIAL), st.floats(width=64))
tolerances = st.sampled_from([0.0, 1e-5, 0.5, 1e300])


@st.composite
def neighbours(draw):
    """A pair of values that are often equal or close, as outputs are."""
    first = draw(floats)
    near = st.sampled_from([first, -first, math.nextafter(first, math.inf)])
    return first, draw(st.one_of(near, floats))


def element_agrees(c, r, atol, rtol):
    if math.isnan(c) or math.isnan(r):
        return math.isnan(c) and math.isnan(r)
    if math.isinf(c) or math.isinf(r):
        return c == r
    return abs(c - r) <= atol + rtol * abs(r)


@settings(max_examples=200, deadline=None)
@given(st.lists(neighbours(), min_size=1, max_size=6), tolerances, tolerances,
       st.sampled_from([torch.float64, torch.float32, torch.float16, torch.bfloat16]))
def test_floats(values, atol, rtol, dtype):
    candidate, reference = (torch.tensor(side, dtype=torch.float64).to(dtype) for side in zip(*values))
    comparison = judge(candidate, reference, policy({"atol": atol, "rtol": rtol})).comparisons[0]
    pairs = list(zip(candidate.double().tolist(), reference.double().tolist()))
    wrong = [i for i, (c, r) in enumerate(pairs) if not element_agrees(c, r, atol, rtol)]
    assert comparison["agrees"] == (not wrong)
    assert comparison["mismatched"] == len(wrong)
    assert (comparison["first"] or {"index": [None]})["index"][0] == (wrong[0] if wrong else None)
    assert comparison["nan"]["candidate"] == sum(math.isnan(c) for c, _ in pairs)
    assert comparison["inf"]["reference"] == sum(math.isinf(r) for _, r in pairs)
    if any(math.isnan(pairs[i][0]) != math.isnan(pairs[i][1]) for i in wrong):
        assert comparison["reason"] == "nan_positions"
    finite = [(c, r) for c, r in pairs if math.isfinite(c) and math.isfinite(r)]
    distances = [abs(c - r) for c, r in finite]
    expected = max(distances, default=None)
    assert comparison["max_abs"] == (None if expected is None or math.isinf(expected) else expected)
    ratios = [abs(c - r) / abs(r) for c, r in finite if r]
    expected = max(ratios, default=None)
    assert comparison["max_rel"] == (None if expected is None or math.isinf(expected) else expected)
    check_sums(comparison, finite)


def check_sums(comparison, finite):
    exact = [(Fraction(c), Fraction(r)) for c, r in finite]
    cc, rr = sum(c * c for c, _ in exact), sum(r * r for _, r in exact)
    if not cc or not rr:
        assert comparison["cosine"] is None
        return
    cross = sum(c * r for c, r in exact)
    squared = float(cross * cross / (cc * rr))
    assert math.isclose(comparison["cosine"], math.sqrt(squared) * (1 if cross > 0 else -1), rel_tol=1e-9, abs_tol=1e-9)


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from([torch.int64, torch.uint64, torch.int32, torch.uint8, torch.bool]))
def test_integers(data, dtype):
    low, high = (0, 1) if dtype == torch.bool else (torch.iinfo(dtype).min, torch.iinfo(dtype).max)
    value = st.one_of(st.sampled_from([low, high, 0]), st.integers(low, high))
    pairs = data.draw(st.lists(st.one_of(st.tuples(value, value), value.map(lambda v: (v, v))), min_size=1, max_size=6))
    candidate, reference = (torch.tensor(side, dtype=dtype) for side in zip(*pairs))
    comparison = judge(candidate, reference, policy({"atol": 1, "rtol": 1})).comparisons[0]
    wrong = [i for i, (c, r) in enumerate(pairs) if c != r]
    assert comparison["agrees"] == (not wrong)
    assert comparison["mismatched"] == len(wrong)
    assert comparison["max_abs"] == max(abs(c - r) for c, r in pairs)
    if wrong:
        assert comparison["first"]["index"] == [wrong[0]]
        assert comparison["worst"]["abs"] == comparison["max_abs"]
        assert comparison["first"]["candidate"] == pairs[wrong[0]][0]


@settings(max_examples=100, deadline=None)
@given(st.lists(neighbours(), min_size=1, max_size=5), st.sampled_from([torch.float32, torch.float16]))
def test_correct_rounding_is_always_accepted_from_a_wider_reference(values, dtype):
    reference = torch.tensor([first for first, _ in values], dtype=torch.float64)
    assert judge(reference.to(dtype), reference, policy({"policy": "exact"}), reference_is_wider=True).agrees
