"""Check-in and activation. Source: the firmware's `ota.cc` and `Application::CheckNewVersion`."""

from collections.abc import Awaitable, Callable
from enum import StrEnum
import hashlib
import hmac
from typing import Final, Literal

from ..board.cjson import JsonObject, dumps, find, is_number, loads_object
from ..board.crash import stoi
from ..board.system_info import system_info
from ..link.http_client import HttpClient, HttpError, Response
from .clock import StatusClock
from .hardware import Hardware

type TransportKind = Literal["mqtt", "websocket"]

_ATTEMPTS: Final = 10
_FIRST_BACK_OFF: Final = 10
_ROUNDS: Final = 10
_POLL_SECONDS: Final = 3.0
_FAILED_POLL_SECONDS: Final = 10.0
_MIN_URL: Final = 10


class Outcome(StrEnum):
    """Result of the last check-in."""

    PENDING = "pending"
    """Not answered yet."""
    FAILED = "failed"
    ASKED = "asked"
    """The server requires an activation."""
    ACCEPTED = "accepted"


class CheckIn:
    """Checks in until the server accepts the device, or gives up."""

    def __init__(
        self,
        hardware: Hardware,
        http: HttpClient,
        clock: StatusClock,
        *,
        idle: Callable[[], bool],
        upgrade: Callable[[str, str], Awaitable[None]],
    ) -> None:
        """`clock` is set by each answer; `idle` returns whether the user has interrupted.

        `upgrade` installs the firmware of an address and a version, and returns only if that failed.
        """
        self.outcome = Outcome.PENDING
        self.error = ""
        """Why the last check-in failed."""
        self.pairing_code: str | None = None
        """The pairing code on the screen."""
        self._hardware = hardware
        self._http = http
        self._clock = clock
        self._idle = idle
        self._upgrade = upgrade

    async def run(self) -> TransportKind:
        """Return the transport to use. Raises `DeviceCrashed`, and `Restart` after an update."""
        failures, delay = 0, _FIRST_BACK_OFF
        while True:
            self._hardware.screen.show_status("Checking for new version...")
            try:
                reply = await self._check()
            except HttpError as err:
                failures += 1
                self.error = str(err)
                self._hardware.screen.show_alert(
                    "ERROR", f"Check new version failed, will retry in {delay} seconds", "cloud_off"
                )
                self._conclude(Outcome.FAILED)
                if failures >= _ATTEMPTS:
                    return "mqtt"
                await self._wait_unless_idle(delay)
                delay *= 2
                continue
            failures, delay = 0, _FIRST_BACK_OFF
            if (offer := self._offer(reply)) is not None:
                await self._upgrade(*offer)
            self._hardware.partitions.confirm()
            activation = find(reply, "activation")
            code, challenge = _text(activation, "code"), _text(activation, "challenge")
            self.pairing_code = code
            if code is None and challenge is None:
                self._conclude(Outcome.ACCEPTED)
                return _transport(reply)
            self._hardware.screen.show_status("Activation")
            if code is not None:
                message = _text(activation, "message") or ""
                self._hardware.screen.show_alert("Activation", message, "link")
                self._hardware.recorder.add("sound", spoken="".join(filter(str.isdigit, code)))
            self._conclude(Outcome.ASKED)
            for _ in range(_ROUNDS):
                if await self._activate(challenge) or self._idle():
                    break

    def _conclude(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self._hardware.recorder.pulse()

    async def _wait_unless_idle(self, seconds: int) -> None:
        """Wait so many seconds, but end after the first one if the user has made the device idle."""
        pace = self._hardware.pace
        await pace.wait(1)
        try:
            await self._hardware.recorder.wait_for(self._idle, (seconds - 1) * pace.waits)
        except TimeoutError:
            return

    async def _check(self) -> JsonObject:
        """Post the system information, and store the settings of the reply. Raises `HttpError`."""
        hardware = self._hardware
        url = hardware.ota_url
        if len(url) < _MIN_URL:
            raise HttpError("the address is too short")
        body = system_info(hardware.profile, hardware.identity, hardware.partitions.label)
        answer = await self._post(url, body, lambda status: status == 200)
        if answer.status != 200:
            raise HttpError(f"the server answered with status {answer.status}")
        reply = loads_object(answer.body)
        if reply is None:
            raise HttpError("the answer is not a JSON object")
        self._store(reply)
        self._clock.set(reply)
        return reply

    async def _post(self, url: str, body: str, reads: Callable[[int], bool]) -> Response:
        try:
            answer = await self._http.request("POST", url, self._headers(), body.encode(), reads=reads)
        except HttpError as err:
            self._hardware.recorder.add("http", url=url, error=str(err))
            raise
        self._hardware.recorder.add("http", url=url, status=answer.status)
        return answer

    def _store(self, reply: JsonObject) -> None:
        for name in ("mqtt", "websocket"):
            if isinstance(section := find(reply, name), dict):
                self._hardware.nvs.merge(name, section)

    def _offer(self, reply: JsonObject) -> tuple[str, str] | None:
        """Return address and version of a firmware to install."""
        firmware = find(reply, "firmware")
        version, url = _text(firmware, "version"), _text(firmware, "url")
        if version is None or url is None:
            return None
        newer = _parse_version(version) > _parse_version(self._hardware.profile.version)
        force = find(firmware, "force")
        return (url, version) if newer or (is_number(force) and force == 1) else None

    async def _activate(self, challenge: str | None) -> bool:
        """Poll once; True if the server has accepted the device."""
        pace = self._hardware.pace
        if challenge is None:
            await pace.wait(_FAILED_POLL_SECONDS)
            return False
        url = self._hardware.ota_url
        url += "activate" if url.endswith("/") else "/activate"
        body = self._activation_body(challenge)
        try:
            status = (await self._post(url, body, lambda status: status not in {200, 202})).status
        except HttpError:
            status = 0
        if status == 200:
            return True
        await pace.wait(_POLL_SECONDS if status == 202 else _FAILED_POLL_SECONDS)
        return False

    def _headers(self) -> dict[str, str]:
        profile, identity = self._hardware.profile, self._hardware.identity
        headers = {
            "Accept-Language": profile.language,
            "Activation-Version": "1" if profile.serial_number is None else "2",
            "Client-Id": identity.client_id,
            "Content-Type": "application/json",
            "Device-Id": identity.mac,
            "User-Agent": profile.user_agent,
        }
        if profile.serial_number is not None:
            headers["Serial-Number"] = profile.serial_number
        return headers

    def _activation_body(self, challenge: str) -> str:
        profile = self._hardware.profile
        if profile.serial_number is None:
            return "{}"
        key = profile.hmac_key
        signature = hmac.new(key, challenge.encode(), hashlib.sha256).hexdigest() if key else ""
        return dumps(
            {
                "algorithm": "hmac-sha256",
                "serial_number": profile.serial_number,
                "challenge": challenge,
                "hmac": signature,
            }
        )


def _text(item: object, key: str) -> str | None:
    value = find(item, key)
    return value if isinstance(value, str) else None


def _parse_version(text: str) -> list[int]:
    """Raise `DeviceCrashed` for a segment that does not start with a number."""
    return [stoi(segment) for segment in text.split(".")]


def _transport(reply: JsonObject) -> TransportKind:
    """Return the transport of the reply: `mqtt` if it is there, even empty, or if there is none."""
    if isinstance(find(reply, "mqtt"), dict):
        return "mqtt"
    return "websocket" if isinstance(find(reply, "websocket"), dict) else "mqtt"
