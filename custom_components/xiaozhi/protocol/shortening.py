"""Shortens messages for devices that cannot take long ones."""

from typing import Final

from .messages import JsonObject, encode

# Members that are only shown, and so may be cut.
_TEXTS: Final = ("text", "message", "status")
_ELLIPSIS: Final = "…"


class MessageTooLongError(Exception):
    """A message is too long for the device and must not be cut."""


def encode_within(message: JsonObject, limit: int) -> str:
    """Encode a message in at most `limit` bytes of UTF-8, cutting its longest text between two characters.

    Raises `MessageTooLongError` if cutting texts is not enough.
    """
    encoded = encode(message)
    texts = [name for name in _TEXTS if isinstance(message.get(name), str)]
    for name in sorted(texts, key=lambda name: len(message[name]), reverse=True):
        if (surplus := _bytes(encoded) - limit) <= 0:
            break
        # A byte of a text is at least one in the JSON.
        room = max(0, _bytes(message[name]) - surplus - _bytes(_ELLIPSIS))
        kept = message[name].encode(errors="replace")[:room].decode(errors="ignore")
        message = message | {name: kept + _ELLIPSIS}
        encoded = encode(message)
    if (size := _bytes(encoded)) > limit:
        raise MessageTooLongError(
            f"the request of {size} bytes is longer than the {limit} bytes that this firmware takes"
        )
    return encoded


def _bytes(text: str) -> int:
    return len(text.encode(errors="replace"))
