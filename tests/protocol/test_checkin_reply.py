"""The answer to a check-in: what a device must never be told cannot even be built."""

from datetime import datetime, timedelta, timezone
import json
from typing import Any

import pytest

from custom_components.xiaozhi.protocol.checkin_reply import (
    encode_reply,
    firmware_section,
    mqtt_section,
    pairing_section,
    websocket_section,
    websocket_url,
)
from custom_components.xiaozhi.protocol.messages import JsonObject

MAC = "94:a9:90:28:a4:5f"
NOW = datetime.fromtimestamp(1786000000, timezone(timedelta(hours=2)))
CLOCK = {"server_time": {"timestamp": 1786000000000, "timezone_offset": 120}}
PAIRING = {"code": "042137", "challenge": "d0f1c2", "message": "Home Assistant\n042137"}
WEBSOCKET = {"url": "ws://192.168.1.10:8765/xiaozhi/v1/", "token": "abc"}
MQTT: dict[str, Any] = {
    "endpoint": "192.168.1.10:1884",
    "client_id": MAC,
    "username": MAC,
    "password": "abc",
    "publish_topic": "xiaozhi/94a99028a45f/up",
    "keepalive": 60,
    "subscribe_topic": "xiaozhi/94a99028a45f/down",
}
OFFER = {"version": "2.4.2", "url": "http://192.168.1.10:8123/api/xiaozhi/file/a-_b"}


def test_each_section_has_all_that_the_device_reads_and_the_reply_a_clock() -> None:
    """As `ota.cc` reads it. A member of the link that is left out would keep its old value in the device."""
    sections = {
        "activation": (pairing_section(**PAIRING), PAIRING),
        "websocket": (websocket_section(**WEBSOCKET), WEBSOCKET | {"version": 1}),
        "mqtt": (mqtt_section(**MQTT), MQTT),
    }
    for name, (section, members) in sections.items():
        assert json.loads(encode_reply(section, NOW)) == {name: members} | CLOCK


@pytest.mark.parametrize(
    "sections",
    [
        pairing_section(code="042137", challenge='"' * 128, message="\U0001f600" * 400),
        mqtt_section(
            endpoint=f"{'a' * 253}:65535",
            client_id='"' * 128,
            username="\\" * 128,
            password="x" * 512,
            publish_topic='"' * 256,
            keepalive=3600,
            subscribe_topic="\\" * 256,
        )
        | firmware_section(version="2.4.2", url=f"http://{'a' * 230}/{'b' * 270}", force=True)
        | websocket_section(url=f"ws://{'a' * 230}:65535/", token="x" * 512),
    ],
)
def test_no_reply_can_harm_a_device(sections: JsonObject) -> None:
    """Below 4 KiB, names that fit into its flash."""
    body = encode_reply(sections, NOW)
    assert len(body) < 4096
    for section in json.loads(body).values():
        for name, value in section.items():
            assert len(name) <= 15
            assert type(value) in {str, int}


@pytest.mark.parametrize("force", [False, True])
def test_a_firmware_is_offered_by_version_and_address(force: bool) -> None:
    """JSON's own `true` is not what `ota.cc` looks for."""
    assert firmware_section(**OFFER, force=force) == {"firmware": OFFER | ({"force": 1} if force else {})}


BAD_TOKENS = ("", "a b", "tökén", "a\n", "x" * 513)
REFUSED = {
    "endpoint": (
        "mqtt://192.168.1.10:1884",
        "192.168.1.10:",
        "192.168.1.10",
        "192.168.1.10:mqtt",
        "192.168.1.10:70000",
        "192.168.1.10:1884/",
        "[fe80::1]:1884",
        ":1884",
    ),
    "password": BAD_TOKENS,
    "client_id": ("", "a b", "ü", "x" * 129),
    "username": ("", "a b", "x" * 129),
    "publish_topic": ("", "a/+", "a/#", "a b", "x" * 257),
    "subscribe_topic": ("", "a/+", "a/#"),
    # A device would restart at every boot for a version that it cannot parse.
    "version": ("v2.0", "1..2", "latest", "2", "2.4.", "2.4.x", "2.4.9999999999", "2.4.2-rc.one", ""),
    "url": (
        "ftp://homeassistant/firmware.bin",
        "http://homeassistant",
        "http://[fe80::1]/firmware.bin",
        "http://homeassistant/firmware.bin?version=1:2",
        f"http://homeassistant/{'a' * 512}",
        "",
    ),
}


@pytest.mark.parametrize("member", REFUSED)
def test_what_would_break_a_device_or_leave_it_mute_is_refused(member: str) -> None:
    """And the error does not tell a token."""
    make, good = (mqtt_section, MQTT) if member in MQTT else (firmware_section, OFFER | {"force": False})
    for value in REFUSED[member]:
        with pytest.raises(ValueError, match=member) as error:
            make(**good | {member: value})
        assert len(value) < 3 or member != "password" or value not in str(error.value)


@pytest.mark.parametrize(
    ("host", "port", "path"),
    [
        ("fe80::1", 8765, "/"),
        ("user@ha", 8765, "/"),
        ("häuschen", 8765, "/"),
        ("-ha", 8765, "/"),
        ("ha", 65536, "/"),
        ("ha", 8765, "/a b"),
        ("ha", 8765, "/a\n"),
        ("ha", 8765, f"/{'a' * 255}"),
        ("[fe80::1]", 8765, "/"),
        ("", 8765, "/"),
        ("ha", 0, "/"),
        ("ha", 1, ""),
        ("ha", 1, "/a:b"),
    ],
)
def test_an_address_that_no_device_can_use_is_not_made(host: str, port: int, path: str) -> None:
    with pytest.raises(ValueError, match="host, port or path"):
        websocket_url(host, port, path)
    assert websocket_url("192.168.1.10", 80, "/xiaozhi/v1/") == "ws://192.168.1.10:80/xiaozhi/v1/"
