"""Frames survive any cutting of the stream, and nothing else passes for one."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdebug.worker import protocol


@given(st.lists(st.tuples(st.integers(0, 65535), st.binary(max_size=300)), max_size=8), st.integers(1, 50))
def test_frames_come_out_as_they_went_in_however_the_stream_is_cut(frames, piece):
    stream = b"".join(protocol.pack(channel, payload) for channel, payload in frames)
    decoder = protocol.Decoder()
    out = [frame for i in range(0, len(stream), piece) for frame in decoder.feed(stream[i : i + piece])]
    assert out == frames


def test_a_frame_that_claims_too_much_is_refused_before_it_is_read():
    with pytest.raises(protocol.ProtocolError, match="claims"):
        list(protocol.Decoder().feed(struct.pack(">IH", 2**32 - 1, 1)))


@pytest.mark.parametrize("payload", [b"", b"[1]", b"{", b"\xff", b"[" * 100000, b"null"])
def test_a_payload_that_is_no_object_is_refused(payload):
    with pytest.raises(protocol.ProtocolError):
        protocol.parse(payload)


def test_a_number_that_json_cannot_hold_is_never_sent():
    with pytest.raises(ValueError, match="JSON"):
        protocol.encode(0, {"x": float("nan")})
