"""The device's loudspeaker: answers at the pace of its play queue, and the sounds of alerts between them.

Source: `main/application.cc` and `main/audio/audio_service.cc` of the firmware.
"""

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable
from typing import Final

from ...util.event_loop import log_failure, loop_time, sleep_until
from ..audio.opus_codec import OpusEncoder
from ..audio.pacing import DownlinkPacer
from ..messages import DOWNLINK, JsonObject, tts_start, tts_stop
from ..timeouts import ConversationTimeouts
from ..transport.link import Link, LinkClosedError, LinkKind
from .readiness import MainTask, SpeechStart

_FRAME: Final = DOWNLINK.frame_duration / 1000
# Audio on UDP and control on MQTT are unordered: a stop must not overtake the last packets.
_UNORDERED_MARGIN: Final = 0.25
# Jitter and the loudspeaker's buffers delay the computed end of playback.
_PLAYBACK_MARGIN: Final = 0.25
# Time between `tts start` and `tts stop`, for the device to act on the first.
_SETTLED: Final = 0.3
# An alert plays 14 packets of 60 ms through the queue that speech goes through.
_ALERT_SECONDS: Final = 0.85


class Loudspeaker:
    """The loudspeaker of a device while a channel is open. Sending raises `LinkClosedError`."""

    def __init__(self, link: Link, main_task: MainTask, *, cuts_speech_at_stop: bool) -> None:
        """Play on a link; some firmware drops its queue at `tts stop`."""
        self._link = link
        self._main_task = main_task
        self._cuts_speech_at_stop = cuts_speech_at_stop
        self._pacer = DownlinkPacer()
        self._starting: asyncio.Task[float] | None = None
        """Waits until the device plays; the result is the time at which it began."""
        self._start_sent = True
        """Whether `tts start` is sent, so that `tts stop` has a meaning."""
        self._speaking = False
        self.held_up = False
        """Whether there is speech that the device does not take yet."""
        self._alerts: list[tuple[JsonObject, asyncio.Future[bool]]] = []
        """Waiting alerts, each with a future that tells whether it was shown."""
        self.text_complete = False
        """Whether the text of the answer is complete: until then, its assistant may show an alert."""

    @property
    def silent_since(self) -> float | None:
        """Loop time at which the device has played the answer; None if nothing was sent."""
        return self._pacer.playback_end or None

    async def start(self) -> None:
        """Make the device ready to speak; `play` waits until it is.

        While it runs a tool, nothing is sent: it would act on `tts start` later, which could not be undone.
        """
        self.close()
        self._speaking = self.text_complete = False
        # The device throws away its queue.
        self._pacer = DownlinkPacer()
        self._start_sent = not self._main_task.running
        work = (await self._send_start()).wait_taken() if self._start_sent else self._start_when_free()
        self._starting = asyncio.create_task(work, name="start of an answer")
        self._starting.add_done_callback(log_failure)

    def withdraw(self) -> None:
        """Do not send `tts start` if it is not sent yet: it would switch the microphone off."""
        if not self._start_sent:
            self.close()

    def close(self) -> None:
        """Stop getting the device ready."""
        if self._starting is not None:
            self._starting.cancel()
            self._starting = None

    def end(self) -> None:
        """Note that the channel is gone; `take_alerts` before if they can be shown without one."""
        self.close()
        self.take_alerts(shown=False)

    async def play(
        self, speech: AsyncIterable[bytes], before_packet: Callable[[float], Awaitable[None]]
    ) -> None:
        """Play 16-bit mono PCM, paced by the clock; returns when all is sent.

        `before_packet` is awaited before each packet with the seconds of speech sent so far.
        """
        seconds = 0.0
        async for packets in OpusEncoder().encode_all(speech):
            for packet in packets:
                await self._wait_ready()
                await sleep_until(self._pacer.next_send_time())
                if late := await self._link.wait_received():
                    self._pacer.add_sound(loop_time(), late * _FRAME)
                    await sleep_until(self._pacer.next_send_time())
                await before_packet(seconds)
                self._speaking = True
                if (trace := self._link.trace) is not None:
                    late = round(1000 * (loop_time() - self._pacer.next_send_time()))
                    trace.packet("down", packet, late=max(0, late), held=self._link.held)
                await self._link.send_audio(packet)
                self._pacer.add_sound(loop_time())
                seconds += _FRAME

    async def _start_when_free(self) -> float:
        await self._main_task.wait_free()
        return await (await self._send_start()).wait_taken()

    async def _send_start(self) -> SpeechStart:
        # Counted from before the message is sent: a call that is sent meanwhile follows it.
        start = SpeechStart(self._main_task)
        self._start_sent = True
        await self._link.send(tts_start())
        return start

    async def _wait_ready(self) -> None:
        if (starting := self._starting) is None:
            return
        self.held_up = True
        try:
            await asyncio.wait((starting,))
        finally:
            self.held_up = False
        if starting is self._starting:
            self._starting = None
            self._pacer.start(starting.result())

    async def alert(self, message: JsonObject) -> None:
        """Show an alert, which makes a sound: at once, or after the answer that is being spoken.

        In the middle of an answer the next sentence would replace its text, and its sound would interrupt
        one. Returns when it is shown; an answer does not wait for the end of its own alert.
        """
        if self._speaking:
            shown = asyncio.get_running_loop().create_future()
            self._alerts.append((message, shown))
            if self.text_complete and not await shown:
                raise LinkClosedError("the conversation is over")
        else:
            await self._send_alert(message)

    def take_alerts(self, *, shown: bool = True) -> list[JsonObject]:
        """Return the alerts that still wait, to show them now, or unless `shown` to forget them."""
        waiting, self._alerts = self._alerts, []
        for _, result in waiting:
            if not result.done():
                result.set_result(shown)
        return [message for message, _ in waiting]

    async def wait_played(self) -> None:
        """Wait until the device has played all that was sent, by the clock, before its channel ends.

        Then alerts are shown for long enough to be read. The end of the channel clears the screen: where
        alerts can be shown after it, they are left for `take_alerts`.
        """
        await self.wait_silent()
        if self._link.stays_connected:
            return
        while self._alerts:
            await self._show_alerts()
            await asyncio.sleep(ConversationTimeouts.reading)
        self._speaking = False

    async def wait_stoppable(self) -> None:
        """Show the alerts that wait, and wait until `tts stop` cuts nothing and is acted on at once."""
        await self._wait_ready()
        if self._alerts:
            await self.wait_silent()
            await self._show_alerts()
        if self._cuts_speech_at_stop:
            await self.wait_silent()
        elif self._link.kind is LinkKind.MQTT:
            await asyncio.sleep(_UNORDERED_MARGIN)
        await self._main_task.wait_free()

    async def stop(self) -> None:
        """Make the device stop at once."""
        self._speaking = False
        if self._starting is not None and self._start_sent:
            # Both messages in one pass of its main loop would leave the microphone without `listen start`.
            await asyncio.wait((self._starting,), timeout=_SETTLED)
        self.close()
        if self._start_sent:
            await self._link.send(tts_stop())

    async def _show_alerts(self) -> None:
        for message in self.take_alerts():
            await self._send_alert(message)
        await self.wait_silent()

    async def _send_alert(self, message: JsonObject) -> None:
        await self._link.send(message)
        self._pacer.add_sound(loop_time(), _ALERT_SECONDS)

    async def wait_silent(self) -> None:
        """Wait until the device has played all that was sent, by the clock."""
        await sleep_until(self._pacer.playback_end + _PLAYBACK_MARGIN)
