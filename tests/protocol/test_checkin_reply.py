"""The answer to a check-in: what a device must never be told cannot even be built."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone
import json
from typing import Any

import pytest

from custom_components.xiaozhi.protocol.checkin_reply import (
    FirmwareOffer,
    MqttReply,
    PairingReply,
    Reply,
    WebSocketReply,
    encode_reply,
    websocket_url,
)

MAC = "94:a9:90:28:a4:5f"
NOW = datetime.fromtimestamp(1786000000, timezone(timedelta(hours=2)))
PAIRING = PairingReply(code="042137", challenge="d0f1c2", message="Home Assistant\n042137")
WEBSOCKET = WebSocketReply(url="ws://192.168.1.10:8765/xiaozhi/v1/", token="abc")
MQTT = MqttReply(
    endpoint="192.168.1.10:1884",
    client_id=MAC,
    username=MAC,
    password="abc",
    publish_topic="xiaozhi/94a99028a45f/up",
    keepalive=60,
    subscribe_topic="xiaozhi/94a99028a45f/down",
)


def test_a_pairing_reply_has_a_code_and_a_clock_and_no_link() -> None:
    """As `ota.cc` reads it."""
    assert json.loads(encode_reply(PAIRING, NOW)) == {
        "activation": {"message": "Home Assistant\n042137", "code": "042137", "challenge": "d0f1c2"},
        "server_time": {"timestamp": 1786000000000, "timezone_offset": 120},
    }


def test_a_websocket_reply_always_has_all_three_members() -> None:
    """One that is left out would keep its old value in the device."""
    assert json.loads(encode_reply(WEBSOCKET, NOW)) == {
        "websocket": {"url": "ws://192.168.1.10:8765/xiaozhi/v1/", "token": "abc", "version": 1},
        "server_time": {"timestamp": 1786000000000, "timezone_offset": 120},
    }


def test_an_mqtt_reply_has_all_that_a_connection_needs() -> None:
    """And the topic to subscribe to only for firmware that does."""
    section = {
        "endpoint": "192.168.1.10:1884",
        "client_id": MAC,
        "username": MAC,
        "password": "abc",
        "publish_topic": "xiaozhi/94a99028a45f/up",
        "keepalive": 60,
        "subscribe_topic": "xiaozhi/94a99028a45f/down",
    }
    time = {"timestamp": 1786000000000, "timezone_offset": 120}
    assert json.loads(encode_reply(MQTT, NOW)) == {"mqtt": section, "server_time": time}
    del section["subscribe_topic"]
    assert json.loads(encode_reply(replace(MQTT, subscribe_topic=None), NOW)) == {
        "mqtt": section,
        "server_time": time,
    }


@pytest.mark.parametrize(
    "reply",
    [
        PAIRING,
        replace(PAIRING, challenge='"' * 128, message="\U0001f600" * 400),
        WEBSOCKET,
        replace(WEBSOCKET, url=f"wss://{'a' * 230}:65535/", token="x" * 512),
        MQTT,
        MqttReply(
            endpoint=f"{'a' * 253}:65535",
            client_id='"' * 128,
            username="\\" * 128,
            password="x" * 512,
            publish_topic='"' * 256,
            keepalive=3600,
            subscribe_topic="\\" * 256,
            firmware=FirmwareOffer(version="2.4.2", url=f"http://{'a' * 230}/{'b' * 270}", force=True),
            websocket=replace(WEBSOCKET, url=f"wss://{'a' * 230}:65535/", token="x" * 512),
        ),
    ],
)
def test_no_reply_can_harm_a_device(reply: Reply) -> None:
    """Below 4 KiB, names that fit into its flash, firmware only if it is meant."""
    body = encode_reply(reply, NOW)
    assert len(body) < 4096
    sections = json.loads(body)
    assert ("firmware" in sections) == (getattr(reply, "firmware", None) is not None)
    told = sections.keys() & {"mqtt", "websocket", "activation"}
    assert len(told) == 1 or (told == {"mqtt", "websocket"} and isinstance(reply, MqttReply))
    for section in sections.values():
        for name, value in section.items():
            assert len(name) <= 15
            assert type(value) in {str, int}


@pytest.mark.parametrize("force", [False, True])
def test_a_firmware_is_offered_by_version_and_address(force: bool) -> None:
    """JSON's own `true` is not what `ota.cc` looks for."""
    offer = FirmwareOffer(version="2.4.2", url="http://192.168.1.10:8123/api/xiaozhi/file/a-_b", force=force)
    section = {"version": "2.4.2", "url": "http://192.168.1.10:8123/api/xiaozhi/file/a-_b"}
    for reply in (WEBSOCKET, MQTT):
        assert json.loads(encode_reply(replace(reply, firmware=offer), NOW))["firmware"] == (
            section | {"force": 1} if force else section
        )


@pytest.mark.parametrize(
    "version",
    ["v2.0", "1..2", "latest", "2", "2.4.", "2.4.x", "2.4.9999999999", "2.4.2-rc.one", "", None, 2.4],
)
def test_a_version_that_the_device_cannot_parse_is_refused(version: Any) -> None:
    """It would restart at every boot."""
    with pytest.raises(ValueError, match="version"):
        FirmwareOffer(version=version, url="http://homeassistant/firmware.bin", force=False)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://homeassistant/firmware.bin",
        "http://homeassistant",
        "http://[fe80::1]/firmware.bin",
        "http://homeassistant/firmware.bin?version=1:2",
        f"http://homeassistant/{'a' * 512}",
        "",
        None,
    ],
)
def test_an_address_that_the_device_cannot_fetch_from_is_refused(url: Any) -> None:
    with pytest.raises(ValueError, match="url"):
        FirmwareOffer(version="2.4.2", url=url, force=False)


BAD_TOKENS = ("", "a b", "tökén", "a\n", "x" * 513, None, 7)
REFUSED: list[tuple[Reply, str, tuple[Any, ...]]] = [
    (
        WEBSOCKET,
        "url",
        (
            "ws://192.168.1.10/xiaozhi/v1/",
            "ws://homeassistant:port/xiaozhi/v1/",
            "ws://homeassistant:8765",
            "ws://homeassistant:8765/a:b",
            "ws://homeassistant:8765/a b",
            "ws://homeassistant:8765/a\n",
            "ws://homeassistant:65536/",
            "ws://homeassistant:٨٧٦٥/",
            "ws://[fe80::1]:8765/",
            "ws://user@homeassistant:8765/",
            "ws://häuschen:8765/",
            "ws://-homeassistant:8765/",
            "http://homeassistant:8765/",
            f"ws://homeassistant:8765/{'a' * 255}",
            None,
        ),
    ),
    (
        MQTT,
        "endpoint",
        (
            "mqtt://192.168.1.10:1884",
            "192.168.1.10:",
            "192.168.1.10",
            "192.168.1.10:mqtt",
            "192.168.1.10:70000",
            "192.168.1.10:1884/",
            "[fe80::1]:1884",
            ":1884",
            None,
        ),
    ),
    (MQTT, "password", BAD_TOKENS),
    (MQTT, "client_id", ("", "a b", "ü", "x" * 129)),
    (MQTT, "username", ("", "a b", "x" * 129)),
    (MQTT, "publish_topic", ("", "a/+", "a/#", "a b", "x" * 257, None)),
    (MQTT, "subscribe_topic", ("", "a/+", "a/#", 5)),
]


@pytest.mark.parametrize(("reply", "member", "values"), REFUSED, ids=[member for _, member, _ in REFUSED])
def test_what_would_break_a_device_or_leave_it_mute_is_refused(
    reply: Reply, member: str, values: tuple[Any, ...]
) -> None:
    """And the error does not tell a token."""
    for value in values:
        with pytest.raises(ValueError, match=member) as error:
            replace(reply, **{member: value})
        assert values is not BAD_TOKENS or len(str(value)) < 3 or str(value) not in str(error.value)


def test_the_address_of_a_websocket_has_its_port() -> None:
    assert websocket_url("192.168.1.10", 80, "/xiaozhi/v1/") == "ws://192.168.1.10:80/xiaozhi/v1/"
    assert websocket_url("ha.example.com", 8765, "/") == "ws://ha.example.com:8765/"


@pytest.mark.parametrize(
    ("host", "port", "path"),
    [
        ("fe80::1", 8765, "/"),
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
