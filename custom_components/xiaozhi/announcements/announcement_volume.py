"""The volume of announcements: set before one, and restored after it, whatever happens between."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
import logging
from typing import Final

from homeassistant.core import callback
from homeassistant.exceptions import HomeAssistantError

from ..device.device import Device
from ..device.state import STATUS_READ
from ..protocol.device_status import StatusError, read_status
from ..tools.stock_tools import STATUS_TOOL, VOLUME_TOOL

_LOGGER = logging.getLogger(__name__)
_ARGUMENT: Final = "volume"
# Seconds that an announcement waits for it to be restored; a gateway that stops waits for 3.
_RESTORING: Final = 2


class AnnouncementVolume:
    """Changes the volume of a device for a while, if the owner wants that and the device can.

    The usual volume is stored until it is restored.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._in_use = False
        self._restoring: asyncio.Task[None] | None = None
        self.close = device.record.listen(["linked", STATUS_READ], self._restore_late)
        """Ends all attempts to restore the volume."""

    @asynccontextmanager
    async def changed(self, *, wanted: bool) -> AsyncGenerator[None]:
        """Set the volume of announcements, if the owner wants that.

        If it cannot be restored at the end, because the device is gone, this is done as soon as possible.
        """
        if not wanted:
            yield
            return
        self._in_use = True
        try:
            if self._restoring is not None:
                await asyncio.wait((self._restoring,))
            await self._change()
            yield
        finally:
            self._in_use = False
            # A cancelled announcement must not leave its volume.
            self._restoring = self._device.create_task(self._restore(), "restore volume")
            await asyncio.wait((self._restoring,), timeout=_RESTORING)

    @callback
    def _restore_late(self) -> None:
        """Restore the volume of a device that did not take it before."""
        if (
            self._device.state.volume_to_restore is not None
            and not self._in_use
            and (self._restoring is None or self._restoring.done())
        ):
            self._restoring = self._device.create_task(self._restore(late=True), "restore volume")

    async def _change(self) -> None:
        wanted = self._device.settings.announcement_volume
        if wanted is None or not {VOLUME_TOOL, STATUS_TOOL} <= self._device.tools.keys():
            return
        pending = self._device.state.volume_to_restore
        try:
            # A volume that is still to be restored is the usual one.
            usual = await self._read() if pending is None else pending[0]
            if usual is None or usual == wanted:
                return
            self._device.record.update(volume_to_restore=(usual, wanted))
            await self._device.commands.call_tool(VOLUME_TOOL, {_ARGUMENT: wanted})
        except HomeAssistantError as err:
            _LOGGER.debug("%s: volume not changed for an announcement: %s", self._device.name, err)

    async def _read(self) -> int | None:
        try:
            return read_status((await self._device.commands.call_tool(STATUS_TOOL)).json()).volume
        except StatusError:
            return None

    async def _restore(self, *, late: bool = False) -> None:
        if (pending := self._device.state.volume_to_restore) is None:
            return
        usual, announced = pending
        try:
            # Somebody may have set another volume meanwhile.
            if not late or await self._read() in {announced, None}:
                await self._device.commands.call_tool(VOLUME_TOOL, {_ARGUMENT: usual})
        except HomeAssistantError as err:
            _LOGGER.debug("%s: volume not restored yet: %s", self._device.name, err)
            return
        self._device.record.update(volume_to_restore=None)
