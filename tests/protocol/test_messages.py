"""The JSON messages, both ways, also broken and cut ones, and the differences between firmware versions."""

import contextlib
import json
from typing import Any

from hypothesis import example, given, strategies as st
import pytest

from custom_components.xiaozhi.protocol import messages
from custom_components.xiaozhi.protocol.faces import face_of
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
    MessageTooLongError,
    UnknownMessage,
    encode_within,
    parse_message,
)
from tests.protocol.any_json import any_json

FIELDS = ("state", "mode", "text", "reason", "payload", "features", "audio_params", "transport")
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
        (
            '{"type":"hello","version":"1","audio_params":{"sample_rate":"16000","frame_duration":null}}',
            DeviceHello(transport="", audio=AudioFormat(16000, 60), supports_mcp=False),
        ),
        (HELLO, DeviceHello(transport="websocket", audio=AudioFormat(16000, 60), supports_mcp=True)),
        (
            (
                '{"type":"hello","transport":"udp","features":{"aec":true,"glyph_push":true,"mcp":1},'
                '"audio_params":{"sample_rate":16000.0,"frame_duration":20},'
                '"text_font":{"bundle":"noto-v1","charset":"common","size":20,"bpp":4}}'
            ),
            DeviceHello(
                transport="udp", audio=AudioFormat(16000, 20), supports_mcp=False, font="noto-v1 common"
            ),
        ),
        *(
            (
                f'{{"type":"hello","text_font":{{"bundle":"{bundle}","charset":"b"}}}}',
                DeviceHello(transport="", audio=AudioFormat(16000, 60), supports_mcp=False),
            )
            for bundle in ("![](//a)", "www.a.example", "_Www.a.example_")
        ),
        ('{"session_id":"x","type":"listen","state":"detect","text":"你好小智"}', ListenDetect("你好小智")),
        ('{"type":"listen","state":"detect"}', ListenDetect("")),
        # A wake word and a type of any length are accepted, but not kept.
        (f'{{"type":"listen","state":"detect","text":"{"a" * 5000}"}}', ListenDetect("a" * 500)),
        (f'{{"type":"{"y" * 5000}"}}', UnknownMessage("y" * 64)),
        ('{"type":"listen","state":"start","mode":"auto"}', ListenStart(ListenMode.AUTO)),
        *(
            (f'{{"type":"listen","state":"start"{mode}}}', ListenStart(ListenMode.AUTO))
            for mode in ("", ',"mode":null')
        ),
        ('{"type":"listen","state":"start","mode":"manual"}', ListenStart(ListenMode.MANUAL)),
        ('{"type":"listen","state":"start","mode":"realtime"}', ListenStart(ListenMode.REALTIME)),
        ('{"type":"listen","state":"stop"}', ListenStop()),
        ('{"type":"abort","reason":"wake_word_detected"}', Abort()),
        ('{"type":"mcp","payload":{"jsonrpc":"2.0","id":1}}', McpMessage({"jsonrpc": "2.0", "id": 1})),
        ('{"type":"goodbye","session_id":"abc"}', Goodbye("abc")),
        ('{"type":"goodbye"}', Goodbye(None)),
        ('{"type":"iot","descriptors":[]}', UnknownMessage("iot")),
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
        ('{"type":"listen","state":"start","mode":["auto"]}', "no known mode"),
        ('{"type":"listen","state":"detect","text":{}}', "text is not a text"),
        ('{"type":"mcp","payload":"{}"}', "no payload object"),
        ('{"type":"goodbye","session_id":7}', "session_id is not a text"),
        (r'{"type":"listen","state":"detect","text":"\ud83d"}', "not JSON"),
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


@given(data=st.binary(max_size=200) | st.text(max_size=200))
def test_garbage_raises_nothing_but_message_errors(data: bytes | str) -> None:
    with contextlib.suppress(MessageError):
        parse_message(data)


@given(
    kind=st.sampled_from(["hello", "listen", "abort", "mcp", "goodbye", "iot"]),
    fields=st.dictionaries(st.sampled_from(FIELDS), any_json(*WORDS), max_size=4),
)
def test_wrong_fields_raise_nothing_but_message_errors(kind: str, fields: dict[str, Any]) -> None:
    text = json.dumps(fields | {"type": kind})
    for data in (text, text.encode()):
        try:
            parsed = parse_message(data)
        except MessageError:
            continue
        if isinstance(parsed, McpMessage):
            messages.encode(parsed.payload).encode()
        repr(parsed).encode()


def frame_of(message: str, request_id: int = 7, code: str = "") -> str:
    """Return an error as the firmware writes it: without escapes."""
    payload = f'{{"jsonrpc":"2.0","id":{request_id},"error":{{{code}"message":"{message}"}}}}'
    return f'{{"session_id":"a1","type":"mcp","payload":{payload}}}'


ODD = ('Unknown tool: say "hi"', "C:\\temp\\x", "first\nsecond", '"', '"}}}', "\t", "ü \\ 设备")


@given(st.sampled_from(ODD) | st.text(), st.integers(0, 2**31 - 1), st.sampled_from(["", '"code":-32603,']))
@example(ODD[0], 7, '"code":-32603,')
@example(ODD[4], 7, "")
def test_every_error_has_its_id_and_its_words_whatever_they_are(
    message: str, request_id: int, code: str
) -> None:
    frame = frame_of(message, request_id, code)
    try:
        json.loads(frame)
    except ValueError:
        for data in (frame, frame.encode()):
            reply = parse_message(data)
            assert reply == McpMessage({"jsonrpc": "2.0", "id": request_id, "error": {"message": message}})


def strict(frame: str) -> bool:
    """Whether a frame begins and ends as the firmware's errors do."""
    return frame.startswith('{"session_id":"') and ',"error":{' in frame and frame.endswith('"}}}')


@given(st.data())
def test_nothing_else_that_is_no_json_is_taken_for_an_error(data: st.DataObject) -> None:
    """A frame with something cut out, doubled or put in."""
    frame = frame_of('say "hi"', data.draw(st.integers(0, 2**40)))
    start = data.draw(st.integers(0, len(frame)))
    end = data.draw(st.integers(start, len(frame)))
    mutant = frame[:start] + data.draw(st.text(max_size=5)) + frame[end:]
    with contextlib.suppress(ValueError):
        json.loads(mutant)
        return
    try:
        reply = parse_message(mutant)
    except MessageError:
        return
    assert isinstance(reply, McpMessage)
    assert strict(mutant)
    assert reply.payload.keys() == {"jsonrpc", "id", "error"}
    assert 0 <= reply.payload["id"] < 2**31


@pytest.mark.parametrize(
    "frame",
    [
        frame_of('"', 2**31),
        frame_of('"').replace('"error"', '"result"'),
        frame_of('"').replace('"a1"', '"a"1"'),
        frame_of('"') + " ",
        frame_of('"')[:-1],
    ],
)
def test_a_broken_frame_of_another_shape_is_dropped(frame: str) -> None:
    with pytest.raises(MessageError, match="not JSON"):
        parse_message(frame)


def test_messages_to_the_device_have_all_that_firmware_and_programs_read() -> None:
    """Other messages are read by the simulator, as `application.cc` does it."""
    assert messages.server_hello(transport="udp", session_id="s", udp={"port": 8765}) == {
        "type": "hello",
        "transport": "udp",
        "session_id": "s",
        "audio_params": {"format": "opus", "sample_rate": 24000, "channels": 1, "frame_duration": 60},
        "version": 3,
        "udp": {"port": 8765},
    }
    assert messages.face("happy") == {"type": "llm", "emotion": "happy", "text": "🙂"}
    assert messages.face("a face of 2027")["text"]


def test_texts_are_cut_to_more_than_a_screen_shows() -> None:
    endless = messages.alert(status="a", message="." * 30_000, emotion="c")["message"]
    assert (len(endless), endless[-2:]) == (2000, ".…")
    assert len(messages.transcript("." * 30_000)["text"]) == 2000


def test_messages_are_encoded_without_waste() -> None:
    """No blanks and no escapes: the device copies every frame into scarce RAM."""
    assert messages.encode({"type": "stt", "text": "Küche 灯"}) == '{"type":"stt","text":"Küche 灯"}'


@pytest.mark.parametrize(
    ("text", "face"),
    [("Done 😊", "happy"), ("😢 Sorry.", "crying"), ("No face.", None), ("", None), ("🦖 😎 🙂", "cool")],
)
def test_the_first_known_emoji_gives_the_face(text: str, face: str | None) -> None:
    assert face_of(text) == face


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


# The receive buffer of some firmware.
LIMIT = 1440


def test_what_fits_is_not_changed() -> None:
    message = messages.tts_caption("x" * 1380)
    assert encode_within(message, LIMIT) == messages.encode(message)


@given(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=400), st.sampled_from(["", "Door", "ß" * 900])
)
def test_a_text_is_cut_between_two_characters_and_as_little_as_needed(text: str, status: str) -> None:
    message = messages.alert(status=status, message=text * 4, emotion="happy")
    encoded = encode_within(message, LIMIT)
    assert len(encoded.encode()) <= LIMIT
    shown = json.loads(encoded)
    assert shown.keys() == message.keys()
    assert shown["emotion"] == "happy"
    for name in ("status", "message"):
        assert shown[name] == message[name] or message[name].startswith(shown[name].removesuffix("…"))
    escaped = json.dumps(text, ensure_ascii=False) != f'"{text}"'
    if encoded != messages.encode(message) and not escaped:
        # Another character has at most four bytes.
        assert len(encoded.encode()) >= LIMIT - 4


@pytest.mark.parametrize("size", [1441, 60_000])
def test_what_would_be_another_request_is_refused(size: int) -> None:
    payload = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x" * size}}
    with pytest.raises(MessageTooLongError, match="longer than the 1440 bytes"):
        encode_within(messages.mcp(payload), LIMIT)
