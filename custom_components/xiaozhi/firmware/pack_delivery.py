"""The way of an asset pack to a device, from the owner's choice to the check-in after it.

A device fetches the pack at its next start, before it checks in (`Application::CheckAssetsVersion`).
"""

from collections.abc import Awaitable, Callable
from typing import override

from homeassistant.core import callback

from ..device_http.transfers import Download, Transfers
from ..protocol.messages import JsonObject
from .offer_at_checkin import Installation

_ATTEMPTS = 2


class PackDelivery(Installation):
    """Has a device fetch a pack, and follows it."""

    fetched: int | None = None
    """Percentage of the models that Home Assistant has got; None while it does not need any."""
    _linked_since = False
    """Whether the device has linked since its check-in."""

    @callback
    def prepared(self, fraction: float) -> None:
        """Note how much of the models is there."""
        self.fetched = round(100 * fraction)
        self._progressed()

    @override
    @callback
    def checked_in(self, version: str | None, origin: str | None) -> JsonObject | None:
        """Note a check-in; it is offered no firmware."""
        self._returned = True
        self._news.set()
        return None

    @override
    @callback
    def linked(self) -> None:
        """Note a new link."""
        self._linked_since = self._returned
        self._news.set()

    async def deliver(
        self,
        content: bytes,
        transfers: Transfers,
        send: Callable[[str], Awaitable[None]],
        restart: Callable[[], Awaitable[None]],
    ) -> None:
        """Have the device fetch the pack, and wait until it has checked in with it.

        `send` gives the device the path of the pack, and restarts it. Raises `HomeAssistantError` that says
        what the device has now.
        """
        for _ in range(_ATTEMPTS):
            download = await self._attempt(content, transfers, send)
            if download.complete:
                return
            # It loads no pack now: it is without a wake word, but its link works.
            failure = "pack_broke_off" if download.started else "pack_not_fetched"
            await self._within(self._timeouts.restart, lambda: self._linked_since, failure)
            if not download.started:
                # The old pack is still there, and is loaded at the next start.
                await restart()
                break
        raise self._failure(failure)

    async def _attempt(
        self, content: bytes, transfers: Transfers, send: Callable[[str], Awaitable[None]]
    ) -> Download:
        download = self._download = Download(content, "application/octet-stream", self._moved_on)
        self._returned = self._linked_since = False
        with transfers.offer(download) as path:
            await send(path)
            # Without having reached us, the device goes on to its check-in.
            await self._within(
                self._timeouts.restart, lambda: download.started or self._returned, "pack_not_restarted"
            )
            if download.started:
                await self._reach(lambda: download.ended)
        await self._within(self._timeouts.come_back, lambda: self._returned, "pack_did_not_return")
        return download
