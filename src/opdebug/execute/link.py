"""Frames to and from one host, with a time limit on waiting and a clear end when the host is gone."""

from __future__ import annotations

import contextlib
import os
import select
import time
from typing import Any

from opdebug.execute.launch import Connection
from opdebug.worker import protocol


class HostDied(Exception):
    """The host ended or stopped speaking the protocol; `str()` says how."""


class Link:
    """One host. Sending never blocks for long: what the pipe does not take is sent while waiting for frames."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._decoder = protocol.Decoder()
        self._outgoing = bytearray()
        os.set_blocking(connection.writing, False)
        os.set_blocking(connection.reading, False)

    def send(self, channel: int, document: dict[str, Any]) -> None:
        """Queue one document. Raises HostDied when nobody reads any more."""
        self._outgoing += protocol.encode(channel, document)
        self._flush()

    def _flush(self) -> None:
        try:
            while self._outgoing:
                del self._outgoing[: os.write(self._connection.writing, self._outgoing)]
        except BlockingIOError:
            pass
        except OSError:
            raise HostDied(self._connection.obituary()) from None

    def receive(self, limit_s: float) -> list[tuple[int, dict[str, Any]]]:
        """The documents that arrive next, at least one. Raises HostDied when the host ends or says nothing for `limit_s`."""
        deadline = time.monotonic() + limit_s
        while True:
            waiting = deadline - time.monotonic()
            if waiting <= 0:
                raise HostDied(f"it said nothing for {limit_s:g} s")
            writing = [self._connection.writing] if self._outgoing else []
            readable, writable, _ = select.select([self._connection.reading], writing, [], waiting)
            if writable:
                self._flush()
            if not readable:
                continue
            data = os.read(self._connection.reading, 1 << 20)
            if not data:
                raise HostDied(self._connection.obituary())
            try:
                frames = [(channel, protocol.parse(payload)) for channel, payload in self._decoder.feed(data)]
            except protocol.ProtocolError as error:
                raise HostDied(f"it sent something else than frames: {error}") from None
            if frames:
                return frames

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._connection.close()
