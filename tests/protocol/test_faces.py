"""Which face goes with an answer."""

import pytest

from custom_components.xiaozhi.protocol.faces import face_of


@pytest.mark.parametrize(
    ("text", "face"),
    [("Done 😊", "happy"), ("😢 Sorry.", "crying"), ("No face.", None), ("", None), ("🦖 😎 🙂", "cool")],
)
def test_the_first_known_emoji_gives_the_face(text: str, face: str | None) -> None:
    assert face_of(text) == face
