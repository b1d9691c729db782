"""The uplink: speech or silence at the microphone, and its Opus packets.

Source: the firmware's `audio_service.cc`.
"""

from array import array
import asyncio
from collections import deque
from collections.abc import Callable
import random
import struct
from typing import Final

from ..board.pace import Pace
from .opus import FRAME_SAMPLES, UPLINK_RATE, OpusEncoder, encode_sound

_FRAME_SECONDS: Final = FRAME_SAMPLES / UPLINK_RATE
_FRAME_BYTES: Final = FRAME_SAMPLES * 2
# 120 ms after the microphone goes on.
_WARM_UP_FRAMES: Final = 2
_SEND_QUEUE: Final = 40
# A microphone that is off hears nothing.
_LATEST_ECHOES: Final = 2


class Voice:
    """Sound for the microphone: utterances one after the other, then silence.

    The user speaks when the device listens: an utterance begins once the microphone is on and has warmed up.
    When the microphone goes off, the rest of the utterance is lost.
    """

    def __init__(
        self,
        noise: int = 0,
        echo: float = 0.0,
        said: Callable[[], None] = lambda: None,
        begun: Callable[[], None] = lambda: None,
    ) -> None:
        """`noise` is the standard deviation of the samples of the background noise; 0 is silence.

        `echo` is the share of the loudspeaker's sound, which `play` takes, that the microphone hears.

        `said` is called whenever there is nothing left to say, `begun` when the first 60 ms of an utterance
        have been heard.
        """
        self._said = said
        self._begun = begun
        self._noise = b""
        if noise:
            source = random.Random(0)
            samples = [round(source.gauss(0, noise)) for _ in range(UPLINK_RATE)]
            self._noise = struct.pack(f"<{len(samples)}h", *samples)
        self._noise_position = 0
        self._echo = echo
        self._echoes: deque[array[int]] = deque(maxlen=_LATEST_ECHOES)
        self._utterances: deque[bytes] = deque()
        self._current = b""
        self.room: Callable[[int], bytes] | None = None
        """Returns so many bytes of live sound, which is heard instead of the background noise."""
        self.packets: deque[list[tuple[float, bytes]]] = deque()
        """Opus packets to send in place of what is said, for each time that the microphone is on.

        Each has the seconds since then.
        """
        self.spoken = asyncio.Event()
        """Set while there is nothing left to say."""
        self.spoken.set()

    def say(self, pcm: bytes) -> None:
        """Say 16 kHz mono PCM of 16 bits after what is already waiting to be said."""
        if pcm:
            self._utterances.append(pcm)
            self.spoken.clear()

    def play(self, pcm: bytes, rate: int) -> None:
        """Take a frame that the loudspeaker plays: mono PCM of 16 bits at a rate in Hz."""
        if self._echo:
            played = array("h", pcm)
            samples = range(len(played) * UPLINK_RATE // rate)
            self._echoes.append(
                array("h", [round(self._echo * played[i * rate // UPLINK_RATE]) for i in samples])
            )

    def next_frame(self) -> bytes:
        """Return the next 60 ms."""
        if not self._current and self._utterances:
            self._current = self._utterances.popleft()
            self._begun()
        frame, self._current = self._current[:_FRAME_BYTES], self._current[_FRAME_BYTES:]
        self._look_for_end()
        return self._with_echo(frame + self._background(_FRAME_BYTES - len(frame)))

    def _with_echo(self, frame: bytes) -> bytes:
        if not self._echoes:
            return frame
        echo = self._echoes.popleft()[:FRAME_SAMPLES]
        mixed = array("h", frame)
        for i, sample in enumerate(echo):
            mixed[i] = max(-32768, min(32767, mixed[i] + sample))
        return mixed.tobytes()

    def cut_off(self) -> None:
        """Drop the rest of the utterance that is being said."""
        self._current = b""
        self._look_for_end()

    def _look_for_end(self) -> None:
        if not self._current and not self._utterances and not self.spoken.is_set():
            self.spoken.set()
            self._said()

    def _background(self, size: int) -> bytes:
        if self.room is not None:
            return self.room(size)
        if not self._noise:
            return bytes(size)
        start = self._noise_position
        self._noise_position = (start + size) % (len(self._noise) - _FRAME_BYTES)
        return self._noise[start : start + size]


class Microphone:
    """Encodes the voice in real time into a queue of 40 packets, which drops its oldest."""

    def __init__(self, voice: Voice, pace: Pace, captured: Callable[[], None]) -> None:
        """`captured` is called for every packet that is put into `packets`."""
        self.packets: deque[bytes] = deque(maxlen=_SEND_QUEUE)
        self._voice = voice
        self._pace = pace
        self._captured = captured
        self._encoder = OpusEncoder()
        self._on = asyncio.Event()
        self._pending: bytes | None = None

    @property
    def on(self) -> bool:
        """Whether it records."""
        return self._on.is_set()

    def switch_on(self) -> None:
        """Start recording; the first 120 ms are discarded."""
        self._on.set()

    def switch_off(self) -> None:
        """Stop recording. Recorded sound that is not yet encoded is still sent."""
        if not self.on:
            return
        self._on.clear()
        self._voice.cut_off()
        if self._pending is not None:
            self._put(self._pending)
            self._pending = None

    def wake_audio(self, pcm: bytes) -> list[bytes]:
        """Encode the wake word: its last two seconds, at most 33 packets."""
        return encode_sound(pcm[-33 * _FRAME_BYTES :])

    async def run(self) -> None:
        """Record whenever it is switched on."""
        loop = asyncio.get_running_loop()
        period = _FRAME_SECONDS / self._pace.uplink
        while True:
            await self._on.wait()
            if self._voice.packets:
                await self._send_recorded(self._voice.packets.popleft())
                due = loop.time()
            else:
                due = loop.time() + period * _WARM_UP_FRAMES
                await asyncio.sleep(due - loop.time())
            while self.on:
                due += period
                await asyncio.sleep(due - loop.time())
                if self.on:
                    self._record()

    async def _send_recorded(self, packets: list[tuple[float, bytes]]) -> None:
        begun = asyncio.get_running_loop().time()
        for seconds, packet in packets:
            await asyncio.sleep(begun + seconds - asyncio.get_running_loop().time())
            if not self.on:
                return
            self.packets.append(packet)
            self._captured()

    def _record(self) -> None:
        if self._pending is not None:
            self._put(self._pending)
        self._pending = self._voice.next_frame()

    def _put(self, pcm: bytes) -> None:
        self.packets.append(self._encoder.encode(pcm))
        self._captured()
