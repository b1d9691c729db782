"""The interface between a device's control connection and the code that talks to the device.

A *link* is one live control connection. An *audio channel* is open on it while a conversation lasts: on a
WebSocket both begin and end together, over MQTT the link outlives many channels.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
import logging
from math import inf
import secrets
from typing import Any, ClassVar, Protocol

from ...util.event_loop import LogAndGoOn
from ...util.limits import FloodGuard, LinkCounters
from ..messages import MAX_MESSAGE_BYTES, DeviceHello, DeviceMessage, JsonObject, MessageError, parse_message
from ..trace import Trace

_LOGGER = logging.getLogger(__name__)


class LinkClosedError(ConnectionError):
    """The link or its audio channel is closed, or the device no longer accepts data."""


class LinkKind(StrEnum):
    """How a device is connected."""

    WEBSOCKET = "websocket"
    MQTT = "mqtt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """The unverified credentials of a connecting device."""

    mac: str
    """Lower case with colons."""
    client_id: str
    token: str
    remote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """An open audio channel."""

    session_id: str = field(default_factory=lambda: secrets.token_hex(16))
    hello: DeviceHello


class LinkHandler:
    """Handles the events of one link, in order, on the event loop; this one ignores them.

    Its methods must not block. Their errors are logged, and do not end the link.
    """

    def channel_opened(self, channel: Channel) -> None:
        """The hellos are exchanged; audio and messages of a conversation follow."""

    def message_received(self, message: DeviceMessage) -> None:
        """A well-formed message other than hello and goodbye arrived."""

    def message_too_long(self) -> None:
        """A message arrived that is longer than allowed. Its content is unknown."""

    def audio_received(self, packet: bytes, missing: int) -> None:
        """An Opus packet arrived, empty for silence; `missing` packets before it are known to be lost."""

    def channel_closed(self, reason: str) -> None:
        """The conversation is over. Comes once for every `channel_opened`, before `link_closed`."""

    def link_closed(self, reason: str) -> None:
        """The link is gone. Comes once, and nothing follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """A listener's permission to talk to an authenticated device."""

    attach: Callable[[Link], LinkHandler]
    """Has the device take over the link when it is up."""
    pings_safe: bool
    """Whether the device's firmware survives WebSocket pings (since v1.9.0)."""
    text_limit: int | None = None
    """Safe size of a WebSocket text frame for the firmware, in bytes; None for any."""


class KnownDevices(Protocol):
    """The paired devices, which are let in."""

    def admit(self, credentials: Credentials, kind: LinkKind, /) -> Admission | None:
        """Decide on a connection, and compare the token in constant time.

        The client id is that of MQTT, or the header.
        """

    def admit_from_broker(self, mac: str) -> Admission | None:
        """Decide by the MAC in the topic; only the broker can check that the sender is that device."""

    def probed_macs(self) -> Iterable[str]:
        """Return the MACs that may be probed at any time."""

    def address_for(self, mac: str) -> str | None:
        """Return the host name or IPv4 address under which a device reaches our audio, if that is known."""


class Link(ABC):
    """One live control connection of one device.

    Sending raises `LinkClosedError` when the device is gone or does not accept data. The attached
    `LinkHandler` receives.
    """

    kind: ClassVar[LinkKind]
    stays_connected: ClassVar[bool]
    """Whether the device keeps this kind of link open between conversations."""

    def __init__(self) -> None:
        self.counters = LinkCounters()
        self._guard = FloodGuard()
        self._go_on = LogAndGoOn(_LOGGER, "Unexpected error on the link of a device")
        self._handler = LinkHandler()
        self._channel: Channel | None = None
        self._ended: str | None = None
        self.trace: Trace | None = None

    @property
    def notices_loss(self) -> bool:
        """Whether the link ends by itself some time after the device is gone."""
        return True

    @property
    def pinged_at(self) -> float:
        """`loop_time` of the device's last ping, where that counts."""
        return -inf

    @property
    def held(self) -> int:
        """Bytes that were sent and have not arrived, if the link knows that."""
        return 0

    @property
    @abstractmethod
    def remote(self) -> str:
        """IP address of the device as seen on this link."""

    @property
    def channel(self) -> Channel | None:
        """The open audio channel, if any."""
        return self._channel

    def message_too_long(self) -> None:
        """Note that the device has sent a message that is longer than allowed."""
        self._tell(self._handler.message_too_long)

    def statistics(self) -> dict[str, Any]:
        """Return counters of the link, for diagnostics."""
        return asdict(self.counters)

    @abstractmethod
    async def send(self, message: JsonObject) -> None:
        """Send one JSON message of `messages`."""

    @abstractmethod
    async def send_audio(self, packet: bytes) -> None:
        """Send one Opus packet of the format `DOWNLINK`."""

    async def wait_received(self) -> int:
        """Wait while the network holds back much of the audio, as in a hole of the Wi-Fi.

        Returns how many packets reach the device all at once then; 0 if there was nothing to wait for.
        """
        return 0

    @abstractmethod
    async def close_channel(self) -> None:
        """End the conversation; the device goes idle. Does nothing when none is open."""

    @abstractmethod
    async def close(self, reason: str) -> None:
        """Close the link. Does nothing when it is closed already."""

    def attach(self, admission: Admission) -> None:
        """Let the handler of the device take this link over, which is up."""
        self._handler = admission.attach(self)

    def _parse(self, data: bytes, now: float) -> DeviceMessage | None:
        """Count and parse a message; a malformed one is dropped. Raises `FloodError`."""
        self.counters.bytes_in += len(data)
        self._guard.message(now, len(data))
        if len(data) > MAX_MESSAGE_BYTES:
            self.message_too_long()
        try:
            message = parse_message(data)
        except MessageError as err:
            self._drop(err, now)
            return None
        self.counters.messages_in += 1
        return message

    def _sent(self, message: JsonObject) -> None:
        self.counters.messages_out += 1
        if self.trace is not None:
            self.trace.sent(message)

    def _count_unknown(self, message: DeviceMessage) -> None:
        if not self.counters.unknown:
            _LOGGER.debug("The device at %s sends messages unknown here: %r", self.remote, message)
        self.counters.unknown += 1

    def _drop(self, reason: object, now: float) -> None:
        self.counters.malformed += 1
        _LOGGER.debug("Dropped what the device at %s sent: %s", self.remote, reason)
        self._guard.malformed(now)

    @property
    def lost(self) -> bool:
        """Whether it has ended, although the device keeps this kind of link."""
        return self.stays_connected and self._ended is not None

    def _end_channel(self, reason: str) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            self._tell(self._handler.channel_closed, reason)

    def _end(self, reason: str) -> None:
        """Note that the device can no longer be reached. Does nothing when the link has ended already."""
        if self._ended is not None:
            return
        self._ended = reason
        self._end_channel(reason)
        self._tell(self._handler.link_closed, reason)

    def _tell[**EventP](self, event: Callable[EventP, None], *of: EventP.args, **to: EventP.kwargs) -> bool:
        """Call a method of the handler, whose errors do not end the link. Returns whether there was none."""
        with self._go_on:
            event(*of, **to)
            return True
        return False
