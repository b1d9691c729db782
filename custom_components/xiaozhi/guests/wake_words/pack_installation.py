"""The installation of a pack on a device, which fetches it at its next start.

It does so before its check-in (`Application::CheckAssetsVersion`).
"""

from typing import Final

from homeassistant.core import callback
from homeassistant.exceptions import HomeAssistantError
import voluptuous as vol

from ...device.device import Device
from ...device.owned import OwnedValue
from ...protocol.faces import Face
from ...protocol.mcp.model import McpNoAnswerError
from ...settings import TEXTS
from ...texts.translated import async_text
from ...tools.stock_tools import ASSETS_TOOL
from ..firmware.installation import FirmwareTimeouts, Installation

_ATTEMPTS: Final = 2

SENT_PACK: Final = OwnedValue[tuple[str, ...]](key="sent_pack", schema=vol.Schema(TEXTS), default=())
"""Ids of the wake words in the pack that a device was sent; empty from its check-in with it."""


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
        except HomeAssistantError as err:
            # Without an answer, it may have noted the address.
            answer_missing = isinstance(err.__cause__, McpNoAnswerError) and err.__cause__.sent
            if not (self.stopped or answer_missing):
                device.record.update(sent_pack=())
            raise
        text = await async_text(device.hass, "wake_words_coming", self._language)
        await device.commands.show(status="Home Assistant", message=text, emotion=Face.NEUTRAL)
        await device.commands.restart()
