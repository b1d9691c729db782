"""The JSON messages between device and server, typed.

Source: the firmware's `main/protocols/*.cc` and `main/application.cc`. Messages of the device are checked
field by field; an unknown field is ignored, an unknown type becomes an `UnknownMessage`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
import json
import re
from typing import Any, Final

from ..util.text import one_line, shortened
from ..util.untrusted_json import parse_json
from .faces import emoji_of

type JsonObject = dict[str, Any]

# The firmware refuses to send a larger message (main/protocols, 16-bit frame length).
MAX_MESSAGE_BYTES: Final = 65535
# Wake words and error texts are short; a longer one is cut, not refused.
_MAX_TEXT: Final = 500
_MAX_NAME: Final = 64
# Far more than a screen shows. The device has little memory, and copies a message more than once.
_MAX_SHOWN: Final = 2000
# The firmware does not escape an error's message (`mcp_server.cc`): a quote, a backslash or a line break in
# it makes the whole frame invalid. The members of its frames always have the same order.
_BROKEN_ERROR: Final = re.compile(
    r'\{"session_id":"[^"\\]{0,64}","type":"mcp","payload":'
    r'\{"jsonrpc":"2\.0","id":(\d{1,10}),"error":'
    r'\{(?:"code":-?\d{1,6},)?"message":"(.*)"\}\}\}',
    re.DOTALL,
)
# Pages make links of texts that begin with `www.`.
_IDENTIFIER: Final = re.compile(r"(?!_*www\.)[\w.-]{1,64}", re.IGNORECASE)


class MessageError(ValueError):
    """A malformed message from the device."""


@dataclass(frozen=True, slots=True)
class AudioFormat:
    """Format of one direction of an audio channel: Opus, mono."""

    sample_rate: int
    """Hz."""
    frame_duration: int
    """Milliseconds of audio in a packet."""

    @property
    def frame_samples(self) -> int:
        """Samples of a packet."""
        return self.sample_rate * self.frame_duration // 1000


DOWNLINK: Final = AudioFormat(sample_rate=24000, frame_duration=60)
"""Audio for devices. Of 148 boards, 137 play 24 kHz without resampling; their queue holds 40 packets."""


class ListenMode(StrEnum):
    """How the device decides when it listens."""

    AUTO = "auto"
    """Half duplex: the microphone is off while the device speaks."""
    MANUAL = "manual"
    """Push-to-talk: the device says when speech has ended."""
    REALTIME = "realtime"
    """Full duplex: the microphone streams all the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceHello:
    """Opens a conversation."""

    transport: str
    audio: AudioFormat
    supports_mcp: bool
    version: int = 1
    """On a WebSocket, how audio is framed: from 2 on with a header."""
    font: str | None = None
    """Bundle and character set of its font; None if it does not tell."""


@dataclass(frozen=True, slots=True)
class ConversationMessage:
    """A message of a device in a conversation."""

    session_id: str | None = field(default=None, kw_only=True, compare=False)
    """The device's current conversation from its point of view; empty before its first one."""


@dataclass(frozen=True, slots=True)
class ListenDetect(ConversationMessage):
    """The wake word, or another text that made the device start. Untrusted: for display only."""

    text: str


@dataclass(frozen=True, slots=True)
class ListenStart(ConversationMessage):
    """The microphone is about to stream."""

    mode: ListenMode


@dataclass(frozen=True, slots=True)
class ListenStop(ConversationMessage):
    """The push-to-talk button was released."""


@dataclass(frozen=True, slots=True)
class Abort(ConversationMessage):
    """The user interrupts, by the wake word or the button."""


@dataclass(frozen=True, slots=True)
class McpMessage:
    """A JSON-RPC object of the device's MCP server."""

    payload: JsonObject


@dataclass(frozen=True, slots=True)
class Goodbye:
    """The device ends the conversation (MQTT only)."""

    session_id: str | None


@dataclass(frozen=True, slots=True)
class UnknownMessage:
    """A message of an unknown type."""

    type: str


type DeviceMessage = (
    DeviceHello | ListenDetect | ListenStart | ListenStop | Abort | McpMessage | Goodbye | UnknownMessage
)

# Settings that the firmware's encoder allows; stock firmware uses only 60 ms.
_UPLINK_SAMPLE_RATES: Final = frozenset({8000, 12000, 16000, 24000, 48000})
_UPLINK_FRAME_DURATIONS: Final = frozenset({5, 10, 20, 40, 60, 80, 100, 120})
_HELLO_VERSIONS: Final = frozenset({1, 2, 3})


def parse_message(data: str | bytes) -> DeviceMessage:
    """Parse a text frame or MQTT payload from the device.

    Every text in the result can be encoded in UTF-8. Raises `MessageError` when the message is too large, not
    JSON, not an object, nested too deep or has a known type with wrong fields.
    """
    if len(data) > MAX_MESSAGE_BYTES:
        raise MessageError(f"message of {len(data)} bytes is over the limit of {MAX_MESSAGE_BYTES}")
    if isinstance(data, bytes):
        # Names of Wi-Fi networks may be any bytes.
        data = data.decode(errors="replace")
    try:
        message = parse_json(data)
    except ValueError as err:
        if (match := _BROKEN_ERROR.fullmatch(data)) is not None and int(match[1]) < 2**31:
            error = {"message": match[2]}
            return McpMessage({"jsonrpc": "2.0", "id": int(match[1]), "error": error})
        raise MessageError("message is not JSON, or nested too deep") from err
    if not isinstance(message, dict):
        raise MessageError("message is not a JSON object")
    kind = message.get("type")
    if not isinstance(kind, str):
        raise MessageError("message has no type")
    parser = _PARSERS.get(kind)
    return parser(message) if parser else UnknownMessage(one_line(kind, _MAX_NAME))


def _parse_hello(message: JsonObject) -> DeviceHello:
    audio = _object(message, "audio_params")
    features = _object(message, "features")
    return DeviceHello(
        transport=_text(message, "transport", _MAX_NAME) or "",
        audio=AudioFormat(
            sample_rate=_choice(audio, "sample_rate", _UPLINK_SAMPLE_RATES, 16000),
            frame_duration=_choice(audio, "frame_duration", _UPLINK_FRAME_DURATIONS, 60),
        ),
        supports_mcp=features.get("mcp") is True,
        version=_choice(message, "version", _HELLO_VERSIONS, 1),
        font=named_font(_object(message, "text_font")),
    )


def named_font(font: JsonObject) -> str | None:
    """Return bundle and character set of a font in a hello or the index of a pack."""
    words = identifier(font.get("bundle")), identifier(font.get("charset"))
    return " ".join(filter(None, words)) if all(words) else None


def identifier(value: Any) -> str | None:
    """Return a text that is one word, like names of boards and fonts; None for anything else."""
    return value if isinstance(value, str) and _IDENTIFIER.fullmatch(value) else None


def _parse_listen(message: JsonObject) -> ListenDetect | ListenStart | ListenStop:
    session_id = _session_id(message)
    match message.get("state"):
        case "detect":
            return ListenDetect(_text(message, "text", _MAX_TEXT) or "", session_id=session_id)
        case "start":
            # Programs leave out the one that stock firmware uses at first.
            mode = message.get("mode") or ListenMode.AUTO
            if mode not in list(ListenMode):
                raise MessageError("listen start has no known mode")
            return ListenStart(ListenMode(mode), session_id=session_id)
        case "stop":
            return ListenStop(session_id=session_id)
    raise MessageError("listen has no known state")


def _parse_mcp(message: JsonObject) -> McpMessage:
    payload = message.get("payload")
    if not isinstance(payload, dict):
        raise MessageError("mcp has no payload object")
    return McpMessage(payload)


_PARSERS: Final[dict[str, Callable[[JsonObject], DeviceMessage]]] = {
    "hello": _parse_hello,
    "listen": _parse_listen,
    "abort": lambda message: Abort(session_id=_session_id(message)),
    "mcp": _parse_mcp,
    "goodbye": lambda message: Goodbye(_text(message, "session_id", _MAX_NAME)),
}


def _object(message: JsonObject, key: str) -> JsonObject:
    value = message.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise MessageError(f"{key} is not an object")
    return value


def _text(message: JsonObject, key: str, limit: int) -> str | None:
    value = message.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise MessageError(f"{key} is not a text")
    return one_line(value, limit)


def _session_id(message: JsonObject) -> str | None:
    value = message.get("session_id")
    return value[:_MAX_NAME] if isinstance(value, str) else None


def _choice(message: JsonObject, key: str, choices: frozenset[int], default: int) -> int:
    value = message.get(key)
    if value is None:
        return default
    # Programs write "1", too.
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 6:
        value = int(value)
    if not isinstance(value, int | float) or isinstance(value, bool) or value not in choices:
        raise MessageError(f"{key} is not one of {sorted(choices)}")
    return int(value)


def encode(message: JsonObject) -> str:
    """Encode a message compactly: RAM is scarce on the device, and it copies every frame."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    # Half of a surrogate pair cannot be sent.
    return text.encode(errors="replace").decode()


# Members that are only shown, and so may be cut.
_TEXTS: Final = ("text", "message", "status")
_ELLIPSIS: Final = "…"


class MessageTooLongError(Exception):
    """A message is too long for the device and must not be cut."""


def encode_within(message: JsonObject, limit: int) -> str:
    """Encode a message in at most `limit` bytes of UTF-8, cutting its longest text between two characters.

    Raises `MessageTooLongError` if cutting texts is not enough.
    """
    encoded = encode(message)
    texts = [name for name in _TEXTS if isinstance(message.get(name), str)]
    for name in sorted(texts, key=lambda name: len(message[name]), reverse=True):
        if (surplus := _bytes(encoded) - limit) <= 0:
            break
        # A byte of a text is at least one in the JSON.
        room = max(0, _bytes(message[name]) - surplus - _bytes(_ELLIPSIS))
        kept = message[name].encode(errors="replace")[:room].decode(errors="ignore")
        message = message | {name: kept + _ELLIPSIS}
        encoded = encode(message)
    if (size := _bytes(encoded)) > limit:
        raise MessageTooLongError(
            f"the request of {size} bytes is longer than the {limit} bytes that this firmware takes"
        )
    return encoded


def _bytes(text: str) -> int:
    return len(text.encode(errors="replace"))


def server_hello(*, transport: str, session_id: str, udp: JsonObject | None = None) -> JsonObject:
    """Answer a hello. `transport` must match the device's, or the device crashes or times out."""
    hello: JsonObject = {
        "type": "hello",
        "transport": transport,
        "session_id": session_id,
        "audio_params": {
            "format": "opus",
            "sample_rate": DOWNLINK.sample_rate,
            "channels": 1,
            "frame_duration": DOWNLINK.frame_duration,
        },
    }
    if udp is not None:
        # The version is for programs, which know it from the device's hello.
        hello |= {"version": 3, "udp": udp}
    return hello


# Messages in which programs on computers expect the session id. The firmware ignores it there.
_WITH_SESSION: Final = frozenset({"stt", "tts", "llm"})


def in_session(message: JsonObject, session_id: str | None) -> JsonObject:
    """Return a message with its session id where programs need it; without a session, the message itself."""
    if session_id is None or message["type"] not in _WITH_SESSION:
        return message
    return {"session_id": session_id, **message}


def transcript(text: str) -> JsonObject:
    """Show the user's words; only their beginning if there are too many."""
    return {"type": "stt", "text": shortened(text, _MAX_SHOWN)}


def tts_start() -> JsonObject:
    """Make the device speak: its play queue is flushed, and its microphone is off except in realtime mode."""
    return {"type": "tts", "state": "start"}


def tts_caption(text: str) -> JsonObject:
    """Show a sentence of the answer."""
    return {"type": "tts", "state": "sentence_start", "text": text}


def tts_stop() -> JsonObject:
    """End the answer: the device listens again, or goes idle in manual mode."""
    return {"type": "tts", "state": "stop"}


def face(emotion: str) -> JsonObject:
    """Set the face. Send it after `tts_start`, which resets the face to neutral.

    The firmware reads only `emotion`; programs on computers show, or require, an emoji as `text`.
    """
    return {"type": "llm", "emotion": emotion, "text": emoji_of(emotion)}


def mcp(payload: JsonObject) -> JsonObject:
    """Carry a JSON-RPC object to the device's MCP server."""
    return {"type": "mcp", "payload": payload}


def reboot() -> JsonObject:
    """Restart the device after about a second."""
    return {"type": "system", "command": "reboot"}


def alert(*, status: str, message: str, emotion: str) -> JsonObject:
    """Show a text, or its beginning, with a sound. The firmware requires all three strings."""
    status, message = shortened(status, _MAX_SHOWN), shortened(message, _MAX_SHOWN)
    return {"type": "alert", "status": status, "message": message, "emotion": emotion}


def notify(audio_url: str, subtitles: list[JsonObject]) -> JsonObject:
    """Make an idle device play a file (since 2.5.0). It drops the message if `subtitles` is no list."""
    return {"type": "notify", "audio_url": audio_url, "subtitles": subtitles}


def goodbye(session_id: str) -> JsonObject:
    """End a conversation over MQTT. The firmware compares the session id."""
    return {"type": "goodbye", "session_id": session_id}
