"""Base of both transports. Source: the firmware's `protocols/protocol.h` and `protocol.cc`."""

from abc import ABC, abstractmethod
import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Protocol

from ..board.cjson import JsonObject, find, int_value, is_number
from ..board.nvs import Nvs
from ..board.pace import Pace
from ..board.profile import Profile
from ..board.recorder import Recorder
from ..board.system_info import Identity
from .misbehave import FaultInjector
from .network import Network
from .websocket_frames import Opcode

_STALE_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class AudioPacket:
    """An Opus packet from the server with the format that its hello declared."""

    payload: bytes
    sample_rate: int
    frame_duration: int


class TransportListener(Protocol):
    """Receives the events of a transport, on the network task. Must not block."""

    def message_received(self, message: JsonObject) -> None:
        """A JSON object other than a hello arrived."""

    def audio_received(self, packet: AudioPacket) -> None:
        """A packet arrived."""

    def channel_closed(self) -> None:
        """The audio channel is gone."""

    def failed(self, error: str) -> None:
        """A failure: the device should show the error and go idle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportContext:
    """The parts of the device and its application that a transport uses."""

    profile: Profile
    identity: Identity
    nvs: Nvs
    pace: Pace
    network: Network
    recorder: Recorder
    faults: FaultInjector
    listener: TransportListener
    charset: Callable[[], str]
    """The characters of the font that it uses."""
    idle: Callable[[], bool]
    """Whether the device is idle."""
    schedule: Callable[[Callable[[], Coroutine[Any, Any, None]]], None]
    """Has the main task run a job."""
    spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
    """Starts a task that ends with the device."""


class Transport(ABC):
    """One of the two ways to a server. All sending is done by the main task."""

    name: ClassVar[str]

    def __init__(self, context: TransportContext) -> None:
        self._profile = context.profile
        self._identity = context.identity
        self._nvs = context.nvs
        self._pace = context.pace
        self._network = context.network
        self._recorder = context.recorder
        self._faults = context.faults
        self._listener = context.listener
        self._charset = context.charset
        self._idle = context.idle
        self._schedule = context.schedule
        self._spawn = context.spawn
        self._failed = False
        self.session_id = ""
        """The session that the server's last hello named; goes into every message."""
        self._sample_rate = 24000
        self._frame_duration = 60
        self._hello = asyncio.Event()
        self._last_incoming = 0.0

    @abstractmethod
    async def start(self) -> None:
        """Start at the end of the activation."""

    @property
    @abstractmethod
    def connected(self) -> bool:
        """Whether there is a connection to the server, as far as the device knows."""

    @property
    @abstractmethod
    def channel_open(self) -> bool:
        """Whether there is a channel that is neither closed nor failed nor stale."""

    @abstractmethod
    async def open_channel(self) -> bool:
        """Open the audio channel; False after a failure, which the listener gets."""

    @abstractmethod
    async def close_channel(self) -> None:
        """Close it, if it is open."""

    @abstractmethod
    async def send_text(self, text: str) -> bool:
        """Send a JSON text; without a connection it is lost."""

    @abstractmethod
    async def send_audio(self, packet: bytes) -> bool:
        """Send an Opus packet; without a channel it is lost."""

    @abstractmethod
    async def send_raw(self, opcode: Opcode, payload: bytes) -> bool:
        """Send a payload as it is; False without a connection."""

    @abstractmethod
    def lose_connection(self) -> None:
        """Break the connection, as a failing network does."""

    @abstractmethod
    def shut_down(self) -> None:
        """End all connections before a restart."""

    @abstractmethod
    def power_off(self) -> None:
        """Drop all connections without telling the server."""

    @property
    def _stale(self) -> bool:
        return asyncio.get_running_loop().time() - self._last_incoming > _STALE_SECONDS * self._pace.waits

    def _fail(self, error: str) -> bool:
        self._failed = True
        self._listener.failed(error)
        return False

    def _read_hello(self, hello: JsonObject) -> None:
        """Keep the session and the audio format of the server's hello; the old ones where it names none."""
        if isinstance(session_id := find(hello, "session_id"), str):
            self.session_id = session_id
        audio = find(hello, "audio_params")
        if is_number(rate := find(audio, "sample_rate")):
            self._sample_rate = int_value(rate)
        if is_number(duration := find(audio, "frame_duration")):
            self._frame_duration = int_value(duration)

    def _deliver_audio(self, packet: bytes) -> None:
        self._listener.audio_received(AudioPacket(packet, self._sample_rate, self._frame_duration))
