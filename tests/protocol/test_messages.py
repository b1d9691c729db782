"""The JSON messages, both ways, and the differences between firmware versions."""

import contextlib
import json

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol import messages
from custom_components.xiaozhi.protocol.firmware_version import FirmwareVersion
from custom_components.xiaozhi.protocol.messages import (
    MAX_MESSAGE_BYTES,
    Abort,
    AudioFormat,
    DeviceHello,
    Goodbye,
    ListenDetect,
    ListenMode,
    ListenStart,
    ListenStop,
    McpMessage,
    MessageError,
    UnknownMessage,
    parse_message,
)
from tests.protocol.any_json import any_json

WORDS = (
    *("state", "mode", "text", "payload", "features", "audio_params", "mcp"),
    *ListenMode, "detect", "start", "stop", "opus", "websocket",
)  # fmt: skip

HELLO = (
    '{"type":"hello","version":1,"features":{"mcp":true,"glyph_push":false},"transport":"websocket",'
    '"audio_params":{"format":"opus","sample_rate":16000,"channels":1,"frame_duration":60}}'
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HELLO, DeviceHello(transport="websocket", audio=AudioFormat(16000, 60), supports_mcp=True)),
        (
            (
                '{"type":"hello","transport":"udp","features":{"aec":true,"glyph_push":true,"mcp":1},'
                '"audio_params":{"sample_rate":16000.0,"frame_duration":20}}'
            ),
            DeviceHello(transport="udp", audio=AudioFormat(16000, 20), supports_mcp=False),
        ),
        ('{"type":"hello"}', DeviceHello(transport="", audio=AudioFormat(16000, 60), supports_mcp=False)),
        ('{"session_id":"x","type":"listen","state":"detect","text":"你好小智"}', ListenDetect("你好小智")),
        ('{"type":"listen","state":"detect"}', ListenDetect("")),
        ('{"type":"listen","state":"start","mode":"auto"}', ListenStart(ListenMode.AUTO)),
        ('{"type":"listen","state":"start","mode":"manual"}', ListenStart(ListenMode.MANUAL)),
        ('{"type":"listen","state":"start","mode":"realtime"}', ListenStart(ListenMode.REALTIME)),
        ('{"type":"listen","state":"stop"}', ListenStop()),
        ('{"type":"abort","reason":"wake_word_detected"}', Abort("wake_word_detected")),
        ('{"type":"abort"}', Abort(None)),
        ('{"type":"mcp","payload":{"jsonrpc":"2.0","id":1}}', McpMessage({"jsonrpc": "2.0", "id": 1})),
        ('{"type":"goodbye","session_id":"abc"}', Goodbye("abc")),
        ('{"type":"goodbye"}', Goodbye(None)),
        ('{"type":"iot","descriptors":[]}', UnknownMessage("iot")),
        ('{"type":""}', UnknownMessage("")),
    ],
)
def test_every_message_of_the_firmware_is_read(text: str, message: messages.DeviceMessage) -> None:
    """As text of a WebSocket or as bytes of MQTT."""
    assert parse_message(text) == message
    assert parse_message(text.encode()) == message


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        ('{"type":"listen","state":"detect","text":"say "hi""}', "not JSON"),
        ("[" * 60000, "not JSON"),
        ('{"type":"mcp","payload":{"id":' + "9" * 5000 + "}}", "not JSON"),
        ("[]", "not a JSON object"),
        ("{}", "no type"),
        ('{"type":["hello"]}', "no type"),
        ('{"type":"hello","transport":1}', "transport is not a text"),
        ('{"type":"hello","audio_params":[]}', "audio_params is not an object"),
        ('{"type":"hello","features":"mcp"}', "features is not an object"),
        ('{"type":"hello","audio_params":{"sample_rate":16001}}', "sample_rate is not one of"),
        ('{"type":"hello","audio_params":{"sample_rate":[16000]}}', "sample_rate is not one of"),
        ('{"type":"hello","audio_params":{"frame_duration":true}}', "frame_duration is not one of"),
        ('{"type":"listen"}', "no known state"),
        ('{"type":"listen","state":"start"}', "no known mode"),
        ('{"type":"listen","state":"start","mode":["auto"]}', "no known mode"),
        ('{"type":"listen","state":"detect","text":{}}', "text is not a text"),
        ('{"type":"abort","reason":1}', "reason is not a text"),
        ('{"type":"mcp","payload":"{}"}', "no payload object"),
        ('{"type":"goodbye","session_id":7}', "session_id is not a text"),
        (r'{"type":"listen","state":"detect","text":"\ud83d"}', "not JSON"),
        (r'{"type":"mcp","payload":{"result":[{"\uDC00":1}]}}', "not JSON"),
        ('{"type":"mcp","payload":' + '{"a":' * 40 + "1" + "}" * 41, "nested too deep"),
        ('{"type":"mcp","payload":{"a":' + "[" * 20000 + "]" * 20000 + "}}", "not JSON"),
        ('{"type":"' + "x" * MAX_MESSAGE_BYTES + '"}', "over the limit"),
    ],
)
def test_a_malformed_message_says_what_is_wrong(text: str, reason: str) -> None:
    with pytest.raises(MessageError, match=reason):
        parse_message(text)


def test_text_that_is_not_utf8_is_replaced_and_the_rest_kept() -> None:
    """The name of a Wi-Fi network may be any bytes."""
    message = parse_message(b'{"type":"mcp","payload":{"ssid":"\xc4\xe3\xba\xc3","id":7}}')
    assert isinstance(message, McpMessage)
    assert message.payload["id"] == 7
    assert "\ufffd" in message.payload["ssid"]


def test_long_texts_are_cut() -> None:
    """A wake word, a reason and a type of any length are accepted, but not kept."""
    assert parse_message(
        json.dumps({"type": "listen", "state": "detect", "text": "a" * 5000})
    ) == ListenDetect("a" * 500)
    assert parse_message(json.dumps({"type": "abort", "reason": "a" * 5000})) == Abort("a" * 64)
    assert parse_message(json.dumps({"type": "y" * 5000})) == UnknownMessage("y" * 64)


@given(data=st.binary(max_size=200) | st.text(max_size=200))
def test_garbage_raises_nothing_but_message_errors(data: bytes | str) -> None:
    with contextlib.suppress(MessageError):
        parse_message(data)


@given(kind=st.sampled_from(["hello", "listen", "abort", "mcp", "goodbye", "iot"]), fields=st.data())
def test_wrong_fields_raise_nothing_but_message_errors(kind: str, fields: st.DataObject) -> None:
    message = fields.draw(
        st.fixed_dictionaries(
            {},
            optional=dict.fromkeys(
                ("state", "mode", "text", "reason", "payload", "features", "audio_params", "transport"),
                any_json(*WORDS),
            ),
        )
    )
    for data in (json.dumps(message | {"type": kind}), json.dumps(message | {"type": kind}).encode()):
        try:
            parsed = parse_message(data)
        except MessageError:
            continue
        if isinstance(parsed, McpMessage):
            messages.encode(parsed.payload).encode()
        repr(parsed).encode()


def test_messages_to_the_device_have_the_fields_that_the_firmware_reads() -> None:
    """Names and values, as `application.cc` asks for them."""
    assert messages.server_hello(transport="websocket", session_id="s") == {
        "type": "hello",
        "transport": "websocket",
        "session_id": "s",
        "audio_params": {"format": "opus", "sample_rate": 24000, "channels": 1, "frame_duration": 60},
    }
    with_udp = messages.server_hello(transport="udp", session_id="s", udp={"port": 8765})
    assert with_udp["udp"] == {"port": 8765}
    assert messages.transcript("hi") == {"type": "stt", "text": "hi"}
    assert messages.tts_start() == {"type": "tts", "state": "start"}
    assert messages.tts_caption("hi") == {"type": "tts", "state": "sentence_start", "text": "hi"}
    assert messages.tts_stop() == {"type": "tts", "state": "stop"}
    assert messages.face("happy") == {"type": "llm", "emotion": "happy", "text": "🙂"}
    assert messages.face("a face of 2027")["text"]
    assert messages.mcp({"id": 1}) == {"type": "mcp", "payload": {"id": 1}}
    assert messages.reboot() == {"type": "system", "command": "reboot"}
    assert messages.alert(status="a", message="b", emotion="c") == {
        "type": "alert",
        "status": "a",
        "message": "b",
        "emotion": "c",
    }
    endless = messages.alert(status="a", message="." * 30_000, emotion="c")["message"]
    assert (len(endless), endless[-2:]) == (2000, ".…")
    assert len(messages.transcript("." * 30_000)["text"]) == 2000
    assert messages.goodbye("s") == {"type": "goodbye", "session_id": "s"}


def test_messages_are_encoded_without_waste() -> None:
    """No blanks and no escapes: the device copies every frame into scarce RAM."""
    assert messages.encode({"type": "stt", "text": "Küche 灯"}) == '{"type":"stt","text":"Küche 灯"}'


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("2.4.2", FirmwareVersion(2, 4, 2)),
        ("2.4", FirmwareVersion(2, 4, 0)),
        ("2.0.3-beta", FirmwareVersion(2, 0, 3)),
        ("1.9.4.7", FirmwareVersion(1, 9, 4)),
        *((text, None) for text in (None, "", "2", "v2.0.0", "latest", ".1.2", "9999999.1", "1..2")),
    ],
)
def test_a_firmware_version_is_read_from_the_start_of_a_text(
    text: str | None, version: FirmwareVersion | None
) -> None:
    assert FirmwareVersion.parse(text) == version


@given(text=st.text(max_size=30))
def test_any_text_is_a_version_or_none(text: str) -> None:
    version = FirmwareVersion.parse(text)
    assert version is None or FirmwareVersion.parse(str(version)) == version
    assert str(FirmwareVersion(2, 4, 0)) == "2.4.0"


@pytest.mark.parametrize(
    ("version", "pings_safe", "cuts"),
    [
        ("1.6.9", False, False),
        ("1.7.0", False, True),
        ("1.8.9", False, True),
        ("1.9.0", True, True),
        ("2.2.1", True, True),
        ("2.2.2", True, False),
        ("2.10.0", True, False),
    ],
)
def test_firmware_versions_differ_as_their_sources_do(version: str, pings_safe: bool, cuts: bool) -> None:
    """The first tag with a change has it, the one before has not."""
    firmware = FirmwareVersion.parse(version)
    assert firmware is not None
    assert firmware.pings_safe is pings_safe
    assert firmware.cuts_speech_at_stop is cuts
