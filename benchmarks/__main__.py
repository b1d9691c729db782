"""Run all benchmarks, or some: `scripts/benchmark [--quick] [NAME ...]`.

Each prints a table and a line of JSON. Only `soak` can fail: the other figures depend on the machine
and its load. All connections are on loopback; the devices run in their own process.
"""

import argparse
import asyncio
from collections.abc import Awaitable, Callable
import inspect
import json
from pathlib import Path
import sys
import tempfile
from typing import Any, Final

from homeassistant.runner import create_event_loop

from . import (
    downlink,
    end_of_speech,
    hearing,
    left_behind,
    media,
    memory,
    nearest,
    patience,
    turn,
    uplink_cpu,
    waterfall,
)
from .house import house
from .large_house.measure import COMPONENTS, measure as large_house
from .report import Row, table
from .soak.measure import SoakError, measure as soak

type Benchmark = Callable[..., Awaitable[list[Row]]]

BENCHMARKS: Final[dict[str, Benchmark]] = {
    # First, while the process is fresh.
    "memory": memory.measure,
    "turn": turn.measure,
    "downlink": downlink.measure,
    "uplink_cpu": uplink_cpu.measure,
    "media": media.measure,
    "end_of_speech": end_of_speech.measure,
    "patience": patience.measure,
    "hearing": hearing.measure,
    "waterfall": waterfall.measure,
    "nearest": nearest.measure,
    "large_house": large_house,
    "left_behind": left_behind.measure,
    "soak": soak,
}
# Run only when they are named, because they need recordings, or can fail and may take very long.
_NEED_RECORDINGS: Final = ("end_of_speech", "patience", "hearing", "waterfall", "nearest")
_NAMED_ONLY: Final = (*_NEED_RECORDINGS, "large_house", "left_behind", "soak")


async def run(folder: Path, names: list[str], options: dict[str, Any]) -> None:
    """Run benchmarks one after the other in one Home Assistant, whose files go to an empty folder.

    Each takes of the options what it knows. Raises `SoakError`.
    """
    async with house(folder, *(COMPONENTS if "large_house" in names else ())) as home:
        for name in names:
            measure = BENCHMARKS[name]
            known = inspect.signature(measure).parameters
            home.engines.reset()
            rows = await measure(home, **{key: options[key] for key in known if options.get(key) is not None})
            print(f"{name}: {sys.modules[measure.__module__].__doc__}", table(rows), sep="\n", end="\n\n")
            print(json.dumps({"benchmark": name, "rows": rows}, ensure_ascii=False), end="\n\n", flush=True)


def main(arguments: list[str]) -> None:
    """Read the command line, and run."""
    parser = argparse.ArgumentParser(
        prog="scripts/benchmark", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "name", nargs="*", help=f"{', '.join(BENCHMARKS)} (default: all but the last eight, in this order)"
    )
    parser.add_argument("--quick", action="store_true", help="only check that they work, in half a minute")
    group = parser.add_argument_group("large_house, soak")
    group.add_argument("--minutes", type=float, help="how long (default: 10, and 5 for soak)")
    group = parser.add_argument_group("soak")
    group.add_argument("--seed", type=int, help="seed of all random choices (default: another each time)")
    group.add_argument("--devices", type=int, default=6, help="default: %(default)s")
    group = parser.add_argument_group(", ".join(_NEED_RECORDINGS))
    group.add_argument(
        "--recordings", type=Path, metavar="DIR", help="people who say one sentence each (FLAC, WAV)"
    )
    every = "play only every n-th recording; for left_behind: do everything less often by this"
    group.add_argument("--every", type=int, default=1, metavar="N", help=every)
    labels = "for hearing: the names in each recording, as in Picovoice's speech-to-intent-benchmark"
    group.add_argument("--labels", type=Path, metavar="FILE", help=labels)
    options = parser.parse_args(arguments)
    if unknown := set(options.name) - set(BENCHMARKS):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    if (needy := set(options.name) & set(_NEED_RECORDINGS)) and not options.recordings:
        parser.error(f"{', '.join(sorted(needy))}: --recordings is missing")
    loop = create_event_loop()
    asyncio.set_event_loop(loop)
    with tempfile.TemporaryDirectory(prefix="xiaozhi-benchmark-") as folder:
        names = options.name or [name for name in BENCHMARKS if name not in _NAMED_ONLY]
        try:
            loop.run_until_complete(run(Path(folder), names, vars(options)))
        except SoakError as err:
            sys.exit(f"soak: failed\n{err}")
        finally:
            # Home Assistant sends uncaught errors to its log, of which only the integration's part is shown.
            sys.excepthook = sys.__excepthook__


if __name__ == "__main__":
    main(sys.argv[1:])
