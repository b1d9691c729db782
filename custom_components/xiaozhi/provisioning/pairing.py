"""Pairing rules: who is waiting to be added, the six digits, and what a wrong try costs.

Neither clock nor network: callers pass the time in seconds of a monotonic clock.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hmac import compare_digest
import re
import secrets
from typing import Final
import unicodedata

__all__ = [
    "CODE_SECONDS",
    "MAX_PENDING",
    "MAX_PENDING_FROM_ADDRESS",
    "MAX_TRIES",
    "Outcome",
    "PairingRegistry",
    "PendingDevice",
    "Verdict",
]

# A device that is not accepted asks again about every 30 s (the firmware's main/application.cc, activation
# task), so one that has been silent for this long is off or was pointed elsewhere.
_SILENCE_SECONDS: Final = 600.0
CODE_SECONDS: Final = 600.0
MAX_TRIES: Final = 5
MAX_PENDING: Final = 16
MAX_PENDING_FROM_ADDRESS: Final = 4
_CODE_DIGITS: Final = 6
# Longer input is no code, and not worth normalising.
_MAX_TYPED: Final = 64
_MAX_BOARD: Final = 40
# A discovery card cuts longer titles at the end, where they tell a device from others of its kind.
_MAX_LABEL_BOARD: Final = 25
_SPELLING: Final = {
    "4g": "4G",
    "amoled": "AMOLED",
    "esp": "ESP",
    "esp32": "ESP32",
    "lcd": "LCD",
    "oled": "OLED",
    "wifi": "Wi-Fi",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingDevice:
    """A device that has checked in and waits for its code to be typed."""

    mac: str
    client_id: str
    remote: str
    """Address of the last check-in."""
    board: str
    """Board name as the device says it, without anything but letters, digits, spaces and `._-`."""
    code: str = field(repr=False)
    challenge: str = field(repr=False)
    tries_left: int
    code_until: float
    """The code is dead from then on; the next check-in brings a new one."""
    seen: float
    """Time of the last check-in."""

    @property
    def label(self) -> str:
        """What tells this device from others, such as `bread-compact-wifi (A4:5F)`."""
        board = self.board or "XiaoZhi"
        if len(board) > _MAX_LABEL_BOARD:
            board = f"{board[: _MAX_LABEL_BOARD - 1]}…"
        return f"{board} ({self.mac[-5:].upper()})"

    @property
    def suggested_name(self) -> str:
        """The board name as a person would write it, such as `Bread Compact Wi-Fi`."""
        words = re.split(r"[\s_-]+", self.board)
        return (
            " ".join(_SPELLING.get(word.lower(), word[:1].upper() + word[1:]) for word in words) or "XiaoZhi"
        )


class Outcome(StrEnum):
    """What became of a typed code."""

    ACCEPTED = "accepted"
    WRONG = "wrong"
    REPLACED = "replaced"
    """Wrong once too often: there is a new code, which the device shows after its next check-in."""
    EXPIRED = "expired"
    """No device waits, or only with codes that are too old."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer to a typed code."""

    outcome: Outcome
    device: PendingDevice | None = None
    """The device whose code it was, when accepted."""
    tries_left: int = 0


class PairingRegistry:
    """The devices that wait to be added, the one silent for longest first.

    Two with the same MAC and different Client-Ids are two devices: one of them poses as the other, and the
    code tells which one its owner holds. No network address has more than a few places.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._pending: dict[tuple[str, str], PendingDevice] = {}

    @property
    def devices(self) -> tuple[PendingDevice, ...]:
        """The devices that wait."""
        return tuple(self._pending.values())

    @property
    def next_expiry(self) -> float | None:
        """Return when `expire` has something to do if no device calls before; None when no device waits."""
        return min((device.seen + _SILENCE_SECONDS for device in self._pending.values()), default=None)

    def get(self, mac: str, client_id: str | None = None) -> PendingDevice | None:
        """Return the waiting device with this MAC and Client-Id; without one, the first with the MAC."""
        if client_id is not None:
            return self._pending.get((mac, client_id))
        return next((device for device in self._pending.values() if device.mac == mac), None)

    def check_in(
        self, mac: str, client_id: str, board: str, remote: str, now: float
    ) -> tuple[PendingDevice, list[str]]:
        """Note that an unpaired device called from an address.

        Return it with its code, and the MACs that no longer wait since it took their place. The code stays
        the same until it expires or is replaced after wrong tries, so that a device that calls again does not
        change what its owner is just typing.
        """
        board = re.sub(r"[^A-Za-z0-9 ._-]", "", board)[:_MAX_BOARD]
        device = self._pending.pop((mac, client_id), None)
        if device is None or now >= device.code_until:
            device = self._new(mac, client_id, board, remote, now)
        else:
            device = replace(device, board=board, remote=remote, seen=now)
        gone = [] if (other := self._to_drop(remote)) is None else [other]
        for key in gone:
            del self._pending[key]
        self._pending[mac, client_id] = device
        return device, self._without_device(gone)

    def verify(self, typed: str, now: float, mac: str | None = None) -> Verdict:
        """Check a typed code against the devices with this MAC, or against all that wait.

        A wrong one is a wrong try for each device it was compared with; after `MAX_TRIES` a device gets
        a new code. An accepted device goes on waiting until it is removed.
        """
        candidates = [
            device
            for device in self._pending.values()
            if mac in {None, device.mac} and now < device.code_until
        ]
        if not candidates:
            return Verdict(outcome=Outcome.EXPIRED)
        if device := _whose(_normalised(typed), candidates):
            return Verdict(outcome=Outcome.ACCEPTED, device=device)
        for device in candidates:
            if device.tries_left > 1:
                changed = replace(device, tries_left=device.tries_left - 1)
            else:
                renewed = self._new(device.mac, device.client_id, device.board, device.remote, now)
                changed = replace(renewed, seen=device.seen)
            self._pending[device.mac, device.client_id] = changed
        tries_left = max(device.tries_left for device in candidates) - 1
        return Verdict(outcome=Outcome.WRONG if tries_left else Outcome.REPLACED, tries_left=tries_left)

    def expire(self, now: float) -> list[str]:
        """Forget the devices that have not called for ten minutes; return the MACs that no longer wait."""
        silent = [key for key, device in self._pending.items() if now >= device.seen + _SILENCE_SECONDS]
        for key in silent:
            del self._pending[key]
        return self._without_device(silent)

    def remove(self, mac: str, client_id: str) -> None:
        """Forget a device that waits no longer. Does nothing when it is not there."""
        self._pending.pop((mac, client_id), None)

    def _to_drop(self, remote: str) -> tuple[str, str] | None:
        """Return what makes room for a device of an address: its own oldest, or that of who has the most."""
        places = Counter(device.remote for device in self._pending.values())
        if places[remote] < MAX_PENDING_FROM_ADDRESS:
            if len(self._pending) < MAX_PENDING:
                return None
            most = max(places.values())
            crowded = {address for address, number in places.items() if number == most}
        else:
            crowded = {remote}
        return next(key for key, device in self._pending.items() if device.remote in crowded)

    def _without_device(self, keys: Iterable[tuple[str, str]]) -> list[str]:
        """Return the MACs among the keys of forgotten devices with which no other device waits."""
        waiting = {device.mac for device in self._pending.values()}
        return list(dict.fromkeys(mac for mac, _ in keys if mac not in waiting))

    def _new(self, mac: str, client_id: str, board: str, remote: str, now: float) -> PendingDevice:
        taken = {device.code for device in self._pending.values()}
        while (code := f"{secrets.randbelow(10**_CODE_DIGITS):0{_CODE_DIGITS}}") in taken:
            pass
        return PendingDevice(
            mac=mac,
            client_id=client_id,
            remote=remote,
            board=board,
            code=code,
            challenge=secrets.token_hex(16),
            tries_left=MAX_TRIES,
            code_until=now + CODE_SECONDS,
            seen=now,
        )


def _normalised(typed: str) -> bytes:
    """Drop the blanks and hyphens that people put between digits, and make full-width digits plain ones."""
    plain = unicodedata.normalize("NFKC", typed[:_MAX_TYPED])
    return "".join(character for character in plain if character.isalnum()).encode()


def _whose(code: bytes, candidates: Iterable[PendingDevice]) -> PendingDevice | None:
    """Return the device with this code, in a time that does not tell how much of it was right."""
    matching = [device for device in candidates if compare_digest(device.code.encode(), code)]
    return matching[0] if matching else None
