"""Stride patterns: what each is, which shapes refuse it, and that recognition inverts derivation."""

import pytest

from opdebug.model.errors import OpdebugError
from opdebug.model.specs import extent
from opdebug.plan.strides import PATTERNS, Layout, applicable, name_of, pattern_strides


@pytest.mark.parametrize(
    ("name", "shape", "layout"),
    [
        ("contiguous", (2, 3), Layout((3, 1), 0, 6)),
        ("transposed", (5, 2, 3), Layout((6, 1, 2), 0, 30)),
        ("channels_last", (2, 3, 4, 5), Layout((60, 1, 15, 3), 0, 120)),
        ("channels_last", (2, 3, 2, 4, 5), Layout((120, 1, 60, 15, 3), 0, 240)),
        ("sliced", (2, 3), Layout((6, 2), 0, 11)),
        ("offset", (2, 3), Layout((3, 1), 3, 9)),
        ("padded", (2, 3), Layout((6, 1), 0, 9)),
        ("expanded", (1, 2, 3), Layout((3, 0, 1), 0, 3)),
        ("overlapping", (2, 4, 6), Layout((15, 3, 1), 0, 30)),
        ("overlapping", (2, 2), Layout((1, 1), 0, 3)),
        ("reversed", (2, 3, 4), Layout((1, 2, 6), 0, 24)),
    ],
)
def test_layouts(name, shape, layout):
    assert pattern_strides(name, shape) == layout


@pytest.mark.parametrize("shape", [(7,), (4, 6), (2, 3, 4), (2, 3, 4, 5), (2, 3, 2, 4, 5), (2, 2, 2, 2, 2, 2)])
def test_recognition_inverts_derivation(shape):
    for name in applicable(shape):
        layout = pattern_strides(name, shape)
        # For rank 2, and for it alone, reversed and transposed are the same order.
        expected = "transposed" if name == "reversed" and len(shape) == 2 else name
        assert name_of(shape, layout.strides, layout.offset) == expected
        assert layout.extent == extent(shape, layout.strides, layout.offset)


@pytest.mark.parametrize(
    "shape", [(), (1,), (3,), (0, 4), (1, 4), (4, 1), (2, 3), (1, 1, 5), (1, 1, 2, 2), (2, 0, 3, 4)]
)
def test_a_shape_has_a_pattern_exactly_if_it_then_differs_from_contiguous(shape):
    possible = applicable(shape)
    for name in PATTERNS:
        if name in possible:
            layout = pattern_strides(name, shape)
            assert name == "contiguous" or name_of(shape, layout.strides, layout.offset) != "contiguous"
        else:
            with pytest.raises(OpdebugError, match=f"cannot be {name}: .*; it can be: contiguous"):
                pattern_strides(name, shape)


def test_ranks_and_sizes_decide():
    assert applicable(()) == ["contiguous", "offset"]
    assert applicable((0, 4)) == ["contiguous"]
    assert applicable((5,)) == ["contiguous", "sliced", "offset", "expanded"]
    assert "channels_last" not in applicable((2, 3, 4))


def test_unknown_pattern():
    with pytest.raises(OpdebugError, match="'diagonal' is unknown; accepted: contiguous, transposed"):
        pattern_strides("diagonal", (2, 2))
