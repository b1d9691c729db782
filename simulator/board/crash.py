"""Ways in which the firmware ends: an uncaught C++ exception, a failed check, a dead-lock, a restart."""

import re
from typing import Final

_INT32_MAX: Final = 2**31 - 1
_LEADING_NUMBER: Final = re.compile(r"\s*[+-]?\d+")


class DeviceCrashed(Exception):  # noqa: N818 - the device failed, not the caller
    """The firmware aborted or hangs; the text says why."""


class Restart(Exception):  # noqa: N818 - no error: the firmware starts again
    """The device restarts."""


def stoi(text: str) -> int:
    """Read the number at the start of `text` like C++ `std::stoi`.

    Raises `DeviceCrashed` where that throws: without a number, and for one outside 32 bits.
    """
    match = _LEADING_NUMBER.match(text)
    if match is None:
        raise DeviceCrashed(f"std::stoi: no number in {text!r}")
    number = int(match.group())
    if not -_INT32_MAX - 1 <= number <= _INT32_MAX:
        raise DeviceCrashed(f"std::stoi: {text!r} is out of range")
    return number
