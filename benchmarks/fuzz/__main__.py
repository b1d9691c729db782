"""Give malformed input to everything that parses data of the network or of files.

Run it with `.venv/bin/python -m benchmarks.fuzz`. Inputs are valid ones with changes, valid ones, random
bytes, and some that are made to cost much. Whatever they are, nothing but the reader's own error may be
raised, nothing may be logged as an error, memory must not grow, and each input must keep the bounds on time
and memory of its target. Prints one line of JSON for each target and exits with 1 if there was a find, naming
what repeats it.
"""

import argparse
from collections.abc import Sequence
import json
import os
import sys

from .jobs import run
from .targets import TARGETS


def main(arguments: Sequence[str]) -> int:
    """Run all targets, or some; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", nargs="*", help=f"{', '.join(TARGETS)} (default: all)")
    parser.add_argument(
        "--inputs",
        type=int,
        default=1_000_000,
        help="for each target; real decoders and handshakes get fewer (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the inputs (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="skip this many inputs, to repeat a failure")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="default: %(default)s")
    options = parser.parse_args(arguments)
    if unknown := set(options.target) - set(TARGETS):
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    found = False
    for outcome in run(
        options.target or list(TARGETS),
        inputs=options.inputs,
        seed=options.seed,
        first=options.first,
        processes=options.processes,
    ):
        print(json.dumps(outcome, ensure_ascii=False), flush=True)
        found |= "found" in outcome
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
