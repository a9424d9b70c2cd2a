"""Frames on a byte stream: a length, a channel and one JSON document.

A host relays for many workers over one pair of pipes: channel 0 is the host itself, channel n its worker n. The relay
never looks into a payload, so `Decoder` yields the bytes and `parse` is called only by the end that wants them.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any

PROTOCOL = 1
CONTROL = 0
MAX_FRAME = 256 * 2**20
_HEADER = struct.Struct(">IH")


class ProtocolError(Exception):
    """The bytes are no frames of ours."""


def pack(channel: int, payload: bytes) -> bytes:
    """A frame of raw payload bytes."""
    return _HEADER.pack(len(payload), channel) + payload


def encode(channel: int, document: dict[str, Any]) -> bytes:
    """A frame of one JSON document; non-finite numbers are a bug of the caller and raise ValueError."""
    return pack(channel, json.dumps(document, allow_nan=False, separators=(",", ":")).encode("ascii"))


def parse(payload: bytes) -> dict[str, Any]:
    """The document in a payload. Raises ProtocolError unless it is a JSON object."""
    try:
        document = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a frame holds no JSON: {error}") from None
    if not isinstance(document, dict):
        raise ProtocolError(f"a frame holds a JSON {type(document).__name__}, not an object")
    return document


class Decoder:
    """Cuts a byte stream, fed in pieces of any size, into (channel, payload)."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield every frame that `data` completes. Raises ProtocolError for a frame over MAX_FRAME bytes."""
        self._buffer += data
        start = 0
        while len(self._buffer) - start >= _HEADER.size:
            length, channel = _HEADER.unpack_from(self._buffer, start)
            if length > MAX_FRAME:
                raise ProtocolError(f"a frame claims {length} bytes; at most {MAX_FRAME} are accepted")
            end = start + _HEADER.size + length
            if len(self._buffer) < end:
                break
            yield channel, bytes(self._buffer[start + _HEADER.size : end])
            start = end
        del self._buffer[:start]
