"""Runs each target in its own process, to measure its memory and to notice a hang."""

from collections.abc import Iterator, Sequence
import ctypes
from dataclasses import dataclass
import gc
import multiprocessing
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkContext, ForkProcess
from time import monotonic
from typing import Any, Final

from .target import FoundError, run_target
from .targets import TARGETS

__all__ = ["run"]

# A reader that takes longer than this is hung, even on a busy machine.
_HUNG_SECONDS: Final = 120
_POLL_SECONDS: Final = 1


@dataclass(slots=True)
class _Job:
    """A running target."""

    name: str
    process: ForkProcess
    pipe: Connection
    number: Any
    """Shared with the process: the current input."""
    seen: int = -1
    since: float = 0

    def hung(self) -> bool:
        """Whether the same input has been read for too long."""
        if self.seen != self.number.value:
            self.seen, self.since = self.number.value, monotonic()
        return monotonic() - self.since > _HUNG_SECONDS


def run(
    names: Sequence[str], *, inputs: int, seed: int, first: int, processes: int
) -> Iterator[dict[str, Any]]:
    """Yield the outcome of each target, in the order in which they end; `found` names a failure."""
    # A fork has all imports already; this process has no threads that the copy would lack.
    context = multiprocessing.get_context("fork")
    left = list(names)
    jobs: list[_Job] = []
    try:
        while left or jobs:
            while left and len(jobs) < processes:
                jobs.append(_start(context, left.pop(0), inputs, seed, first))
            ended = wait([job.pipe for job in jobs], timeout=_POLL_SECONDS)
            for job in tuple(jobs):
                if job.pipe in ended:
                    yield _outcome(job)
                elif job.hung():
                    job.process.kill()
                    yield {
                        "target": job.name,
                        "found": f"input {job.number.value} of seed {seed} does not end",
                    }
                else:
                    continue
                job.process.join()
                jobs.remove(job)
    finally:
        for job in jobs:
            job.process.kill()


def _start(context: ForkContext, name: str, inputs: int, seed: int, first: int) -> _Job:
    ours, theirs = context.Pipe(duplex=False)
    number = context.RawValue(ctypes.c_longlong, -1)
    count = max(1, inputs // TARGETS[name].one_in)
    process = context.Process(
        target=_run_in_process, args=(name, count, seed, first, theirs, number), daemon=True
    )
    process.start()
    theirs.close()
    return _Job(name, process, ours, number, since=monotonic())


def _run_in_process(name: str, count: int, seed: int, first: int, pipe: Connection, number: Any) -> None:
    def at(this: int) -> None:
        number.value = this

    # Collecting the imported objects would take longer than all inputs of a test.
    gc.freeze()
    try:
        outcome = run_target(TARGETS[name], seed=seed, count=count, first=first, at=at)
    except FoundError as err:
        outcome = {"target": name, "found": str(err)}
    pipe.send(outcome)


def _outcome(job: _Job) -> dict[str, Any]:
    try:
        outcome: dict[str, Any] = job.pipe.recv()
    except EOFError:
        return {"target": job.name, "found": f"its process has ended at input {job.number.value}"}
    return outcome
