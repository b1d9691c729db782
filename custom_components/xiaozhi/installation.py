"""One installation of a firmware on a device, from the owner's wish to the new version's first check-in.

The firmware is offered in the device's next check-in, and the device restarted for that if it can be reached.
`self.upgrade_firmware` would do, too, but a device on MQTT whose download fails then is deaf until its power
is cut, while one that fails at its check-in goes on with the firmware that it has.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from homeassistant.core import callback
from homeassistant.exceptions import HomeAssistantError

from .const import DOMAIN
from .protocol.checkin import FirmwareOffer
from .transfers import Download

__all__ = ["Installation"]

# For somebody who switches the device off and on; or for its restart.
_BY_HAND_SECONDS: Final = 15 * 60
_RESTART_SECONDS: Final = 3 * 60
_FETCH_SECONDS: Final = 60
# It checks what it got, restarts and connects to the Wi-Fi.
_RETURN_SECONDS: Final = 5 * 60


class Installation:
    """Offers a firmware to a device, once, and sees what becomes of it."""

    def __init__(self, name: str, version: str, download: Download, path: str, *, force: bool) -> None:
        """Prepare to offer what the device `name` is to fetch at `path` of our web server."""
        self._name = name
        self._version = version
        self._download = download
        self._path = path
        self._force = force
        self._offered = asyncio.Event()
        self._returned = asyncio.Event()
        self._came_back_with: str | None = None
        self._stopped = False

    @property
    def percentage(self) -> int | None:
        """How much of the firmware the device has fetched; None before it began."""
        if not self._download.started.is_set():
            return None
        return 100 * self._download.sent // len(self._download.content)

    @callback
    def checked_in(self, version: str | None, origin: str | None) -> FirmwareOffer | None:
        """Take note of a check-in, and return what the device is offered: the firmware, the first time."""
        if self._offered.is_set():
            self._came_back_with = version
            self._returned.set()
            return None
        if origin is None:
            return None
        self._offered.set()
        return FirmwareOffer(version=self._version, url=origin + self._path, force=self._force)

    @callback
    def stop(self) -> None:
        """Give up, because the device is removed or the gateway stops."""
        self._stopped = True
        for moment in (self._offered, self._download.started, self._download.ended, self._returned):
            moment.set()

    async def run(self, restart: Callable[[], Awaitable[None]] | None) -> None:
        """See it through; `restart` restarts the device, and is None if that is for its owner to do.

        Raises `HomeAssistantError` that says where it has failed.
        """
        if restart is None:
            await self._reach(self._offered, _BY_HAND_SECONDS, self._failure("update_not_started"))
        else:
            await restart()
            await self._reach(self._offered, _RESTART_SECONDS, self._failure("update_not_restarted"))
        await self._reach(self._download.started, _FETCH_SECONDS, self._failure("update_not_fetched"))
        # A device that takes nothing for a minute ends the transfer.
        await self._download.ended.wait()
        self._go_on()
        if not self._download.complete:
            raise self._failure("update_broke_off", percentage=str(self.percentage))
        await self._reach(self._returned, _RETURN_SECONDS, self._failure("update_did_not_return"))
        if self._came_back_with != self._version:
            raise self._failure("update_rejected", still=self._came_back_with or "?")

    async def _reach(self, moment: asyncio.Event, seconds: float, failure: HomeAssistantError) -> None:
        try:
            async with asyncio.timeout(seconds):
                await moment.wait()
        except TimeoutError as err:
            raise failure from err
        self._go_on()

    def _go_on(self) -> None:
        if self._stopped:
            raise self._failure("update_stopped")

    def _failure(self, key: str, **placeholders: str) -> HomeAssistantError:
        return HomeAssistantError(
            translation_domain=DOMAIN,
            translation_key=key,
            translation_placeholders={"name": self._name, "version": self._version, **placeholders},
        )
