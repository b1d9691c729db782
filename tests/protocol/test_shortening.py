"""Messages that are cut for firmware with a small receive buffer."""

import json

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol import messages
from custom_components.xiaozhi.protocol.shortening import MessageTooLongError, encode_within

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
