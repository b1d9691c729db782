"""What makes the firmware abort: an uncaught C++ exception, a failed check or a dead-lock that never ends."""

import re
from typing import Final

__all__ = ["DeviceCrashed", "Restart", "stoi"]

_INT32_MAX: Final = 2**31 - 1
_LEADING_NUMBER: Final = re.compile(r"\s*[+-]?\d+")


class DeviceCrashed(Exception):  # noqa: N818 - it is what happened to the device, not an error of a caller
    """The firmware aborted or hangs for good; the text says on what."""


class Restart(Exception):  # noqa: N818 - nothing is wrong, the firmware starts anew
    """The device restarts."""


def stoi(text: str) -> int:
    """Read the number at the start of `text` as C++ `std::stoi` does.

    Raises `DeviceCrashed` where that throws: no number, or one outside 32 bits.
    """
    match = _LEADING_NUMBER.match(text)
    if match is None:
        raise DeviceCrashed(f"std::stoi: no number in {text!r}")
    number = int(match.group())
    if not -_INT32_MAX - 1 <= number <= _INT32_MAX:
        raise DeviceCrashed(f"std::stoi: {text!r} is out of range")
    return number
