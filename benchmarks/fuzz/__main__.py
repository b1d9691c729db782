"""Give malformed input to everything that parses data of the network or of files.

Run it with `.venv/bin/python -m benchmarks.fuzz`. Inputs are valid ones, most of them with changes. Whatever
they are, nothing but the reader's own error may be raised, nothing may be logged as an error, memory must not
grow, and no input may take long. Prints one line of JSON for each target, and ends with 1 after a fault,
which it names with what repeats it.
"""

import argparse
import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
import faulthandler
import gc
import json
import logging
import os
import random
import subprocess
import sys
from time import perf_counter, thread_time
from typing import Any, Final, override

from benchmarks.process import resident_kib

from .targets import TARGETS

# On a busy machine, too.
_HUNG_SECONDS: Final = 120
_CPU_SECONDS: Final = 0.5
# Caches and arenas of the interpreter are no leak.
_ALLOWED_GROWTH_KIB: Final = 16 * 1024


class _Errors(logging.Handler):
    """Turns a logged error into an exception."""

    @override
    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.ERROR:
            raise AssertionError(f"logged: {self.format(record)}")


async def fuzz(name: str, *, seed: int, first: int, count: int) -> dict[str, Any]:
    """Give a target `count` inputs after skipping the first ones; return what was found."""
    make, read = TARGETS[name](random.Random(f"{name} {seed}"))
    outcome: dict[str, Any] = {"target": name, "inputs": count, "accepted": 0, "slowest input ms": 0}
    settled, begun = float("inf"), perf_counter()
    for number in range(first + count):
        data = make()
        if number < first:
            continue
        faulthandler.dump_traceback_later(_HUNG_SECONDS, exit=True)
        before = thread_time()
        fault = None
        try:
            outcome["accepted"] += await read(data)
        except Exception as err:  # noqa: BLE001 - any exception is a fault
            fault = repr(err)
        if (taken := thread_time() - before) > _CPU_SECONDS:
            fault = f"{taken:.2f} s of processor time"
        if fault is not None:
            outcome["fault"] = f"{fault} at input {number} of seed {seed}: {data[:1000].hex()}"
            break
        outcome["slowest input ms"] = max(outcome["slowest input ms"], round(1000 * taken, 1))
        if number == first + count // 10:
            gc.collect()
            settled = resident_kib()
    faulthandler.cancel_dump_traceback_later()
    outcome["inputs per second"] = round(count / (perf_counter() - begun))
    gc.collect()
    if "fault" not in outcome and (growth := resident_kib() - settled) > _ALLOWED_GROWTH_KIB:
        outcome["fault"] = f"memory has grown by {growth:.0f} KiB"
    return outcome


def main(arguments: Sequence[str]) -> int:
    """Run all targets, or some; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", nargs="*", help=f"{', '.join(TARGETS)} (default: all)")
    parser.add_argument(
        "--inputs", type=int, default=1_000_000, help="for each target (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the inputs (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="skip this many inputs, to repeat a fault")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="default: %(default)s")
    options = parser.parse_args(arguments)
    if unknown := set(options.target) - set(TARGETS):
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    own = ("--inputs", options.inputs, "--seed", options.seed, "--first", options.first)
    if len(options.target) != 1:
        # A process for each target: memory is measured, and a hang ends its process.
        with ThreadPoolExecutor(options.processes) as threads:
            codes = threads.map(lambda name: _in_process(name, *own), options.target or TARGETS)
        return max(codes)
    logging.getLogger().addHandler(_Errors())
    (name,) = options.target
    outcome = asyncio.run(fuzz(name, seed=options.seed, first=options.first, count=options.inputs))
    print(json.dumps(outcome, ensure_ascii=False), flush=True)
    return int("fault" in outcome)


def _in_process(name: str, *arguments: object) -> int:
    command = [sys.executable, "-m", __package__ or "", name, *map(str, arguments)]
    return abs(subprocess.run(command, check=False).returncode)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
