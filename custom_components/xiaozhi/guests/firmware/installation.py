"""The installation of a firmware on a device, from its owner's request to the check-in with it.

A firmware is offered in the device's next check-in, and the device restarted for that if it can be reached.
The tool `self.upgrade_firmware` is not used: a device on MQTT whose download fails there does not respond
until its power is cut, while one whose download fails at its check-in goes on with the firmware that it has.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, override

from homeassistant.core import callback

from ...device.device import Device
from ...device.guest import DevicePart
from ...device.state import ATTACHED
from ...device_http.transfers import Download
from ...errors import InputError, UserError
from ...protocol.checkin_reply import firmware_section
from ...protocol.messages import JsonObject
from ...util.event_loop import within

INSTALLATION: Final = "installation"
"""Key: an installation has begun, gone on or ended."""


class FirmwareTimeouts:
    """Time-outs and pauses of installations and of the list of releases, in seconds."""

    by_hand: float = 15 * 60
    """For a person to switch the device off and on."""
    restart: float = 3 * 60
    """For the device to restart and check in."""
    begin: float = 60
    """For the device to begin to fetch, after its check-in."""
    come_back: float = 5 * 60
    """For the device to verify the firmware, restart and join the Wi-Fi."""
    list: float = 30
    """For the list of releases."""
    file: float = 300
    """For a file of the list."""
    list_age: float = 6 * 3600
    """Until the list is fetched again. GitHub allows 60 requests an hour without an account."""
    list_retry: float = 15 * 60
    """Until a list that could not be fetched is tried again."""


class Installation:
    """Has a device fetch a file, and follows it."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self.stopped = False
        """Whether the device was removed, or the gateway stopped."""
        self._texts = {"name": device.name}
        self.begun = False
        """Whether the device has begun to download, and so to write over what it had."""
        self._download: Download | None = None
        self._offer: tuple[str, str, bool] | None = None
        """Version, path on our web server, and whether it must be forced; None before that is known."""
        self._offered = False
        self._returned = False
        """Whether the device has checked in again after it was offered a firmware or sent a pack."""
        self._linked = False
        """Whether it can be reached since that, or since that check-in."""
        self._version: str | None = None
        self._remote = ""
        self._news = asyncio.Event()

    @property
    def percentage(self) -> int | None:
        """How much of the file the device has downloaded; None before it began."""
        download = self._download
        return 100 * download.sent // len(download.content) if download and download.started else None

    @callback
    def checked_in(self, version: str | None, remote: str, origin: str | None) -> JsonObject:
        """Handle a check-in; return the section that offers the firmware, once, and nothing otherwise."""
        self._version, self._remote = version, remote
        self._linked = False
        self._news.set()
        if self._offer is None or self._offered:
            self._returned = True
        elif origin is not None:
            offered, path, force = self._offer
            self._offered = True
            return firmware_section(version=offered, url=origin + path, force=force)
        return {}

    @callback
    def linked(self) -> None:
        """Note that the device can be reached again."""
        self._linked = True
        self._news.set()

    @callback
    def stop(self) -> None:
        """Stop: the device is removed or the gateway stops."""
        self.stopped = True
        self._news.set()

    def check(self) -> None:
        """Raise `HomeAssistantError` if the installation was stopped."""
        if self.stopped:
            raise self._failure("update_stopped")

    @property
    def _given_up(self) -> bool:
        """Whether the device keeps its firmware: it has linked without another check-in before."""
        return self._offered and self._linked and not self._returned

    def _begin(self, content: bytes) -> Download:
        """Begin to wait for the device to fetch a file."""
        self._returned = self._linked = False
        self._download = Download(content, "application/octet-stream", self._moved_on)
        return self._download

    @callback
    def _moved_on(self) -> None:
        self.begun = True
        self._news.set()
        self._progressed()

    @callback
    def _progressed(self) -> None:
        self._device.record.notify(INSTALLATION)

    async def _within(self, seconds: float, reached: Callable[[], bool], failure: str) -> None:
        await within(seconds, self._reach(reached))
        if not reached():
            raise self._failure(failure)

    async def _reach(self, reached: Callable[[], bool]) -> None:
        while not (reached() or self._given_up or self.stopped):
            self._news.clear()
            await self._news.wait()
        self.check()

    def _failure(self, key: str, **placeholders: str) -> UserError:
        return UserError(key, **self._texts, **placeholders)


class FirmwareInstallation(Installation):
    """Has a device fetch a firmware, and follows it."""

    async def run(self, version: str, content: bytes, *, force: bool) -> None:
        """Have the device install the firmware `content`, and wait until it runs.

        Its owner has to restart a device that cannot be reached. Raises `HomeAssistantError` that says where
        it has failed.
        """
        self._texts["version"] = version
        download = self._begin(content)
        with self._device.transfers.offer(download) as path:
            self._offer = (version, path, force)
            if self._device.state.linked:
                await self._device.commands.restart()
                await self._within(FirmwareTimeouts.restart, lambda: self._offered, "update_not_restarted")
            else:
                await self._within(FirmwareTimeouts.by_hand, lambda: self._offered, "update_not_started")
            await self._within(FirmwareTimeouts.begin, lambda: download.started, "update_not_fetched")
        # The download also ends when the device has fetched nothing for a minute.
        await self._reach(lambda: download.ended)
        if not download.complete:
            raise self._failure("update_broke_off", percentage=str(self.percentage))
        await self._within(
            FirmwareTimeouts.come_back, lambda: self._returned or self._given_up, "update_did_not_return"
        )
        if self._given_up or self._version != version:
            raise self._failure("update_rejected")


class DeviceInstallation(DevicePart):
    """The installation that runs on a device, if any; it hears of check-ins and links."""

    running: Installation | None = None

    @override
    @callback
    def start(self) -> None:
        self._ends = [self.device.record.listen(["linked", ATTACHED], self._linked)]

    @override
    @callback
    def end(self) -> None:
        super().end()
        if self.running is not None:
            self.running.stop()

    @contextmanager
    def installing[InstallationT: Installation](self, installation: InstallationT) -> Iterator[InstallationT]:
        """Let an installation run. Raises `InputError` while there is another one."""
        if self.running is not None:
            raise InputError("update_running", name=self.device.name)
        self.running = installation
        self.device.record.notify(INSTALLATION)
        try:
            yield installation
        finally:
            self.running = None
            if not installation.stopped:
                self.device.record.notify(INSTALLATION)

    @override
    @callback
    def checked_in(self, remote: str, origin: str | None) -> JsonObject:
        if self.running is None:
            return {}
        return self.running.checked_in(self.device.state.firmware, remote, origin)

    @callback
    def _linked(self) -> None:
        # A device that restarts before its last link ends counts as linked all the time.
        if self.running is not None and self.device.state.linked:
            self.running.linked()
