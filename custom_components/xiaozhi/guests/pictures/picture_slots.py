"""Bounds on the pictures that are received, fetched and decoded at the same time, in all."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant

from ...device.guest import GatewayPart

# Of 2 MB each, and as much again while the form is parsed.
_UPLOADS: Final = 4
# Of 16 MB each, likewise.
_SHOWN: Final = 2


class PictureTimeouts:
    """Time-outs of pictures, in seconds."""

    slot: float = 5
    """Until one of the pictures that are being received is done. A device waits 30 s for the answer to its
    photo."""
    upload: float = 20
    """For a picture, which the device sends while it compresses it."""
    entity: float = 2
    """For Home Assistant to add the entity of the first picture."""
    answer: float = 25
    """For the vision model. The device gives up after 30 s."""
    fetch: float = 15
    """For a picture from the web."""


class PictureSlots(GatewayPart):
    """Bounds memory and processor time for pictures."""

    def __init__(self, hass: HomeAssistant, entry: ConfigEntry[Any]) -> None:
        super().__init__(hass, entry)
        self._decoding = asyncio.Lock()
        self._uploads = asyncio.Semaphore(_UPLOADS)
        self.shown = asyncio.Semaphore(_SHOWN)
        """Held while a picture for the screen is fetched and decoded."""

    @asynccontextmanager
    async def upload(self) -> AsyncGenerator[None]:
        """Hold a slot while a picture is received; `TimeoutError` if none becomes free in time."""
        async with asyncio.timeout(PictureTimeouts.slot):
            await self._uploads.acquire()
        try:
            yield
        finally:
            self._uploads.release()

    async def decode[Result](self, work: Callable[[], Result]) -> Result:
        """Run the decoding `work` in an executor, one at a time. Raises what `work` raises.

        A thread cannot be stopped. When the caller is cancelled, this ends only when the thread is done, so
        that all slots that the caller holds are held until then.
        """
        async with self._decoding:
            job = self.hass.async_add_executor_job(work)
            try:
                await asyncio.wait([job])
            finally:
                while not job.done():
                    with suppress(asyncio.CancelledError):
                        await asyncio.wait([job])
                # Otherwise the event loop logs an exception that was never retrieved.
                job.exception()
            return job.result()
