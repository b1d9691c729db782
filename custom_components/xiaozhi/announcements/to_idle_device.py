"""An announcement while the device is idle: it receives an address, and plays what it reads there.

The device does not report its progress. What is known: when it asks for the file, how fast it reads, and when
it closes the connection. Source: `main/notify/notify_player.cc` of the firmware; firmware 2.5.0 or newer.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing, suppress

from ..device.device import Device
from ..device_http.transfers import Stream
from ..errors import UserError
from ..protocol import messages
from ..protocol.audio.ogg import OggOpusEncoder
from ..protocol.conversation.captions import subtitles
from ..protocol.messages import DOWNLINK, JsonObject
from ..timeouts import AnnouncementTimeouts
from ..util.event_loop import first_of, loop_time, sleep_until, within
from .announcement_errors import sound_error
from .delivery import Delivery, woken
from .heard import End
from .utterance import Utterance

_CONTENT_TYPE = "audio/ogg"


class IdleAnnouncement:
    """One utterance that an idle device fetches and plays."""

    def __init__(self, device: Device, utterance: Utterance, *, free_at: float) -> None:
        """Prepare something to say. Until `free_at`, by the event loop's clock, the device may be busy."""
        self._device = device
        self._utterance = utterance
        self._free_at = free_at
        self._encoder = OggOpusEncoder()

    async def play(self) -> End | None:
        """Play it, and return its end; None if the device has not asked for the sound.

        Raises `UserError`, and as `DeviceCommands.send`. Cancelling makes the device stop.
        """
        async with AsyncExitStack() as stack:
            speech = await stack.enter_async_context(aclosing(self._utterance.speech(Delivery.NOTIFY)))
            # A voice that fails is known before the device makes its sound.
            first = b"" if self._utterance.fetched_lazily else await self._first(speech)
            pcm = _unbroken(first, speech)
            await stack.enter_async_context(aclosing(pcm))
            stream = Stream(self._encoder.encode_all(pcm), _CONTENT_TYPE)
            try:
                return await self._offer(stream)
            finally:
                stream.stopped.set()
                if not stream.requested.done():
                    await stream.content.aclose()
                else:
                    # The sender reads `pcm` until then, even if this is cancelled once more.
                    while not stream.ended.done():
                        with suppress(asyncio.CancelledError):
                            await asyncio.wait((stream.ended,))
                    if stream.delivered:
                        self._utterance.on_delivered()

    async def _first(self, speech: AsyncGenerator[bytes]) -> bytes:
        try:
            async for piece in speech:
                if piece:
                    return piece
        except Exception as err:
            raise sound_error(err, self._device) from err
        raise UserError("announcement_empty", name=self._device.name)

    async def _offer(self, stream: Stream) -> End | None:
        if (origin := self._device.state.origin) is None:
            raise UserError("no_web_address", name=self._device.name)
        with self._device.transfers.offer(stream) as path:
            lines = subtitles(self._utterance.text, start=self._utterance.text_begins)
            requested_at = await self._call(stream, messages.notify(origin + path, lines))
            if requested_at is None:
                return None
        with woken(self._device) as is_woken:
            self._utterance.on_start(Delivery.NOTIFY)
            async with first_of(is_woken.wait(), stream.ended):
                pass
            if is_woken.is_set():
                return End.WOKEN
            if stream.error is not None:
                raise sound_error(stream.error, self._device) from stream.error
            # A device that has read it at its own pace was there, also if it has lost its other connection.
            was_linked = self._device.state.linked or not stream.direct
            closed_at, ends_at = stream.ended.result(), requested_at + self._encoder.seconds
            # A proxy reads all of it at once, and may close the connection before it is heard.
            read_too_soon = stream.direct and closed_at < ends_at - AnnouncementTimeouts.read_ahead
            if is_cut := not stream.delivered or read_too_soon:
                over_at = loop_time() + AnnouncementTimeouts.waking
            else:
                over_at = ends_at + AnnouncementTimeouts.pop_up
            if await within(over_at - loop_time(), is_woken.wait()):
                return End.WOKEN
        if is_cut or (was_linked and not self._device.state.linked):
            raise UserError("announcement_interrupted", name=self._device.name)
        # A conversation that begins now does not interrupt it any more.
        await sleep_until(over_at + AnnouncementTimeouts.margin)
        return End.DONE

    async def _call(self, stream: Stream, message: JsonObject) -> float | None:
        """Send the address of the stream until the device asks for it; return when, or None if it does not.

        A device that is busy drops the message, and one that has taken it drops those that follow.
        """
        patience_until = max(loop_time(), self._free_at) + AnnouncementTimeouts.request
        while loop_time() < patience_until and self._device.conversation is None:
            await self._device.commands.send(message)
            if await within(AnnouncementTimeouts.repeat, asyncio.shield(stream.requested)):
                # It is idle. So its next link has no conversation to end, while this is still played.
                self._device.record.update(session_id=None)
                return stream.requested.result()
        return None


async def _unbroken(first: bytes, speech: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """Yield PCM, and silence while there is none."""
    yield first
    piece = asyncio.ensure_future(anext(speech, None))
    try:
        while True:
            if (await asyncio.wait((piece,), timeout=AnnouncementTimeouts.pause))[0]:
                if (pcm := piece.result()) is None:
                    return
                yield pcm
                piece = asyncio.ensure_future(anext(speech, None))
            else:
                yield bytes(2 * round(DOWNLINK.sample_rate * AnnouncementTimeouts.pause))
    finally:
        piece.cancel()
        await asyncio.gather(piece, return_exceptions=True)
