"""One installation of a firmware on a device, from the owner's request to the new version's first check-in.

The firmware is offered in the device's next check-in, and the device restarted for that if it can be reached.
The tool `self.upgrade_firmware` is not used: a device on MQTT whose download fails there does not respond
until its power is cut, while one whose download fails at its check-in goes on with the firmware that it has.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from homeassistant.core import callback

from ..device_http.transfers import Download, Transfers
from ..errors import UserError
from ..protocol.checkin_reply import firmware_section
from ..protocol.messages import JsonObject
from ..timeouts import FirmwareTimeouts


class Installation:
    """Offers a firmware to a device once, and follows its installation."""

    def __init__(self, name: str, progressed: Callable[[], None], timeouts: FirmwareTimeouts) -> None:
        """Install on the device `name`. `progressed` is called at every progress of the download."""
        self.stopped = False
        """Whether the device was removed, or the gateway stopped."""
        self._texts = {"name": name}
        """Placeholders for the texts of errors."""
        self._progressed = progressed
        self._timeouts = timeouts
        self._download: Download | None = None
        self._offer: tuple[str, str, bool] | None = None
        """Version, path on our web server, and whether it must be forced; None before that is known."""
        self._offered = False
        self._returned = False
        self._came_back_with: str | None = None
        self._given_up = False
        """Whether the device has given up and keeps its firmware."""
        self._news = asyncio.Event()

    @property
    def percentage(self) -> int | None:
        """How much of the firmware the device has downloaded; None before it began."""
        download = self._download
        return 100 * download.sent // len(download.content) if download and download.started else None

    @callback
    def checked_in(self, version: str | None, origin: str | None) -> JsonObject | None:
        """Handle a check-in; return the section that offers the firmware, once."""
        if self._offered:
            self._came_back_with = version
            self._returned = True
            self._news.set()
        elif origin is not None and self._offer is not None:
            offered, path, force = self._offer
            self._offered = True
            self._news.set()
            return firmware_section(version=offered, url=origin + path, force=force)
        return None

    @callback
    def linked(self) -> None:
        """Handle a new link. Without another check-in before it, the device has not restarted."""
        if self._offered and not self._returned:
            self._given_up = True
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

    async def run(
        self,
        version: str,
        content: bytes,
        transfers: Transfers,
        *,
        force: bool,
        restart: Callable[[], Awaitable[None]] | None,
    ) -> None:
        """Have the device install the firmware `content`, and wait until it runs.

        `restart` restarts the device, or is None if its owner has to do that. Raises `HomeAssistantError`
        that says where it has failed.
        """
        self._texts["version"] = version
        download = self._download = Download(content, "application/octet-stream", self._moved_on)
        times = self._timeouts
        with transfers.offer(download) as path:
            self._offer = (version, path, force)
            if restart is None:
                await self._within(times.by_hand, lambda: self._offered, "update_not_started")
            else:
                await restart()
                await self._within(times.restart, lambda: self._offered, "update_not_restarted")
            await self._within(times.begin, lambda: download.started, "update_not_fetched")
        # The download also ends when the device has fetched nothing for a minute.
        await self._reach(lambda: download.ended)
        if not download.complete:
            raise self._failure("update_broke_off", percentage=str(self.percentage))
        await self._within(times.come_back, lambda: self._returned or self._given_up, "update_did_not_return")
        if self._came_back_with != version:
            raise self._failure("update_rejected")

    @callback
    def _moved_on(self) -> None:
        self._news.set()
        self._progressed()

    async def _within(self, seconds: float, reached: Callable[[], bool], failure: str) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._reach(reached)
        if not reached():
            raise self._failure(failure)

    async def _reach(self, reached: Callable[[], bool]) -> None:
        while not (reached() or self._given_up or self.stopped):
            self._news.clear()
            await self._news.wait()
        self.check()

    def _failure(self, key: str, **placeholders: str) -> UserError:
        return UserError(key, **self._texts, **placeholders)
