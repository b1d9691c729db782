"""The installation of a firmware or a pack on a device, from its owner's request to the check-in with it.

A firmware is offered in the device's next check-in, and the device restarted for that if it can be reached.
The tool `self.upgrade_firmware` is not used: a device on MQTT whose download fails there does not respond
until its power is cut, while one whose download fails at its check-in goes on with the firmware that it has.

A pack is fetched at the next start, before the check-in (`Application::CheckAssetsVersion`).
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from homeassistant.core import callback
from homeassistant.exceptions import HomeAssistantError

from ..device_http.transfers import Download
from ..errors import UserError
from ..protocol.checkin_reply import firmware_section
from ..protocol.faces import Face
from ..protocol.messages import JsonObject
from ..texts.translated import async_text
from ..timeouts import FirmwareTimeouts
from ..tools.stock_tools import ASSETS_TOOL
from ..util.event_loop import within
from .state import INSTALLATION

if TYPE_CHECKING:
    from .device import Device

_ATTEMPTS: Final = 2


class Installation:
    """Has a device fetch a firmware, and follows it."""

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


class PackInstallation(Installation):
    """Has a device fetch a pack with these wake words, and follows it."""

    fetched: int | None = None
    """Percentage of the models that Home Assistant has fetched; None while it needs none."""
    source: tuple[str, int] | None = None
    """Host and bytes of what Home Assistant fetches."""
    waiting = False
    """Whether its owner has to wake the device first."""

    def __init__(self, device: Device, ids: tuple[str, ...], language: str) -> None:
        """Announce the pack on the screen in this language."""
        super().__init__(device)
        self._ids = ids
        self._language = language

    @property
    def settled(self) -> bool:
        """Whether the device has shown itself since it was last sent a pack, and waits for none."""
        return self._returned or self._linked

    @callback
    def fetching(self, host: str, size: int) -> None:
        """Note what Home Assistant begins to fetch."""
        self.source = host, size
        self._progressed()

    @callback
    def prepared(self, fraction: float) -> None:
        """Note how much of the models is there."""
        self.fetched = round(100 * fraction)
        self._progressed()

    async def deliver(self, content: bytes) -> None:
        """Have the device fetch the pack when it can be reached, and wait until it has checked in with it.

        Raises `HomeAssistantError` that says what the device has now.
        """
        self._linked = self._device.state.linked
        self.waiting, self.source = not self._linked, None
        self._progressed()
        await self._within(FirmwareTimeouts.by_hand, lambda: self._linked, "pack_not_woken")
        self.waiting = False
        for _ in range(_ATTEMPTS):
            if await self._attempt(content):
                return
            # It loads no pack now: it is without a wake word, but its link works.
            failure = "pack_broke_off" if self.begun else "pack_not_fetched"
            await self._within(FirmwareTimeouts.restart, lambda: self._linked, failure)
            if not self.begun:
                # The old pack is still there, and is loaded at the next start.
                await self._device.commands.restart()
                break
        raise self._failure(failure)

    async def _attempt(self, content: bytes) -> bool:
        """Send the pack once. Returns whether the device has fetched all of it."""
        begun, download = self.begun, self._begin(content)
        with self._device.transfers.offer(download) as path:
            await self._send(path)
            # Without having reached us, the device goes on to its check-in.
            await self._within(
                FirmwareTimeouts.restart, lambda: download.started or self._returned, "pack_not_restarted"
            )
            if download.started:
                await self._reach(lambda: download.ended)
        await self._within(FirmwareTimeouts.come_back, lambda: self._returned, "pack_did_not_return")
        if download.started and download.remote != self._remote:
            # Somebody else has read the one-time address on the network and used it.
            self.begun = begun
            return False
        return download.complete

    async def _send(self, path: str) -> None:
        device = self._device
        # Without it after a crash, the device would look for the pack in vain, and be left without any.
        device.record.update(sent_pack=self._ids)
        await device.record.async_save()
        try:
            await device.commands.call_tool(ASSETS_TOOL, {"url": f"{device.state.origin}{path}"})
        except HomeAssistantError:
            if not self.stopped:
                device.record.update(sent_pack=())
            raise
        text = await async_text(device.hass, "wake_words_coming", self._language)
        await device.commands.show(status="Home Assistant", message=text, emotion=Face.NEUTRAL)
        await device.commands.restart()
