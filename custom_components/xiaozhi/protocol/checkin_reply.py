"""Replies to a check-in, as sections of JSON.

Source: the firmware's `main/ota.cc`. The device stores every member of the `mqtt` and `websocket` sections in
its flash, and aborts at every boot if its flash or its parsers do not accept one. So invalid values of the
owner or the network are refused here with a `ValueError`.
"""

from datetime import datetime, timedelta
import json
import re
from typing import Final

from .firmware_version import is_version
from .messages import JsonObject

_HOST: Final = r"[0-9A-Za-z](?:[0-9A-Za-z._-]{0,251}[0-9A-Za-z])?"
_ENDPOINT: Final = re.compile(rf"{_HOST}:(?P<port>[0-9]{{1,5}})")
# For the device, the port starts at the first colon after the scheme, wherever that is.
_WEBSOCKET_URL: Final = re.compile(rf"ws://{_HOST}:(?P<port>[0-9]{{1,5}})/[0-9A-Za-z/._~-]*")
_HTTP_URL: Final = re.compile(rf"https?://{_HOST}(?::[0-9]{{1,5}})?/[0-9A-Za-z/._~-]*")
_MQTT_NAME: Final = re.compile(r"[!-~]{1,128}")
_MQTT_PASSWORD: Final = re.compile(r"[!-~]{1,512}")
_TOPIC: Final = re.compile(r"[!-\"$-*,-~]{1,256}")
# A frame is a packet of audio. Others have headers, which the firmware reads without checking their bounds.
_FRAMING_VERSION: Final = 1


def pairing_section(*, code: str, challenge: str, message: str) -> JsonObject:
    """Return the section that makes an unknown device show and speak a code, and poll for its activation.

    The code has six digits: the device can speak nothing else. `challenge` makes it poll `/activate` every
    three seconds, `message` is the text on the screen.
    """
    return {"activation": {"message": message, "code": code, "challenge": challenge}}


def firmware_section(*, version: str, url: str, force: bool) -> JsonObject:
    """Return the section that makes a device install a firmware at once. Only paired devices get it.

    It fetches `url` by plain GET; the answer must have a Content-Length. With `force`, it installs it also if
    it is not newer; it obeys at every check-in.
    """
    # The device would restart at every boot.
    _require("version", is_version(version))
    _require("url", _HTTP_URL.fullmatch(url) is not None and len(url) <= 512)
    return {"firmware": {"version": version, "url": url} | ({"force": 1} if force else {})}


def websocket_section(*, url: str, token: str) -> JsonObject:
    """Return the section that makes a paired device connect to a WebSocket, as from `websocket_url`.

    A device for the WebSocket gets no MQTT section: it would prefer that. All three members are always sent:
    the device keeps the old value of a missing one.
    """
    return {"websocket": {"url": url, "token": token, "version": _FRAMING_VERSION}}


def mqtt_section(
    *,
    endpoint: str,
    client_id: str,
    username: str,
    password: str,
    publish_topic: str,
    subscribe_topic: str,
    keepalive: int,
) -> JsonObject:
    """Return the section that makes a paired device connect to an MQTT endpoint and stay connected.

    `endpoint` is `host:port` without a scheme; the device uses TLS exactly when the port is 8883. It
    publishes to `publish_topic` only; stock firmware ignores `subscribe_topic`, which is for firmware that
    subscribes. `keepalive` is in seconds.
    """
    # The device would restart at every boot, or could not send.
    _require("endpoint", _has_port(_ENDPOINT, endpoint))
    _require("client_id", is_mqtt_name(client_id))
    _require("username", is_mqtt_name(username))
    _require("password", _MQTT_PASSWORD.fullmatch(password) is not None)
    _require("publish_topic", _TOPIC.fullmatch(publish_topic) is not None)
    _require("subscribe_topic", _TOPIC.fullmatch(subscribe_topic) is not None)
    return {
        "mqtt": {
            "endpoint": endpoint,
            "client_id": client_id,
            "username": username,
            "password": password,
            "publish_topic": publish_topic,
            "keepalive": keepalive,
            "subscribe_topic": subscribe_topic,
        }
    }


def encode_reply(sections: JsonObject, now: datetime) -> bytes:
    """Encode the body of a reply with status 200: JSON in UTF-8, always below 4 KiB.

    The device's reader never recovers from a body of 8 KiB. `now` sets its clock, with the time zone.
    """
    clock = {
        # Milliseconds since the epoch, and minutes east of Greenwich.
        "timestamp": int(now.timestamp() * 1000),
        "timezone_offset": int((now.utcoffset() or timedelta()).total_seconds() // 60),
    }
    return json.dumps(sections | {"server_time": clock}, ensure_ascii=False, separators=(",", ":")).encode()


def is_mqtt_name(text: str) -> bool:
    """Whether a device can store this user name or password of a broker, and uses it unchanged."""
    return _MQTT_NAME.fullmatch(text) is not None


def websocket_url(host: str, port: int, path: str) -> str:
    """Return the URL of a plain WebSocket, with the port that the device requires.

    Raises `ValueError` if the device cannot parse it: an IPv6 address, or a path with a colon.
    """
    url = f"ws://{host}:{port}{path}"
    _require("host, port or path", _has_port(_WEBSOCKET_URL, url) and len(url) <= 255)
    return url


def _require(name: str, holds: bool) -> None:
    # Without the value: it may be a secret.
    if not holds:
        raise ValueError(f"{name} is not what a device can take")


def _has_port(pattern: re.Pattern[str], text: str) -> bool:
    match = pattern.fullmatch(text)
    return match is not None and 1 <= int(match["port"]) <= 65535
