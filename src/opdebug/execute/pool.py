"""From cases to conclusions: lanes of workers, and a second opinion on every failure.

A worker serves many cases, a few of them queued ahead of it. A failure (crash or mismatch) is run once more, alone in a
fresh worker: reproduced, it is confirmed; not reproduced, it is recorded as flaky. A case whose reference killed the
worker is run once more without it, to see whether the candidate crashes as well. A worker that died, whose case failed,
or whose settings a case changed, serves nobody else. `Pool.run(tasks)` yields an `Attempt` for every run of a case and
one `Conclusion` per case.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from opdebug.execute.deaths import conclude
from opdebug.execute.link import Link
from opdebug.model.words import FAILING

_QUEUED_AHEAD = 8
_SILENCE_S = 120.0

Document = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One case to run: its document and the tolerance that judges it."""

    case: Document
    tolerance: Mapping[str, Any]

    @property
    def id(self) -> str:
        identifier: str = self.case["id"]
        return identifier


@dataclass(frozen=True)
class Attempt:
    """One run of one case. `alone`: in a fresh worker that ran nothing else."""

    case_id: str
    worker: int
    alone: bool
    status: str
    kind: str | None


@dataclass(frozen=True)
class Conclusion:
    """What is known about a case in the end: a result, or the reason why there is none. `output` is what it printed."""

    case_id: str
    result: Document | None
    no_evidence: str | None
    output: str


@dataclass
class _Job:
    task: Task
    first: Document | None = None
    history: list[Attempt] = field(default_factory=list)

    @property
    def alone(self) -> bool:
        return bool(self.history)


@dataclass
class _Lane:
    channel: int | None = None
    queue: deque[_Job] = field(default_factory=deque)
    spoiled: bool = False


class Pool:
    """Runs tasks on `lanes` workers of one host. `request` is what the host has loaded."""

    def __init__(self, link: Link, request: Mapping[str, Any], lanes: int = 1) -> None:
        self._link = link
        self._request = request
        self._lanes = [_Lane() for _ in range(lanes)]
        self._pending: deque[_Job] = deque()
        self._again: deque[_Job] = deque()
        self._next_channel = 1

    def run(self, tasks: Iterable[Task]) -> Iterator[Attempt | Conclusion]:
        """Run every task once, failures twice. Raises HostDied; what was not concluded by then is in `unfinished()`."""
        self._pending.extend(_Job(task) for task in tasks)
        while self._pending or self._again or any(lane.queue for lane in self._lanes):
            for lane in self._lanes:
                self._feed(lane)
            for channel, message in self._link.receive(_SILENCE_S):
                if channel:
                    yield from self._answered(channel, message)
                elif message["type"] == "died":
                    yield from self._died(message)

    def unfinished(self) -> list[Task]:
        """The tasks without a conclusion, those in flight first."""
        jobs = [job for lane in self._lanes for job in lane.queue] + [*self._again, *self._pending]
        return [job.task for job in jobs]

    def ask(self, message: Document) -> Document:
        """One question to a fresh worker, outside any case. Its worker's death comes back as {"no_evidence": reason}."""
        lane = self._lanes[0]
        self._replace(lane)
        assert lane.channel is not None
        self._link.send(lane.channel, message)
        while True:
            for channel, reply in self._link.receive(_SILENCE_S):
                if channel == lane.channel:
                    return reply
                if not channel and reply["type"] == "died":
                    lane.channel = None
                    return conclude(reply, self._request, None)

    # -- lanes --------------------------------------------------------------------------------------------------

    def _replace(self, lane: _Lane) -> None:
        if lane.channel is not None:
            self._link.send(0, {"op": "stop", "worker": lane.channel})
        lane.channel, lane.spoiled = self._next_channel, False
        # Channels are 16 bits on the wire; one that comes round again has long been free.
        self._next_channel = self._next_channel % 65535 + 1
        self._link.send(0, {"op": "start", "worker": lane.channel})

    def _feed(self, lane: _Lane) -> None:
        if self._again:
            if not lane.queue:
                self._replace(lane)
                self._send(lane, self._again.popleft())
            return
        if lane.queue and lane.queue[0].alone:
            return
        if self._pending and (lane.channel is None or lane.spoiled):
            self._replace(lane)
        while self._pending and len(lane.queue) < _QUEUED_AHEAD:
            self._send(lane, self._pending.popleft())

    def _send(self, lane: _Lane, job: _Job) -> None:
        assert lane.channel is not None
        lane.queue.append(job)
        message = {"op": "case", "case": job.task.case, "tolerance": dict(job.task.tolerance)}
        if job.first is not None and "reference_lost" in job.first:
            message["reference_lost"] = job.first["reference_lost"]
        self._link.send(lane.channel, message)

    def _lane_of(self, channel: int) -> _Lane | None:
        return next((lane for lane in self._lanes if lane.channel == channel), None)

    def _answered(self, channel: int, reply: Document) -> Iterator[Attempt | Conclusion]:
        lane = self._lane_of(channel)
        if lane is None or not lane.queue:
            return
        job = lane.queue.popleft()
        if "result" in reply and reply["result"].get("case_id") != job.task.id:
            reply = {"no_evidence": "the worker answered for another case", "lost": True}
        yield from self._settle(lane, job, reply)

    def _died(self, message: Document) -> Iterator[Attempt | Conclusion]:
        lane = self._lane_of(message["worker"])
        if lane is None:
            return
        # Only the oldest unanswered case was running; the others have not been touched.
        in_flight = lane.queue.popleft() if lane.queue else None
        self._pending.extendleft(reversed(lane.queue))
        lane.queue.clear()
        if in_flight is not None:
            yield from self._settle(lane, in_flight, conclude(message, self._request, in_flight.task.case))
        lane.channel = None

    # -- second opinions ----------------------------------------------------------------------------------------

    def _settle(self, lane: _Lane, job: _Job, reply: Document) -> Iterator[Attempt | Conclusion]:
        assert lane.channel is not None
        result = reply.get("result")
        status = result["status"] if result else "no_evidence"
        failure = (result or {}).get("failure") or {}
        attempt = Attempt(job.task.id, lane.channel, job.alone, status, failure.get("kind"))
        if job.alone or status in FAILING or reply.get("dirtied"):
            # What waits in this worker must not run in a process that a failure may have damaged.
            lane.spoiled = True
            self._pending.extendleft(reversed(lane.queue))
            lane.queue.clear()
        job.history.append(attempt)
        yield attempt
        suspicious = status in FAILING or bool(reply.get("lost")) or "reference_lost" in reply
        if suspicious and len(job.history) == 1:
            job.first = reply
            self._again.append(job)
            return
        yield _conclusion(job, reply)


def _conclusion(job: _Job, last: Document) -> Conclusion:
    """Weigh the attempts: a failure stands when it came twice, and is flaky when it came once."""
    reply, confirmed, flaky = last, None, False
    first = job.first
    if first is not None and "result" in first:
        again = last.get("result")
        if again is None:
            reply = first
        else:
            same = again["status"] == first["result"]["status"]
            confirmed, flaky = same, not same
            reply = last if same or again["status"] in FAILING else first
    result = reply.get("result")
    if result is not None:
        result = {**result, "attempts": [
            {"status": a.status, "kind": a.kind, "worker": a.worker, "alone": a.alone} for a in job.history]}
        if result.get("failure") and result["status"] in FAILING:
            result["failure"] = {**result["failure"], "confirmed": confirmed, "flaky": flaky}
    return Conclusion(job.task.id, result, reply.get("no_evidence"), reply.get("output", ""))
