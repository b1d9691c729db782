"""The check-in: what a device says about itself, what it cannot be believed, and the answer to it.

A reply that would harm a device cannot be built.
"""

from dataclasses import replace
from datetime import datetime, timedelta, timezone
import json
from typing import Any

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.checkin import (
    CheckIn,
    CheckInError,
    Partition,
    parse_checkin,
    parse_mac,
)
from custom_components.xiaozhi.protocol.checkin_reply import (
    encode_reply,
    firmware_section,
    mqtt_section,
    pairing_section,
    websocket_section,
    websocket_url,
)
from custom_components.xiaozhi.protocol.messages import JsonObject
from tests.protocol.any_json import any_json

MAC = "94:a9:90:28:a4:5f"
CLIENT_ID = "8a7c3a1e-6f0b-4f0e-9a55-0a9b6f6a2d11"
HEADERS = {
    "Host": "192.168.1.10:8123",
    "Accept-Language": "en-US",
    "Activation-Version": "1",
    "Client-Id": CLIENT_ID,
    "Content-Type": "application/json",
    "Device-Id": MAC,
    "User-Agent": "bread-compact-wifi/2.4.2",
}
BODY: dict[str, Any] = {
    "version": 2,
    "language": "en-US",
    "flash_size": 16777216,
    "minimum_free_heap_size": "8123456",
    "mac_address": MAC,
    "uuid": CLIENT_ID,
    "chip_model_name": "esp32s3",
    "application": {"name": "xiaozhi", "version": "2.4.2", "compile_time": "Aug  8 2026T12:00:00Z"},
    "partition_table": [
        {"label": "nvs", "type": 1, "subtype": 2, "address": 36864, "size": 16384},
        {"label": "ota_0", "type": 0, "subtype": 16, "address": 131072, "size": 4128768},
        {"label": "ota_1", "type": 0, "subtype": 17, "address": 4259840, "size": 4063232},
        {"label": "assets", "type": 1, "subtype": 130, "address": 8388608, "size": 8388608},
    ],
    "ota": {"label": "ota_0"},
    "display": {"monochrome": True, "width": 128, "height": 64},
    "board": {
        "type": "bread-compact-wifi",
        "name": "bread-compact-wifi-128x64",
        "manufacturer": "xiaozhi",
        "ssid": "Home",
        "rssi": -55,
        "channel": 6,
        "ip": "192.168.1.50",
        "mac": MAC,
    },
}

STOCK = CheckIn(
    mac=MAC,
    client_id=CLIENT_ID,
    host="192.168.1.10",
    firmware_version="2.4.2",
    board="bread-compact-wifi",
    chip_model="esp32s3",
    firmware_space=4063232,
    assets=Partition(8388608, 8388608),
    free_memory=8123456,
    ip="192.168.1.50",
)


def test_a_device_is_known_by_its_headers_and_described_by_its_body() -> None:
    """A stock device's check-in, in full."""
    assert parse_checkin(HEADERS, json.dumps(BODY).encode()) == STOCK


_NO_FIRMWARE: list[Any] = [
    [None, 7, "ota_0", {}],
    [{"type": 0, "subtype": 16, "size": size} for size in ("large", 0, -1, 1.5, True, 1 << 40)],
    [{"type": 0, "subtype": 0, "size": 4096}],
    [{"type": 1, "subtype": 2, "size": 1}] * 95 + [{"type": 0, "subtype": 16, "size": 1}],
    [{"label": "assets", "type": 1, "address": 1 << 40, "size": 1}],
    [{"label": "assets", "type": 1, "address": 4096, "size": "1"}],
]


@pytest.mark.parametrize(
    ("changes", "facts"),
    [
        *(({"partition_table": table}, {"firmware_space": None, "assets": None}) for table in _NO_FIRMWARE),
        *(({"minimum_free_heap_size": value}, {"free_memory": 4096}) for value in (4096, "4096")),
        *(
            ({"minimum_free_heap_size": value}, {"free_memory": None})
            for value in (None, True, 1.5, -1, "-1", "x", "²", "9" * 20)
        ),
        *(
            ({"board": {"ip": address}}, {"ip": None})
            for address in ("fe80::1", "0.0.0.0", "192.168.1", "home", "", 7, None, ["127.0.0.1"])
        ),
        ({"chip_model_name": "esp\x0032\n" + 100 * "x"}, {"chip_model": ("esp 32 " + 100 * "x")[:64]}),
    ],
)
def test_a_fact_of_another_kind_is_none_and_a_text_is_one_short_line(
    changes: dict[str, Any], facts: dict[str, Any]
) -> None:
    checkin = parse_checkin(HEADERS, json.dumps(BODY | changes).encode())
    assert {name: getattr(checkin, name) for name in facts} == facts


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe",
        b'{"n":' + b"9" * 5000 + b"}",
        b'{"ota"',
        b'{"chip_model_name":"esp32s3","board":{"ssid":"my "home""}}',
        b"[]",
    ],
)
def test_a_broken_body_costs_only_the_facts(body: bytes) -> None:
    checkin = parse_checkin(HEADERS, body)
    assert (checkin.mac, checkin.client_id, checkin.board) == (MAC, CLIENT_ID, "bread-compact-wifi")
    assert checkin.firmware_version == "2.4.2"
    assert (checkin.chip_model, checkin.firmware_space, checkin.ip) == (None, None, None)


@pytest.mark.parametrize("body", [b"{}", b'{"board":[],"ota":1,"application":"x","chip_model_name":{}}'])
def test_a_body_that_names_no_chip_is_told_from_one_that_was_not_read(body: bytes) -> None:
    """The former is of a program."""
    assert parse_checkin(HEADERS, body).chip_model == ""


@pytest.mark.parametrize("ssid", ['Mom"s', "back\\slash", '","ota":{"', 'x"},"board":{'])
def test_a_quote_in_a_wifi_name_costs_only_what_is_written_after_it(ssid: str) -> None:
    """The firmware escapes nothing, and writes the network last."""
    body = json.dumps(BODY, separators=(",", ":")).replace("Home", ssid).encode()
    assert parse_checkin(HEADERS, body) == replace(STOCK, ip=None)


def test_a_wifi_name_in_another_encoding_does_not_break_the_body() -> None:
    """Its bytes are not UTF-8; everything else is still read."""
    body = json.dumps(BODY).encode().replace(b'"Home"', b'"\xc4\xe3\xba\xc3"')
    assert parse_checkin(HEADERS, body).chip_model == "esp32s3"


@pytest.mark.parametrize(
    ("agent", "board", "version"),
    [
        ("a/b/2.4.2", "a/b", "2.4.2"),
        ("", "bread-compact-wifi-128x64", "2.4.2"),
        ("board/", "bread-compact-wifi-128x64", "2.4.2"),
        ("python-guests/requests/2.34.2", "bread-compact-wifi-128x64", "2.4.2"),
    ],
)
def test_the_body_counts_more_than_the_user_agent_of_a_library(agent: str, board: str, version: str) -> None:
    checkin = parse_checkin(HEADERS | {"User-Agent": agent}, json.dumps(BODY).encode())
    assert (checkin.board, checkin.firmware_version) == (board, version)
    # A body that cannot be read leaves only the header.
    without = parse_checkin(HEADERS | {"User-Agent": "a/b/1.9.0"}, b"")
    assert (without.board, without.firmware_version) == ("a/b", "1.9.0")


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({"Device-Id": ""}, "Device-Id"),
        ({"Client-Id": "a b"}, "Client-Id"),
        ({"Host": "[fe80::1]:8123"}, "Host"),
    ],
)
def test_what_does_not_come_from_a_device_is_refused(headers: dict[str, str], reason: str) -> None:
    with pytest.raises(CheckInError, match=reason):
        parse_checkin(HEADERS | headers, b"")


@given(
    headers=st.dictionaries(st.sampled_from([*HEADERS, "Serial-Number", "X"]), st.text(max_size=40)),
    body=st.binary(max_size=300),
)
def test_any_request_is_a_check_in_or_a_check_in_error(headers: dict[str, str], body: bytes) -> None:
    try:
        parse_checkin(headers, body)
    except CheckInError:
        return
    assert parse_mac(headers["Device-Id"])


@given(body=st.dictionaries(st.sampled_from([*BODY]), any_json(*BODY["board"])))
def test_any_body_gives_facts_of_the_right_type_and_size(body: dict[str, Any]) -> None:
    checkin = parse_checkin(HEADERS, json.dumps(body).encode())
    for text in (checkin.board, checkin.firmware_version, checkin.chip_model or None, checkin.ip):
        assert text is None or (0 < len(text) <= 64 and text.isprintable())
    assert checkin.firmware_space is None or type(checkin.firmware_space) is int


@pytest.mark.parametrize(
    ("text", "mac"),
    [
        *(
            (text, MAC)
            for text in (MAC, MAC.upper(), MAC.replace(":", "-"), MAC.replace(":", ""), f" {MAC} ")
        ),
        *((text, None) for text in ("", "94:a9-90:28-a4:5f", MAC + ":00", MAC[:-1], "٩" * 12, MAC + "\n\nx")),
    ],
)
def test_a_mac_is_written_in_one_way(text: str, mac: str | None) -> None:
    assert parse_mac(text) == mac


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
        ("ha", 8765, "/a\n"),
        ("ha", 8765, f"/{'a' * 255}"),
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
