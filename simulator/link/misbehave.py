"""Faults that a device can be made to have, for tests of a server."""

from collections import deque
from collections.abc import Awaitable, Callable
from enum import StrEnum
import random
from typing import Final

from ..board.cjson import dumps
from ..board.tools import Tool
from .websocket_frames import Opcode

type SendRaw = Callable[[Opcode, bytes], Awaitable[bool]]


class Misbehaviour(StrEnum):
    """Something that a device does wrong on request."""

    BROKEN_CHECK_IN = "broken-check-in"
    """Uses a network with a quote in its name, so that the check-in's body is not JSON."""
    DEAF_TO_PHRASES = "deaf-to-phrases"
    """Cannot start MultiNet, so that no phrase of its pack wakes it."""
    SECOND_HELLO = "second-hello"
    """Sends its hello again in the middle of the conversation."""
    BINARY_BEFORE_HELLO = "binary-before-hello"
    """Sends audio before its hello."""
    OVERSIZE_TEXT = "oversize-text"
    """Sends a text of 200 kB."""
    GARBAGE_JSON = "garbage-json"
    """Sends texts that are not JSON, are not objects, or are nested 5,000 deep."""
    WRONG_TYPES = "wrong-types"
    """Sends messages whose fields have wrong types."""
    UNKNOWN_TYPES = "unknown-types"
    """Sends messages of types that do not exist."""
    OPUS_GARBAGE = "opus-garbage"
    """Sends random bytes instead of Opus."""
    STOP_READING = "stop-reading"
    """Does not read from the connection once the conversation is open."""
    NEVER_ANSWER_MCP = "never-answer-mcp"
    """Answers no MCP request."""
    THOUSAND_TOOLS = "thousand-tools"
    """Lists 1,000 tools."""
    LOOPING_CURSOR = "looping-cursor"
    """Returns the same page of tools for every cursor."""
    STATUS_NOT_JSON = "status-not-json"
    """Answers `self.get_device_status` with a text that is not JSON."""
    DROP_MID_SENTENCE = "drop-mid-sentence"
    """Loses its TCP connection after one second of sound."""
    NO_AUDIO = "no-audio"
    """Starts listening, and sends no audio."""
    FLOOD = "flood"
    """Sends 5,000 messages as fast as it can."""
    WRONG_PASSWORD = "wrong-password"  # noqa: S105 - a name
    """Connects to MQTT with another password than it was given."""
    MQTT_GARBAGE = "mqtt-garbage"
    """Sends random bytes once its MQTT connection is accepted."""
    MQTT_GIANT_LENGTH = "mqtt-giant-length"
    """Announces an MQTT packet of 256 MB once its connection is accepted."""
    FOREIGN_TOPIC = "foreign-topic"
    """Publishes to another topic than it was given."""
    NEVER_PING = "never-ping"
    """Sends no keep-alive on its MQTT connection."""
    UDP_REPLAY = "udp-replay"
    """Sends every datagram again ten datagrams later."""
    UDP_FORGERY = "udp-forgery"
    """Another host sends datagrams with its connection id, without knowing its key."""
    UDP_UNKNOWN = "udp-unknown"
    """Sends, with every datagram, one with an unknown connection id."""


_DROP_AFTER_PACKETS: Final = 17
_REPLAY_DISTANCE: Final = 10

_WRONG_TYPES: Final = (
    {"type": 7},
    {"type": "listen", "state": 1},
    {"type": "listen", "state": "start", "mode": ["auto"]},
    {"type": "listen", "state": "detect", "text": {"a": 1}},
    {"type": "abort", "reason": 5},
    {"type": "mcp", "payload": "text"},
    {"type": "mcp", "payload": {"jsonrpc": "2.0", "id": "1", "result": []}},
    {"type": "mcp", "payload": {"jsonrpc": "2.0", "id": 1, "error": "no object"}},
)


class FaultInjector:
    """Injects the faults in `what`; without any, it changes nothing."""

    def __init__(self, *what: Misbehaviour) -> None:
        self.what: set[Misbehaviour] = set(what)
        self._random = random.Random(0)
        self._packets = 0
        self._sent: deque[bytes] = deque(maxlen=_REPLAY_DISTANCE)

    async def before_hello(self, send: SendRaw) -> None:
        """Inject faults before the hello is sent."""
        if Misbehaviour.BINARY_BEFORE_HELLO in self.what:
            await send(Opcode.BINARY, bytes(80))

    async def after_hello(self, send: SendRaw, hello: str) -> None:
        """Inject faults after the server's hello; `hello` is the device's."""
        self._packets = 0
        self._sent.clear()
        for text in self._texts(hello):
            await send(Opcode.TEXT, text)

    def _texts(self, hello: str) -> list[bytes]:
        texts: list[bytes] = []
        if Misbehaviour.SECOND_HELLO in self.what:
            texts.append(hello.encode())
        if Misbehaviour.OVERSIZE_TEXT in self.what:
            texts.append(dumps({"type": "listen", "state": "detect", "text": "x" * 200_000}).encode())
        if Misbehaviour.GARBAGE_JSON in self.what:
            texts += [b"{", b"nonsense", b"[1,2]", b'"text"', b"[" * 5000, b'{"type":"listen","state":"det']
        if Misbehaviour.WRONG_TYPES in self.what:
            texts += [dumps(message).encode() for message in _WRONG_TYPES]
        if Misbehaviour.UNKNOWN_TYPES in self.what:
            texts += [dumps({"type": f"unknown-{number}"}).encode() for number in range(20)]
        if Misbehaviour.FLOOD in self.what:
            texts += [dumps({"type": "flood", "number": number}).encode() for number in range(5000)]
        return texts

    def microphone_packet(self, packet: bytes) -> bytes | None:
        """Return the packet to send instead of a recorded one; None for none.

        Raises `ConnectionResetError` when the device is to lose its connection.
        """
        self._packets += 1
        if Misbehaviour.DROP_MID_SENTENCE in self.what and self._packets == _DROP_AFTER_PACKETS + 1:
            raise ConnectionResetError("the connection is lost")
        if Misbehaviour.NO_AUDIO in self.what:
            return None
        if Misbehaviour.OPUS_GARBAGE in self.what:
            return self._random.randbytes(self._random.randrange(1, 200))
        return packet

    # MQTT and UDP

    def password(self, password: str) -> str:
        """Return the password to use instead."""
        return f"not {password}" if Misbehaviour.WRONG_PASSWORD in self.what else password

    def topic(self, topic: str) -> str:
        """Return the topic to publish to instead."""
        return f"{topic}/elsewhere" if Misbehaviour.FOREIGN_TOPIC in self.what else topic

    def after_connect(self) -> bytes:
        """Return bytes to send once the MQTT connection is accepted."""
        if Misbehaviour.MQTT_GIANT_LENGTH in self.what:
            return b"\x30\xff\xff\xff\x7f" + bytes(1000)
        return self._random.randbytes(1000) if Misbehaviour.MQTT_GARBAGE in self.what else b""

    def datagrams(self, datagram: bytes) -> list[bytes]:
        """Return the datagrams to send instead of one."""
        datagrams = [datagram]
        if Misbehaviour.UDP_REPLAY in self.what:
            if len(self._sent) == _REPLAY_DISTANCE:
                datagrams.append(self._sent[0])
            self._sent.append(datagram)
        if Misbehaviour.UDP_UNKNOWN in self.what:
            datagrams.append(datagram[:4] + self._random.randbytes(4) + datagram[8:])
        return datagrams

    def stranger_datagrams(self, datagram: bytes) -> list[bytes]:
        """Return the datagrams that another address sends just before one."""
        if Misbehaviour.UDP_FORGERY not in self.what:
            return []
        return [datagram[:16] + self._random.randbytes(len(datagram) - 16)]

    def tools(self, tools: list[Tool]) -> list[Tool]:
        """Return the tools to register instead of the board's."""
        if Misbehaviour.THOUSAND_TOOLS not in self.what:
            return tools
        return tools + [
            Tool(name=f"self.many.tool_{number}", description="One of very many tools. " * 10)
            for number in range(1000 - len(tools))
        ]

    def tool_text(self, name: str) -> str | None:
        """Return a text to answer instead of a tool's result; None for the result."""
        if Misbehaviour.STATUS_NOT_JSON in self.what and name == "self.get_device_status":
            return "volume: seventy"
        return None
