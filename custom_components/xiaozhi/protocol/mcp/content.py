"""Content of results in the standard's form, and the bounds of all that a device offers by name."""

import base64
from dataclasses import dataclass, field
import re
from typing import Any, Final, Self

from ..messages import MAX_MESSAGE_BYTES, JsonObject
from ..text import clean_text, label
from ..untrusted_json import parse_json
from .model import McpProtocolError, is_bounded

__all__ = [
    "CONTENT_TYPES",
    "ImageContent",
    "Named",
    "is_content_bounded",
    "is_for_user_only",
    "mime_type_of",
    "parse_image",
    "title_of",
]

_MAX_NAME: Final = 128
_MAX_DESCRIPTION: Final = 1024
_MAX_DEPTH: Final = 32
_IMAGE_TYPE: Final = re.compile(r"image/[a-z0-9][a-z0-9.+-]{0,40}")
_MIME_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9.+-]{0,40}/[a-z0-9][a-z0-9.+-]{0,60}")

CONTENT_TYPES: Final = frozenset({"audio", "image", "resource", "resource_link"})
"""Kinds of content other than text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageContent:
    """An image in a result."""

    data: bytes = field(repr=False)
    mime_type: str

    def as_item(self) -> JsonObject:
        """Return the image in the standard's form."""
        data = base64.b64encode(self.data).decode()
        return {"type": "image", "data": data, "mimeType": self.mime_type}


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What a device says about something that it offers."""

    name: str
    title: str | None = None
    """Name for people."""
    description: str = ""
    """In the device's words."""

    @classmethod
    def from_dict(cls, data: Any) -> Self | None:
        """Read the common members; None without a name of bounded length."""
        match data:
            case {"name": str(name)} if name.isprintable() and 0 < len(name) <= _MAX_NAME:
                pass
            case _:
                return None
        description = data.get("description")
        return cls(
            name=name,
            title=title_of(data),
            description=clean_text(description, _MAX_DESCRIPTION) if isinstance(description, str) else "",
        )

    def as_dict(self) -> JsonObject:
        """Return the form that `from_dict` reads."""
        data: JsonObject = {"name": self.name}
        if self.title is not None:
            data["title"] = self.title
        return data | ({"description": self.description} if self.description else {})

    @property
    def shown(self) -> str:
        """The name to show to people."""
        return self.title or self.name


def title_of(data: JsonObject) -> str | None:
    """Return the name for people, which is among the annotations in the standard of 2025-03-26."""
    annotations = data.get("annotations")
    titles = [data.get("title"), annotations.get("title") if isinstance(annotations, dict) else None]
    return next((shown for title in titles if (shown := label(title))), None)


def is_for_user_only(annotations: Any) -> bool:
    """Whether something must be hidden from language models."""
    match annotations:
        case {"audience": [*audience]}:
            return "user" in audience and "assistant" not in audience
    return False


def mime_type_of(data: JsonObject) -> str | None:
    """Return the MIME type in lower case without parameters; None if it is missing or malformed."""
    value = data.get("mimeType")
    plain = value.partition(";")[0].strip().lower() if isinstance(value, str) else ""
    return plain if _MIME_TYPE.fullmatch(plain) else None


def is_content_bounded(value: Any) -> bool:
    """Whether content has bounded size and depth."""
    return is_bounded(value, size=MAX_MESSAGE_BYTES, depth=_MAX_DEPTH)


def parse_image(item: JsonObject) -> ImageContent:
    """Read a standard image item, or the firmware's: the same object, as JSON text under the key `image`.

    Raises `McpProtocolError`.
    """
    source: Any = item.get("image", item)
    if isinstance(source, str):
        try:
            source = parse_json(source)
        except ValueError as err:
            raise McpProtocolError("the image is not a JSON object") from err
    match source:
        case {"data": str(data), "mimeType": str(mime_type)} if _IMAGE_TYPE.fullmatch(mime_type):
            if len(data) > MAX_MESSAGE_BYTES:
                raise McpProtocolError(f"the image has more than {MAX_MESSAGE_BYTES} characters")
            try:
                return ImageContent(data=base64.b64decode(data, validate=True), mime_type=mime_type)
            except ValueError as err:
                raise McpProtocolError("the image is not base64") from err
    raise McpProtocolError("the image has no data or no image type")
