"""Shortens messages for devices that cannot take long ones."""

from bisect import bisect_right
from functools import partial
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
    if _size(encoded) <= limit:
        return encoded
    texts = [name for name in _TEXTS if isinstance(message.get(name), str)]
    for name in sorted(texts, key=lambda name: len(message[name]), reverse=True):
        # The longest beginning that fits, or an empty text. No character takes less than a byte.
        message = message | {name: message[name][:limit]}
        size = partial(_size_with, message, name)
        length = bisect_right(range(len(message[name])), limit, key=size) - 1
        message = _with_cut(message, name, max(length, 0))
        if length >= 0:
            return encode(message)
    raise MessageTooLongError(
        f"the request of {_size(encoded)} bytes is longer than the {limit} bytes that this firmware takes"
    )


def _with_cut(message: JsonObject, name: str, length: int) -> JsonObject:
    return message | {name: message[name][:length] + _ELLIPSIS}


def _size_with(message: JsonObject, name: str, length: int) -> int:
    return _size(encode(_with_cut(message, name, length)))


def _size(encoded: str) -> int:
    return len(encoded.encode(errors="replace"))
