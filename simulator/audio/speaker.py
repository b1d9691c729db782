"""The downlink: a short queue, a decoder and a loudspeaker that plays in real time.

Source: the firmware's `audio_service.cc`.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from ..board.pace import Pace
from .opus import FRAME_SAMPLES, UPLINK_RATE, OpusDecoder, OpusEncoder, OpusError, packet_duration

_PLAYBACK_QUEUE: Final = 2
# The sound of an alert: 0.84 s.
_ALERT_PACKETS: Final = 14
# The pop-up sound: 0.54 s.
_POPUP_PACKETS: Final = 9
_RATES: Final = frozenset({8000, 12000, 16000, 24000, 48000})
_DURATIONS: Final = frozenset({5, 10, 20, 40, 60, 80, 100, 120})


@dataclass(frozen=True, slots=True)
class Played:
    """A frame that the loudspeaker began to play."""

    time: float
    """Seconds of the event loop."""
    pcm: bytes
    """Mono, 16 bits, at the loudspeaker's rate."""


@dataclass(frozen=True, slots=True)
class _Packet:
    payload: bytes
    rate: int
    duration: int
    """Milliseconds, as the server's hello declared them."""
    own: bool = False
    """Whether it belongs to a sound of the device, not to the server's audio."""
    begun: Callable[[Played], None] | None = None
    """Called when it begins to sound."""


class Speaker:
    """Plays the packets of the server, and counts those that are lost."""

    def __init__(
        self,
        rate: int,
        queue: int,
        pace: Pace,
        changed: Callable[[], None],
        sounds: Callable[[bytes, int], None] = lambda _pcm, _rate: None,
    ) -> None:
        """`rate` is the codec's in Hz; `queue` packets may wait to be decoded.

        `changed` is called after every packet and frame, `sounds` with each frame that is played and `rate`.
        """
        self.rate = rate
        self.queue = queue
        """Packets that may wait to be decoded."""
        self.played: list[Played] = []
        self.answers: list[list[float]] = []
        """Arrival times of the packets of each answer, in seconds of the event loop."""
        self.dropped = 0
        """Packets that found the queue full."""
        self.failed = 0
        """Packets that did not decode, or held more than the declared duration."""
        self.ignored = 0
        """Packets that came while the device was not speaking."""
        self.flushed = 0
        """Packets that were dropped at the start of an answer or of listening."""
        self.short = 0
        """Packets that held less than the declared duration; the rest of their time is silent."""
        self.own_seconds = 0.0
        """Duration of the device's own sounds, which are not in `played`."""
        self._pace = pace
        self._changed = changed
        self._sounds = sounds
        self._decoder = OpusDecoder(rate)
        self._packets: deque[_Packet] = deque()
        self._blocked: deque[_Packet] = deque()
        """Packets that the network task holds while it waits for room in the queue."""
        self._waiting: deque[tuple[_Packet, asyncio.Future[bool]]] = deque()
        """Packets of other tasks that wait for room in the queue."""
        self._network_was_last = False
        self._format = (0, 0)
        self._sounding = False
        self._frames: deque[tuple[bytes, _Packet]] = deque()
        self._work = asyncio.Event()

    @property
    def played_pcm(self) -> bytes:
        """All played sound, without the pauses."""
        return b"".join(frame.pcm for frame in self.played)

    @property
    def played_seconds(self) -> float:
        """Duration of all played sound."""
        return sum(len(frame.pcm) for frame in self.played) / 2 / self.rate

    @property
    def empty(self) -> bool:
        """Whether the queue is empty; the last frame may still be playing."""
        return not self._packets and not self._frames and not self._blocked

    @property
    def idle(self) -> bool:
        """Whether the queue is empty, and nothing sounds any more."""
        return self.empty and not self._sounding

    def intervals(self, first_answer: int = 0) -> list[float]:
        """Return the seconds between packets that arrived one after the other in the same answer."""
        answers = self.answers[first_answer:]
        return [later - earlier for answer in answers for earlier, later in pairwise(answer)]

    def late_percent(self, threshold: float = 0.065, first_answer: int = 0) -> float:
        """Return the percentage of the intervals that were longer than `threshold` seconds."""
        intervals = self.intervals(first_answer)
        late = sum(interval > threshold for interval in intervals)
        return 100 * late / len(intervals) if intervals else 0.0

    def flush(self) -> None:
        """Clear the queue and reset the decoder, as at the start of an answer."""
        waiting = [*self._packets, *(packet for _, packet in self._frames)]
        self.flushed += sum(not packet.own for packet in waiting)
        self._packets.clear()
        self._frames.clear()
        self._decoder = OpusDecoder(self.rate)
        while self._waiting:
            queued = self._waiting.popleft()[1]
            if not queued.done():
                queued.set_result(False)

    def begin_answer(self) -> None:
        """Count the arrivals from here on as a new answer."""
        self.answers.append([])

    def alert(self) -> None:
        """Queue the sound of an alert. The network task waits until there is room for all of it."""
        self._play_own(_ALERT_PACKETS)

    def popup(self) -> None:
        """Queue the pop-up sound."""
        self._play_own(_POPUP_PACKETS)

    def _play_own(self, packets: int) -> None:
        encoder = OpusEncoder()
        for _ in range(packets):
            packet = encoder.encode(b"\x00\x10\x00\xf0" * (FRAME_SAMPLES // 2))
            self._blocked.append(_Packet(packet, UPLINK_RATE, 60, own=True))
        self._decode_ahead()
        self._work.set()
        self._changed()

    def push(self, payload: bytes, rate: int, duration: int, *, on_network_task: bool = False) -> None:
        """Queue a packet; if the queue is full, it is dropped.

        A packet `on_network_task` waits behind an alert that itself waits for room.
        """
        if self.answers:
            self.answers[-1].append(asyncio.get_running_loop().time())
        self._decode_ahead()
        if on_network_task and self._blocked:
            self._blocked.append(_Packet(payload, rate, duration))
            return
        if len(self._packets) >= self.queue:
            self.dropped += 1
            return
        self._packets.append(_Packet(payload, rate, duration))
        self._work.set()
        # A packet that cannot be decoded causes no other event.
        self._changed()

    async def push_waiting(
        self, payload: bytes, rate: int, duration: int, begun: Callable[[Played], None]
    ) -> bool:
        """Queue a packet as soon as there is room; False if the queue is cleared before.

        `begun` is called when it begins to sound.
        """
        queued: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((_Packet(payload, rate, duration, begun=begun), queued))
        self._decode_ahead()
        self._work.set()
        self._changed()
        return await queued

    async def run(self) -> None:
        """Play the queue until cancelled."""
        loop = asyncio.get_running_loop()
        due = 0.0
        while True:
            self._decode_ahead()
            if not self._frames:
                self._work.clear()
                self._sounding = False
                self._changed()
                await self._work.wait()
                continue
            pcm, packet = self._frames.popleft()
            self._sounding = True
            seconds = packet.duration / 1000
            self._sounds(pcm, self.rate)
            self._decode_ahead()
            if packet.own:
                self.own_seconds += seconds
            else:
                frame = Played(loop.time(), pcm)
                self.played.append(frame)
                if packet.begun is not None:
                    packet.begun(frame)
            self._changed()
            due = max(due, loop.time()) + seconds / self._pace.downlink
            await asyncio.sleep(due - loop.time())

    def _decode_ahead(self) -> None:
        self._admit()
        while self._packets and len(self._frames) < _PLAYBACK_QUEUE:
            packet = self._packets.popleft()
            if pcm := self._decode(packet):
                self._frames.append((pcm, packet))
            self._admit()

    def _admit(self) -> None:
        while (self._blocked or self._waiting) and len(self._packets) < self.queue:
            # Several tasks that wait for room take turns, so that their sounds are mixed packet by packet.
            self._network_was_last = bool(self._blocked) and not (self._waiting and self._network_was_last)
            if self._network_was_last:
                self._packets.append(self._blocked.popleft())
                continue
            packet, queued = self._waiting.popleft()
            self._packets.append(packet)
            if not queued.done():
                queued.set_result(True)

    def _decode(self, packet: _Packet) -> bytes:
        """Return the PCM of the declared duration, or nothing."""
        pcm = b""
        if self._format != (packet.rate, packet.duration):
            self._format = packet.rate, packet.duration
            self._decoder = OpusDecoder(self.rate)
        has_decoder = packet.rate in _RATES and packet.duration in _DURATIONS
        try:
            duration = packet_duration(packet.payload)
            if has_decoder and duration <= packet.duration:
                pcm = self._decoder.decode(packet.payload)
        except OpusError:
            duration = 0
        if not pcm:
            self.failed += 1
            return b""
        if duration < packet.duration:
            self.short += 1
            pcm += bytes(2 * int(self.rate * (packet.duration - duration) / 1000))
        return pcm
