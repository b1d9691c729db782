"""Replies to a check-in.

Source: the firmware's `main/ota.cc`. The device stores every member of the `mqtt` and `websocket` sections in
its flash and aborts on what its flash or its parsers do not take, at every boot again. So the replies are
classes that refuse such values where they come from the owner or the network.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
import json
import re
from typing import Any, Final

from .firmware_version import is_version
from .messages import JsonObject

_HOST: Final = r"[0-9A-Za-z](?:[0-9A-Za-z._-]{0,251}[0-9A-Za-z])?"
_ENDPOINT: Final = re.compile(rf"{_HOST}:(?P<port>[0-9]{{1,5}})")
# For the device, the port starts at the first colon after the scheme, wherever that is.
_WEBSOCKET_URL: Final = re.compile(rf"wss?://{_HOST}:(?P<port>[0-9]{{1,5}})/[0-9A-Za-z/._~-]*")
_HTTP_URL: Final = re.compile(rf"https?://{_HOST}(?::[0-9]{{1,5}})?/[0-9A-Za-z/._~-]*")
_MQTT_NAME: Final = re.compile(r"[!-~]{1,128}")
_MQTT_PASSWORD: Final = re.compile(r"[!-~]{1,512}")
_TOPIC: Final = re.compile(r"[!-\"$-*,-~]{1,256}")
_MAX_URL: Final = 255
_MAX_FIRMWARE_URL: Final = 512
# A frame is a packet of audio. Others have headers, which the firmware reads without checking their bounds.
_FRAMING_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingReply:
    """Makes an unknown device show and speak a code, and poll for its activation."""

    code: str
    """Six digits: the device can speak nothing else."""
    challenge: str
    """Makes the device poll `/activate` every three seconds."""
    message: str
    """Text on the screen."""

    def sections(self) -> JsonObject:
        """Return its sections."""
        return {"activation": {"message": self.message, "code": self.code, "challenge": self.challenge}}


@dataclass(frozen=True, slots=True, kw_only=True)
class FirmwareOffer:
    """Makes a device install a firmware at once."""

    version: str
    url: str
    """Fetched by plain GET; the answer must have a Content-Length."""
    force: bool
    """Whether to install it also if it is not newer. The device obeys at every check-in."""

    def __post_init__(self) -> None:
        """Refuse what makes the device restart at every boot."""
        _require("version", isinstance(self.version, str) and is_version(self.version))
        _require("url", _is_http_url(self.url))

    def section(self) -> JsonObject:
        """Return the `firmware` section."""
        section: JsonObject = {"version": self.version, "url": self.url}
        return section | {"force": 1} if self.force else section


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSocketReply:
    """Makes a paired device connect to a WebSocket when a conversation starts.

    All three members are always sent: the device keeps the old value of a missing one.
    """

    url: str
    """With an explicit port, as from `websocket_url`."""
    token: str
    firmware: FirmwareOffer | None = None

    def __post_init__(self) -> None:
        """Refuse what makes the device restart when it connects."""
        _require("url", _is_websocket_url(self.url))

    def sections(self) -> JsonObject:
        """Return its sections."""
        return {"websocket": {"url": self.url, "token": self.token, "version": _FRAMING_VERSION}}


@dataclass(frozen=True, slots=True, kw_only=True)
class MqttReply:
    """Makes a paired device connect to an MQTT endpoint and stay connected."""

    endpoint: str
    """`host:port` without a scheme; the device uses TLS exactly when the port is 8883."""
    client_id: str
    username: str
    password: str
    publish_topic: str
    """The only topic to which the device publishes."""
    keepalive: int
    """Seconds."""
    subscribe_topic: str | None = None
    """For firmware that subscribes; stock firmware ignores it."""
    websocket: WebSocketReply | None = None
    """For clients without MQTT, or with an older server's WebSocket stored; stock firmware prefers MQTT."""
    firmware: FirmwareOffer | None = None

    def __post_init__(self) -> None:
        """Refuse what makes the device restart at every boot, or keeps it from sending."""
        _require("endpoint", _has_port(_ENDPOINT, self.endpoint))
        _require("client_id", _matches(_MQTT_NAME, self.client_id))
        _require("username", _matches(_MQTT_NAME, self.username))
        _require("password", _matches(_MQTT_PASSWORD, self.password))
        _require("publish_topic", _matches(_TOPIC, self.publish_topic))
        _require("subscribe_topic", self.subscribe_topic is None or _matches(_TOPIC, self.subscribe_topic))

    def sections(self) -> JsonObject:
        """Return its sections."""
        section: JsonObject = {
            "endpoint": self.endpoint,
            "client_id": self.client_id,
            "username": self.username,
            "password": self.password,
            "publish_topic": self.publish_topic,
            "keepalive": self.keepalive,
        }
        if self.subscribe_topic is not None:
            section["subscribe_topic"] = self.subscribe_topic
        return {"mqtt": section} | (self.websocket.sections() if self.websocket else {})


# A device for the WebSocket gets no MQTT settings: it would prefer them. Only paired devices get firmware.
type LinkReply = WebSocketReply | MqttReply
type Reply = PairingReply | LinkReply


def encode_reply(reply: Reply, now: datetime) -> bytes:
    """Encode the body of a reply with status 200: JSON in UTF-8, always below 4 KiB.

    The device's reader never recovers from a body of 8 KiB. `now` sets its clock, with the time zone.
    """
    sections = reply.sections() | {
        # Milliseconds since the epoch, and minutes east of Greenwich.
        "server_time": {
            "timestamp": int(now.timestamp() * 1000),
            "timezone_offset": int((now.utcoffset() or timedelta()).total_seconds() // 60),
        }
    }
    if not isinstance(reply, PairingReply) and reply.firmware is not None:
        sections["firmware"] = reply.firmware.section()
    return json.dumps(sections, ensure_ascii=False, separators=(",", ":")).encode()


def is_mqtt_name(text: str) -> bool:
    """Whether a device can store this user name or password of a broker, and uses it unchanged."""
    return _matches(_MQTT_NAME, text)


def websocket_url(host: str, port: int, path: str) -> str:
    """Return the URL of a plain WebSocket, with the port that the device requires.

    Raises `ValueError` for what the device cannot parse: an IPv6 address, or a path with a colon.
    """
    url = f"ws://{host}:{port}{path}"
    _require("host, port or path", _is_websocket_url(url))
    return url


def _require(name: str, holds: bool) -> None:
    # Without the value: it may be a secret.
    if not holds:
        raise ValueError(f"{name} is not what a device can take")


def _matches(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_websocket_url(url: Any) -> bool:
    return _has_port(_WEBSOCKET_URL, url) and len(url) <= _MAX_URL


def _is_http_url(url: Any) -> bool:
    return isinstance(url, str) and _HTTP_URL.fullmatch(url) is not None and len(url) <= _MAX_FIRMWARE_URL


def _has_port(pattern: re.Pattern[str], value: Any) -> bool:
    match = pattern.fullmatch(value) if isinstance(value, str) else None
    return match is not None and 1 <= int(match["port"]) <= 65535
