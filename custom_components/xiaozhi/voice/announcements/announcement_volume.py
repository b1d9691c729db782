"""The volume of announcements: set before one, and restored after it, whatever happens between."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
import logging
from typing import Final

from homeassistant.core import CALLBACK_TYPE, callback
from homeassistant.exceptions import HomeAssistantError

from ...device.device import Device
from ...protocol.status import StatusError, parse_status
from ...tools.catalogue import STATUS_TOOL, VOLUME_TOOL

_LOGGER = logging.getLogger(__name__)
_ARGUMENT: Final = "volume"


class AnnouncementVolume:
    """Changes the volume of a device for a while, if the owner wants that and the device can."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._usual: int | None = None
        """The volume to be restored."""
        self._restoring: asyncio.Task[None] | None = None
        self._waits: CALLBACK_TYPE | None = None
        """Ends waiting for a device that was out of reach when its volume was to be restored."""

    @asynccontextmanager
    async def changed(self, *, wanted: bool) -> AsyncGenerator[None]:
        """Have the volume of announcements, if that is wanted.

        If the device is out of reach at the end, its volume is restored when it is back.
        """
        if not wanted or not await self._change():
            yield
            return
        try:
            yield
        finally:
            # Cancelling the announcement must not keep its volume.
            self._restoring = self._device.create_task(self._restore(), "restore volume")
            await asyncio.wait((self._restoring,))

    @callback
    def _link_changed(self) -> None:
        """Restore the volume of a device that was out of reach."""
        if self._device.linked and (self._restoring is None or self._restoring.done()):
            self._restoring = self._device.create_task(self._restore(), "restore volume")

    async def _change(self) -> bool:
        wanted = self._device.settings.announcement_volume
        if not wanted or VOLUME_TOOL not in self._device.tools:
            return False
        try:
            # A volume that is still to be restored is the usual one.
            usual = self._usual if self._usual is not None else await self._read()
            if usual is None or usual == wanted:
                return False
            self._usual = usual
            await self._device.commands.call_tool(VOLUME_TOOL, {_ARGUMENT: wanted})
        except HomeAssistantError as err:
            _LOGGER.debug("%s: volume not changed for an announcement: %s", self._device.name, err)
        return self._usual is not None

    async def _read(self) -> int | None:
        try:
            return parse_status((await self._device.commands.call_tool(STATUS_TOOL)).text or "").volume
        except StatusError:
            return None

    async def _restore(self) -> None:
        if self._usual is None:
            return
        try:
            await self._device.commands.call_tool(VOLUME_TOOL, {_ARGUMENT: self._usual})
        except HomeAssistantError as err:
            _LOGGER.debug("%s: volume not restored yet: %s", self._device.name, err)
            if not self._device.linked:
                self._wait(wait=True)
                return
        self._usual = None
        self._wait(wait=False)

    @callback
    def _wait(self, *, wait: bool) -> None:
        if wait and self._waits is None:
            self._waits = self._device.listen(["linked"], self._link_changed)
        elif not wait and self._waits is not None:
            self._waits()
            self._waits = None
