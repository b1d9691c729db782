"""Measures how the time of some work grows with the size of its input.

Whatever reads a text or bytes from outside must take time linear in their size; twice the input, twice the
time. What is compared is the processor time of this thread for two sizes, the best of several runs each, so
that a busy machine changes nothing; and the limit lies half way between linear and quadratic.
"""

from collections.abc import Callable
from math import inf, log
from time import thread_time
from typing import Final

# How many times as large the larger input is: 16 times the time if linear, 256 times if quadratic.
_FACTOR: Final = 16
# Linear is 1, quadratic 2.
_LIMIT: Final = 1.5
_RUNS: Final = 5
# What takes less is not told apart from the work's fixed cost.
_FLOOR: Final = 100e-6


def assert_linear[Data](
    work: Callable[[Data], object], make: Callable[[int], Data], *, size: int = 2000
) -> None:
    """Fail if `work` takes more than linear time: for `make(size)`, and for 16 times that size.

    `make` returns an input of a size, for example `lambda size: "." * size`. It is not measured, and is
    called before each run, so that it may return an object with state. Choose `size` so that quadratic work
    takes at least some milliseconds for the larger input.
    """
    small = large = inf
    for _ in range(_RUNS):
        large = min(large, _measure(work, make(_FACTOR * size)))
        # Quick enough, however quick the small one may be.
        if large < _FLOOR * _FACTOR**_LIMIT:
            return
        small = min(small, *(_measure(work, make(size)) for _ in range(_RUNS)))
        exponent = log(large / max(small, _FLOOR), _FACTOR)
        if exponent < _LIMIT:
            return
    raise AssertionError(
        f"{_FACTOR} times the input took {large / small:.0f} times as long ({large:.4f} s), in the best of "
        f"{_RUNS} runs: the time grows with the power {exponent:.2f} of the size"
    )


def _measure[Data](work: Callable[[Data], object], data: Data) -> float:
    start = thread_time()
    work(data)
    return thread_time() - start
