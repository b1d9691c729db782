"""Replies of a device's MCP server that are no JSON."""

from contextlib import suppress
import json

from hypothesis import example, given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.messages import McpMessage, MessageError, parse_message


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
    with suppress(ValueError):
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
        '{"session_id":"a1","type":"listen","state":"detect","text":"say "hi""}',
        frame_of('"', 2**31),
        frame_of('"').replace('"error"', '"result"'),
        frame_of('"').replace("2.0", "1.0"),
        frame_of('"').replace('"a1"', '"a"1"'),
        frame_of('"') + " ",
        "x" + frame_of('"'),
        frame_of('"')[:-1],
    ],
)
def test_a_broken_frame_of_another_shape_is_dropped(frame: str) -> None:
    with pytest.raises(MessageError, match="not JSON"):
        parse_message(frame)
