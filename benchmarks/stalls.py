"""For how long the event loop of this process is busy at a time: by the clock, and in processor time.

On a computer with other work the clock also counts what other processes, and other threads that hold Python's
lock, have taken meanwhile. So what our own work does to the loop is the processor time of its thread, without
Python's collections of garbage, which depend on the size of all of Home Assistant. What came while the
process waited for the processor is all there after that: the round is long, but no single call.
"""

import asyncio
from asyncio import Handle
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
import gc
import threading
from time import monotonic, thread_time
from typing import Any, Final
from unittest.mock import patch

from .report import Row, percentile

__all__ = ["TOO_LONG", "Stalls", "watched_loop"]

_PERCENT: Final = 99.9
# What is shorter delays nobody.
_NOTEWORTHY: Final = 0.001
TOO_LONG: Final = 0.005
"""Seconds: the goal for what is called."""
_NAME: Final = 160


@dataclass(slots=True)
class Stalls:
    """Seconds."""

    clock: list[float] = field(default_factory=list)
    """Of each round of the loop, in which it calls all that is ready, by the clock."""
    processor: list[float] = field(default_factory=list)
    """The same in processor time of the loop's thread, without the collections of garbage."""
    garbage: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Processor time of the collections of garbage in the loop's thread, by their generation."""
    calls: int = 0
    """How much was called."""
    too_long: int = 0
    """What of that took longer than 5 ms of processor time, without garbage."""
    callbacks: dict[str, float] = field(default_factory=dict)
    """Longest processor time of what was called, without garbage, if it is noteworthy."""

    def row(self) -> Row:
        """Return the figures in milliseconds."""
        row: Row = {}
        for name, values in (("loop busy, own", self.processor), ("loop busy, clock", self.clock)):
            row[f"{name} p{_PERCENT:g}"] = round(1000 * (percentile(values, _PERCENT) or 0), 1)
            row[f"{name} longest"] = round(1000 * max(values, default=0), 1)
        collected = [seconds for values in self.garbage.values() for seconds in values]
        row["calls"] = self.calls
        row["calls over 5 ms"] = self.too_long
        row["longest call"] = round(1000 * max(self.callbacks.values(), default=0), 1)
        row["garbage longest"] = round(1000 * max(collected, default=0), 1)
        return row

    def worst(self, count: int = 10) -> list[str]:
        """Return what took the most processor time at once, and the collections of garbage."""
        callbacks = sorted(self.callbacks.items(), key=lambda item: -item[1])[:count]
        return [
            *(f"{1000 * seconds:6.1f} ms {name}" for name, seconds in callbacks),
            *(
                f"{1000 * max(values):6.1f} ms, of {len(values)} collections of garbage, generation {number}"
                for number, values in sorted(self.garbage.items())
            ),
        ]


def _name(handle: Any) -> str:
    task = getattr(handle._callback, "__self__", None)  # noqa: SLF001 - only it knows the task
    if isinstance(task, asyncio.Task):
        return f"{task.get_name()}: {task.get_coro()!r}"[:_NAME]
    return repr(handle)[:_NAME]


@contextmanager
def watched_loop() -> Iterator[Stalls]:
    """Measure the running event loop until the end of the context; this costs some microseconds a round."""
    stalls = Stalls()
    loop: Any = asyncio.get_running_loop()
    own_thread = threading.get_ident()
    # The loop has no public place for this.
    selector = loop._selector  # noqa: SLF001 - as above
    select, run_once, run = selector.select, loop._run_once, Handle._run  # noqa: SLF001 - as above
    collecting = collected_for = select_ended = 0.0

    def timed_select(timeout: float | None) -> Any:
        nonlocal select_ended
        events = select(timeout)
        select_ended = monotonic()
        return events

    def timed_round() -> None:
        used, garbage = thread_time(), collected_for
        run_once()
        stalls.processor.append(thread_time() - used - (collected_for - garbage))
        stalls.clock.append(monotonic() - select_ended)

    def timed_run(handle: Handle) -> None:
        used, garbage = thread_time(), collected_for
        run(handle)
        stalls.calls += 1
        if (seconds := thread_time() - used - (collected_for - garbage)) >= _NOTEWORTHY:
            stalls.too_long += seconds > TOO_LONG
            name = _name(handle)
            stalls.callbacks[name] = max(seconds, stalls.callbacks.get(name, 0.0))

    def collected(phase: str, info: dict[str, int]) -> None:
        nonlocal collecting, collected_for
        if threading.get_ident() != own_thread:
            return
        if phase == "start":
            collecting = thread_time()
        else:
            seconds = thread_time() - collecting
            collected_for += seconds
            stalls.garbage[info["generation"]].append(seconds)

    gc.callbacks.append(collected)
    try:
        with (
            patch.object(loop, "_run_once", timed_round),
            patch.object(selector, "select", timed_select),
            patch.object(Handle, "_run", timed_run),
        ):
            yield stalls
    finally:
        gc.callbacks.remove(collected)
