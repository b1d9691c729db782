"""The resources of a device's MCP server.

A URI is a name that only the device understands: it is compared and sent back, and never opened, whatever its
scheme. Everything is bounded and checked, and safe to store and show.
"""

import base64
from dataclasses import dataclass, field
from typing import Any, Final, Self, override

from ..messages import MAX_MESSAGE_BYTES, JsonObject
from ..text import clean_text, is_encodable
from .content import Named, is_for_user_only, mime_type_of
from .model import McpProtocolError

__all__ = ["MAX_URI", "Resource", "ResourceContents", "ResourceTemplate", "is_uri", "parse_contents"]

MAX_URI: Final = 1024
"""Limit for the length of a URI, in characters."""
_MAX_CONTENTS: Final = 32
_MAX_SIZE: Final = 2**53


def is_uri(value: Any) -> bool:
    """Whether a value can be a URI of a resource: its scheme and its form do not matter."""
    return (
        isinstance(value, str) and 0 < len(value) <= MAX_URI and value.isprintable() and is_encodable(value)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource(Named):
    """A resource that a device has listed."""

    uri: str
    mime_type: str | None = None
    size: int | None = None
    """In bytes, if the device says so."""
    user_only: bool = False
    """Whether it must be hidden from language models."""

    @classmethod
    @override
    def from_dict(cls, data: Any) -> Self | None:
        """Read a resource from a page of the list or from storage; None if it is malformed or too large."""
        if (named := Named.from_dict(data)) is None or not is_uri(data.get("uri")):
            return None
        size = data.get("size")
        return cls(
            name=named.name,
            title=named.title,
            description=named.description,
            uri=data["uri"],
            mime_type=mime_type_of(data),
            size=size if type(size) is int and 0 <= size <= _MAX_SIZE else None,
            user_only=is_for_user_only(data.get("annotations")),
        )

    @override
    def as_dict(self) -> JsonObject:
        """Return the form that `from_dict` reads."""
        data = Named.as_dict(self) | {"uri": self.uri}
        if self.mime_type is not None:
            data["mimeType"] = self.mime_type
        if self.size is not None:
            data["size"] = self.size
        return data | ({"annotations": {"audience": ["user"]}} if self.user_only else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceTemplate(Named):
    """A template for the URIs of resources (RFC 6570)."""

    uri_template: str
    mime_type: str | None = None

    @classmethod
    @override
    def from_dict(cls, data: Any) -> Self | None:
        """Read a template from a page of the list or from storage; None if it is malformed or too large."""
        if (named := Named.from_dict(data)) is None or not is_uri(data.get("uriTemplate")):
            return None
        return cls(
            name=named.name,
            title=named.title,
            description=named.description,
            uri_template=data["uriTemplate"],
            mime_type=mime_type_of(data),
        )

    @override
    def as_dict(self) -> JsonObject:
        """Return the form that `from_dict` reads."""
        data = Named.as_dict(self) | {"uriTemplate": self.uri_template}
        return data | ({"mimeType": self.mime_type} if self.mime_type is not None else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceContents:
    """One content of a resource: a text or bytes."""

    uri: str
    mime_type: str | None = None
    text: str | None = None
    data: bytes | None = field(default=None, repr=False)

    @classmethod
    def from_dict(cls, item: Any) -> Self:
        """Read an item of `contents`. Raises `McpProtocolError`."""
        match item:
            case {"uri": uri, "text": str(text)} if is_uri(uri):
                return cls(uri=uri, mime_type=mime_type_of(item), text=clean_text(text, MAX_MESSAGE_BYTES))
            case {"uri": uri, "blob": str(blob)} if is_uri(uri) and len(blob) <= MAX_MESSAGE_BYTES:
                try:
                    data = base64.b64decode(blob, validate=True)
                except ValueError as err:
                    raise McpProtocolError("the resource is not base64") from err
                return cls(uri=uri, mime_type=mime_type_of(item), data=data)
        raise McpProtocolError("the resource has neither a text nor data")


def parse_contents(result: JsonObject) -> tuple[ResourceContents, ...]:
    """Read the result of `resources/read`. Raises `McpProtocolError`."""
    contents = result.get("contents")
    if not isinstance(contents, list) or len(contents) > _MAX_CONTENTS:
        raise McpProtocolError(f"the resource has no contents, or more than {_MAX_CONTENTS}")
    return tuple(ResourceContents.from_dict(item) for item in contents)
