"""Run all benchmarks, or some: `scripts/benchmark [--quick] [NAME ...]`.

Each prints a table and a line of JSON. Only `soak` can fail: the other figures depend on the machine
and its load. All connections are on loopback; the devices run in their own process.
"""

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
import sys
import tempfile
from typing import Any, Final

from homeassistant.runner import create_event_loop

from . import downlink, latency, loss, memory, turn, uplink_cpu
from .house import house
from .report import Finding
from .soak.measure import SoakError, measure as soak

type Benchmark = Callable[..., Awaitable[Finding]]

BENCHMARKS: Final[dict[str, Benchmark]] = {
    # First, while the process is fresh.
    "memory": memory.measure,
    "latency": latency.measure,
    "turn": turn.measure,
    "downlink": downlink.measure,
    "uplink_cpu": uplink_cpu.measure,
    "loss": loss.measure,
    "soak": soak,
}
# Runs only when it is named, because it can fail and may take very long.
_NAMED_ONLY: Final = "soak"


async def run(folder: Path, names: list[str], *, quick: bool, soaking: dict[str, Any]) -> None:
    """Run benchmarks one after the other in one Home Assistant, whose files go to an empty folder.

    `soaking` holds the options of `soak`. Raises `SoakError`.
    """
    async with house(folder) as home:
        for name in names:
            options = soaking if name == _NAMED_ONLY else {}
            finding = await BENCHMARKS[name](home, quick=quick, **options)
            print(finding.table())
            print(finding.json(), end="\n\n", flush=True)


def main(arguments: list[str]) -> None:
    """Read the command line, and run."""
    parser = argparse.ArgumentParser(
        prog="scripts/benchmark", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "name", nargs="*", help=f"{', '.join(BENCHMARKS)} (default: all but soak, in this order)"
    )
    parser.add_argument("--quick", action="store_true", help="only check that they work, in half a minute")
    group = parser.add_argument_group("soak")
    group.add_argument("--minutes", type=float, default=5, help="how long (default: %(default)s)")
    group.add_argument("--seed", type=int, help="seed of all random choices (default: another each time)")
    group.add_argument("--devices", type=int, default=6, help="default: %(default)s")
    options = parser.parse_args(arguments)
    if unknown := set(options.name) - set(BENCHMARKS):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    loop = create_event_loop()
    asyncio.set_event_loop(loop)
    with tempfile.TemporaryDirectory(prefix="xiaozhi-benchmark-") as folder:
        names = options.name or [name for name in BENCHMARKS if name != _NAMED_ONLY]
        soaking = {"minutes": options.minutes, "seed": options.seed, "devices": options.devices}
        work = run(Path(folder), names, quick=options.quick, soaking=soaking)
        try:
            loop.run_until_complete(work)
        except SoakError as err:
            sys.exit(f"soak: failed\n{err}")
        finally:
            # Home Assistant sends uncaught errors to its log, of which only the integration's part is shown.
            sys.excepthook = sys.__excepthook__


if __name__ == "__main__":
    main(sys.argv[1:])
