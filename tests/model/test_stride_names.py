"""Recognising memory orders in strides that no pattern produced."""

import itertools

import pytest

from opdebug.model.strides import is_channels_last, is_contiguous, is_overlapping, name_of, never_overlaps


@pytest.mark.parametrize(
    ("shape", "strides", "offset", "name"),
    [
        ((), (), 0, "contiguous"), ((1, 5), (99, 1), 0, "contiguous"), ((0, 5), (1, 7), 0, "contiguous"),
        ((5,), (1,), 2, "offset"), ((4, 5), (0, 1), 0, "expanded"), ((3,), (0,), 7, "expanded"),
        ((2, 1, 3), (1, 9, 2), 0, "transposed"), ((2, 3, 4, 5), (20, 40, 5, 1), 0, "permuted"),
        ((2, 3, 4), (1, 2, 6), 0, "reversed"), ((5, 3), (1, 1), 0, "overlapping"), ((2, 3), (6, 2), 0, "sliced"),
        ((4, 3), (8, 1), 1, "padded"), ((2, 3), (3, 2), 0, "strided"), ((2, 3), (1, 5), 0, "transposed"),
        ((2, 3, 4, 5), (60, 1, 15, 3), 0, "channels_last"),
    ],
)
def test_names(shape, strides, offset, name):
    assert name_of(shape, strides, offset) == name


def test_channels_last_of_one_channel_is_contiguous_too():
    assert is_channels_last((2, 1, 4, 4), (16, 16, 4, 1))
    assert is_contiguous((2, 1, 4, 4), (16, 16, 4, 1))
    assert not is_channels_last((2, 3, 4), (12, 1, 3))


def test_overlap_agrees_with_counting_in_two_dimensions():
    for shape in itertools.product((0, 1, 2, 3, 5), repeat=2):
        for strides in itertools.product(range(7), repeat=2):
            places = [i * strides[0] + j * strides[1] for i in range(shape[0]) for j in range(shape[1])]
            overlaps = len(set(places)) < len(places)
            assert is_overlapping(shape, strides) == overlaps
            assert not (never_overlaps(shape, strides) and overlaps)
