"""Pairing rules: waiting devices, their codes, and wrong tries.

Neither clock nor network: callers pass the time in seconds of a monotonic clock.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hmac import compare_digest, digest
import re
import secrets
from typing import Final
import unicodedata

from ..protocol.boards import sold_as
from ..util.text import shortened

# A device that is not accepted asks again about every 30 s (the firmware's main/application.cc, activation
# task), so one that has been silent for this long is off or was pointed elsewhere.
_SILENCE_SECONDS: Final = 600.0
# A code is that of the period in which it was given, and valid to the end of the next one.
CODE_SECONDS: Final = 600.0
# It asks ten times, 3 s apart, and then checks in again (the firmware's main/application.cc), which brings
# a new code onto its screen.
_ROUND_SECONDS: Final = 40.0
MAX_TRIES: Final = 5
# A router or bridge may have many boxes behind one address.
MAX_PENDING: Final = 256
MAX_PENDING_FROM_ADDRESS: Final = 64
_CODE_DIGITS: Final = 6
_SIX_DIGITS: Final = re.compile(rb"[0-9]{6}")
# Longer input cannot be a code.
_MAX_TYPED: Final = 64
# A discovery card cuts longer titles at the end, where the MAC is.
_MAX_LABEL_BOARD: Final = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingDevice:
    """A device waiting for its code to be typed."""

    mac: str
    client_id: str
    remote: str
    board: str
    """Board name from the device; only its letters, digits, spaces and `._-`."""
    code: str = field(repr=False)
    challenge: str = field(repr=False)
    tries_left: int
    renewals: int
    """How often its code was replaced in this period."""
    code_until: float
    """When the code expires; the next check-in then brings a new one."""
    seen: float

    @property
    def label(self) -> str:
        """Name of the board and end of the MAC, such as `M5Stack CoreS3 (A4:5F)`."""
        board = sold_as(self.board) or self.board or "XiaoZhi"
        if len(board) > _MAX_LABEL_BOARD:
            # The maker is left out first.
            board = board.partition(" ")[2] or board
        return f"{shortened(board, _MAX_LABEL_BOARD)} ({self.mac[-5:].upper()})"


class Outcome(StrEnum):
    """Result of a typed code; all others than the first are keys of the form's errors."""

    ACCEPTED = "accepted"
    WRONG = "wrong_code"
    REPLACED = "code_replaced"
    """Too many wrong tries: the device has a new code, and shows it after its next check-in."""
    MALFORMED = "not_six_digits"
    """Not six digits. It costs no try."""
    EXPIRED = "code_expired"
    """No device waits, or only devices with expired codes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of a typed code, with its device."""

    outcome: Outcome
    device: PendingDevice | None = None
    tries_left: int = 0
    new_code_in: float = 0.0
    """Approximate seconds until the device shows its new code, if it was replaced."""


class PairingRegistry:
    """The waiting devices, the one silent for longest first.

    A code is derived from the device and the time: a displaced device gets the same code again. Two with the
    same MAC and different Client-Ids are two devices: one of them poses as the other, and the code shows
    which one its owner holds. The number of devices is bounded, also for each IP address.
    """

    def __init__(self, secret: bytes | None = None) -> None:
        """Derive the codes from a `secret`, by default a random one."""
        self._secret = secret or secrets.token_bytes(32)
        self._pending: dict[tuple[str, str], PendingDevice] = {}

    @property
    def devices(self) -> tuple[PendingDevice, ...]:
        """The waiting devices."""
        return tuple(self._pending.values())

    def get(self, mac: str, client_id: str | None = None) -> PendingDevice | None:
        """Return the waiting device with this MAC and Client-Id; without one, the first with the MAC."""
        if client_id is not None:
            return self._pending.get((mac, client_id))
        return next((device for device in self._pending.values() if device.mac == mac), None)

    def check_in(
        self, mac: str, client_id: str, board: str, remote: str, now: float
    ) -> tuple[PendingDevice, list[str]]:
        """Add or refresh an unpaired device that called from the IP address `remote`.

        Return it with its code, and the MACs that it displaced. The code stays the same until it expires or
        is replaced after wrong tries: another check-in must not change it while the owner types.
        """
        board = re.sub(r"[^A-Za-z0-9 ._-]", "", board)[:40]
        device = self._pending.pop((mac, client_id), None)
        if device is None or now >= device.code_until:
            device = self._new(mac, client_id, board, remote, now, renewals=0)
        else:
            device = replace(device, board=board, remote=remote, seen=now)
        gone = [] if (other := self._to_drop(remote)) is None else [other]
        for key in gone:
            del self._pending[key]
        self._pending[mac, client_id] = device
        return device, self._without_device(gone)

    def verify(self, typed: str, now: float, mac: str | None = None) -> Verdict:
        """Check a typed code against the waiting devices with this MAC, or against all.

        A wrong code of six digits counts as a try for each of them; after `MAX_TRIES`, a device gets a new
        code. An accepted device goes on waiting until it is removed.
        """
        candidates = [
            device
            for device in self._pending.values()
            if mac in {None, device.mac} and now < device.code_until
        ]
        if not candidates:
            return Verdict(outcome=Outcome.EXPIRED)
        code = _normalised(typed)
        if not _SIX_DIGITS.fullmatch(code):
            return Verdict(outcome=Outcome.MALFORMED)
        # Secrets are compared in constant time.
        matching = (device for device in candidates if compare_digest(device.code.encode(), code))
        if (device := next(matching, None)) is not None:
            return Verdict(outcome=Outcome.ACCEPTED, device=device)
        for device in candidates:
            if device.tries_left > 1:
                changed = replace(device, tries_left=device.tries_left - 1)
            else:
                known = (device.mac, device.client_id, device.board, device.remote)
                changed = replace(self._new(*known, now, renewals=device.renewals + 1), seen=device.seen)
            self._pending[device.mac, device.client_id] = changed
        if tries_left := max(device.tries_left for device in candidates) - 1:
            return Verdict(outcome=Outcome.WRONG, tries_left=tries_left)
        last_seen = max(device.seen for device in candidates)
        return Verdict(outcome=Outcome.REPLACED, new_code_in=max(0.0, last_seen + _ROUND_SECONDS - now))

    def expire(self, now: float) -> list[str]:
        """Remove the devices that have been silent for ten minutes; return their MACs that no longer wait."""
        silent = [key for key, device in self._pending.items() if now >= device.seen + _SILENCE_SECONDS]
        for key in silent:
            del self._pending[key]
        return self._without_device(silent)

    def remove(self, mac: str, client_id: str) -> None:
        """Remove a device, if it waits."""
        self._pending.pop((mac, client_id), None)

    def _to_drop(self, remote: str) -> tuple[str, str] | None:
        """Return the device to displace for one from `remote`: the oldest of that or the fullest address."""
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
        """Return the MACs of removed devices, except those of other waiting devices."""
        waiting = {device.mac for device in self._pending.values()}
        return list(dict.fromkeys(mac for mac, _ in keys if mac not in waiting))

    def _new(
        self, mac: str, client_id: str, board: str, remote: str, now: float, *, renewals: int
    ) -> PendingDevice:
        period = int(now // CODE_SECONDS)
        taken = {device.code for device in self._pending.values()}
        while (code := self._code(f"{mac} {client_id} {period} {renewals}")) in taken:
            renewals += 1
        return PendingDevice(
            mac=mac,
            client_id=client_id,
            remote=remote,
            board=board,
            code=code,
            challenge=secrets.token_hex(16),
            tries_left=MAX_TRIES,
            renewals=renewals,
            code_until=(period + 2) * CODE_SECONDS,
            seen=now,
        )

    def _code(self, what_for: str) -> str:
        number = int.from_bytes(digest(self._secret, what_for.encode(), "sha256")) % 10**_CODE_DIGITS
        return f"{number:0{_CODE_DIGITS}}"


def _normalised(typed: str) -> bytes:
    """Remove spaces and hyphens between digits, and make full-width digits plain."""
    plain = unicodedata.normalize("NFKC", typed[:_MAX_TYPED])
    return "".join(character for character in plain if character.isalnum()).encode()
