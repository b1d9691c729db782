"""Runs one target: gives it inputs, and measures the cost of each."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
import gc
import logging
import random
from time import perf_counter, thread_time
from typing import Any, Final, Protocol, override

from benchmarks.process import peak_kib, resident_kib

__all__ = ["FoundError", "Outcome", "Spec", "Target", "run_target"]

# Growth of the process that is not a leak: caches and arenas of the interpreter.
_ALLOWED_GROWTH_KIB: Final = 16 * 1024
_WARM_UP: Final = 0.1
_WARM_UP_LEAST: Final = 100


class FoundError(Exception):
    """An input violated a bound; the text says which one, and how."""


@dataclass(slots=True)
class Outcome:
    """Result of one target."""

    taken: int = 0
    refused: int = 0


class Target(Protocol):
    """Reads inputs. Any exception counts as a failure."""

    outcome: Outcome

    def inputs(self) -> Iterator[bytes]:
        """Yield inputs without end."""

    async def take(self, data: bytes) -> None:
        """Read an input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A target and the bounds that its inputs must keep."""

    name: str
    reader: str
    """What reads the inputs, for the report."""
    open: Callable[[random.Random], AbstractAsyncContextManager[Target]]
    one_in: int = 1
    """Slow targets (decoders, handshakes) get one input where others get this many."""
    cpu_seconds: float
    """Processor time for one input; waiting does not count."""
    memory_kib: int
    """KiB by which the process may grow."""


@dataclass(slots=True)
class _Costs:
    """The highest cost of an input."""

    seconds: float = 0
    number: int = 0


class _Errors(logging.Handler):
    """Keeps logged errors, which no input may cause."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    @override
    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(self.format(record))


@dataclass(slots=True)
class _Run:
    spec: Spec
    seed: int
    at: Callable[[int], None]
    errors: _Errors = field(default_factory=_Errors)
    costs: _Costs = field(default_factory=_Costs)

    async def feed(self, target: Target, count: int, first: int) -> dict[str, Any]:
        """Give `count` inputs, after skipping the first ones."""
        warm = first + max(int(count * _WARM_UP), _WARM_UP_LEAST)
        start_peak, settled, begun = peak_kib(), float("inf"), perf_counter()
        for number, data in zip(range(first + count), target.inputs(), strict=False):
            if number < first:
                continue
            self.at(number)
            await self._take(target, number, data, start_peak)
            if number == warm:
                gc.collect()
                settled = resident_kib()
        seconds = perf_counter() - begun
        gc.collect()
        growth = max(0, resident_kib() - settled)
        if growth > _ALLOWED_GROWTH_KIB:
            raise FoundError(f"memory has grown by {growth:.0f} KiB after the first tenth of the inputs")
        return {
            "target": self.spec.name,
            "inputs": count,
            "seconds": round(seconds, 1),
            "inputs per second": round(count / seconds) if seconds else None,
            "taken": target.outcome.taken,
            "refused": target.outcome.refused,
            "slowest input ms": round(1000 * self.costs.seconds, 1),
            "slowest input": self.costs.number,
            "most memory KiB": peak_kib() - start_peak,
            "memory growth KiB": round(growth),
        }

    async def _take(self, target: Target, number: int, data: bytes, start_peak: int) -> None:
        begun = thread_time()
        try:
            await target.take(data)
        except Exception as err:
            raise self._found(repr(err), number, data) from err
        taken = thread_time() - begun
        if taken > self.costs.seconds:
            self.costs = _Costs(taken, number)
        if taken > self.spec.cpu_seconds:
            raise self._found(f"it took {taken:.2f} s of processor time", number, data)
        if (grown := peak_kib() - start_peak) > self.spec.memory_kib:
            raise self._found(f"the process has grown by {grown} KiB", number, data)
        if self.errors.texts:
            raise self._found(f"logged: {self.errors.texts[0]}", number, data)

    def _found(self, what: str, number: int, data: bytes) -> FoundError:
        return FoundError(f"{what} at input {number} of seed {self.seed}: {_short(data)}")


def run_target(
    spec: Spec, *, seed: int, count: int, first: int = 0, at: Callable[[int], None] = lambda _: None
) -> dict[str, Any]:
    """Run a target in its own event loop; `at` is called before every input.

    Raises `FoundError`.
    """

    async def main() -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(
            lambda _, context: logging.getLogger("asyncio").error(
                "%s", context, exc_info=context.get("exception")
            )
        )
        async with spec.open(random.Random(f"{spec.name} {seed}")) as target:
            return await run.feed(target, count, first)

    run = _Run(spec, seed, at)
    logging.getLogger().addHandler(run.errors)
    try:
        return asyncio.run(main())
    finally:
        logging.getLogger().removeHandler(run.errors)


def _short(data: bytes) -> str:
    return data.hex() if len(data) <= 2000 else f"{data[:1000].hex()}... ({len(data)} bytes)"
