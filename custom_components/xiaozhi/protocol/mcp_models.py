"""What a device's MCP server tells about itself: its tools, their arguments and their results.

Source: the firmware's `main/mcp_server.h`. Everything is bounded and checked, so that it can be stored, shown
and put into events as it is.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
import json
import math
import re
from typing import Any, Final, Literal, Self

from .messages import MAX_MESSAGE_BYTES, JsonObject
from .text import clean_text, is_encodable, one_line

__all__ = [
    "ArgumentError",
    "ArgumentFault",
    "ImageContent",
    "McpCallError",
    "McpDisconnectedError",
    "McpError",
    "McpNoAnswerError",
    "McpProtocolError",
    "McpTimeoutError",
    "PropertyKind",
    "ServerInfo",
    "Tool",
    "ToolProperty",
    "ToolResult",
    "VisionEndpoint",
    "check_arguments",
    "is_bounded",
]

# The MCP standard's own limit; the longest name in stock firmware has 31 characters.
_MAX_NAME: Final = 128
# The longest description in stock firmware explains a JSON format in some 2,000 Chinese characters, and what
# breaks the robot at its end; a page of the device's list holds 8,000 bytes.
_MAX_DESCRIPTION: Final = 4096
_MAX_SCHEMA: Final = 4096
_MAX_SCHEMA_DEPTH: Final = 8
_MAX_RESULT_DEPTH: Final = 32
_MAX_LABEL: Final = 64
# The device copies a whole message into RAM; small chips have tens of kilobytes of it.
_MAX_ARGUMENT_BYTES: Final = 4096
_MAX_ARGUMENT_DEPTH: Final = 8
_INT32: Final = (-(2**31), 2**31 - 1)
_IMAGE_TYPE: Final = re.compile(r"image/[a-z0-9][a-z0-9.+-]{0,40}")


class McpError(Exception):
    """A call to the device's MCP server gave no result."""


class McpNoAnswerError(McpError):
    """No answer came. `sent` tells whether the device may have done what it was asked all the same."""

    def __init__(self, message: str, *, sent: bool) -> None:
        """Keep whether the call had left us."""
        super().__init__(message)
        self.sent = sent


class McpTimeoutError(McpNoAnswerError):
    """The device did not answer in time."""


class McpDisconnectedError(McpNoAnswerError):
    """The device is gone."""


class McpCallError(McpError):
    """The device refused; the text is its own. Stock firmware gives no `code`."""

    def __init__(self, message: str, code: int | None = None) -> None:
        """Keep the JSON-RPC error code."""
        super().__init__(message)
        self.code = code


class McpProtocolError(McpError):
    """The device's answer is malformed."""


class ArgumentFault(StrEnum):
    """What is wrong with an argument."""

    UNKNOWN = "unknown"
    MISSING = "missing"
    TYPE = "type"
    RANGE = "range"
    """A number out of range, or a value that is too long or cannot be sent."""


def is_bounded(value: Any, *, size: int, depth: int) -> bool:
    """Whether parsed JSON has at most about `size` characters and `depth` levels, and can be encoded again.

    Numbers must be finite and whole numbers fit 64 bits; texts must be valid Unicode. Does not recurse.
    """
    level = [value]
    for _ in range(depth):
        # An item takes at least two characters: its quotes or brackets, or a digit and a comma.
        size -= 2 * len(level)
        if size < 0:
            return False
        deeper: list[Any] = []
        for item in level:
            if isinstance(item, int):
                encodable = -(2**63) <= item < 2**63
            elif isinstance(item, str):
                size -= len(item)
                encodable = is_encodable(item)
            elif isinstance(item, list):
                deeper += item
                continue
            elif isinstance(item, dict):
                deeper += item.keys()
                deeper += item.values()
                continue
            else:
                encodable = item is None or (isinstance(item, float) and math.isfinite(item))
            if not encodable:
                return False
        if not deeper:
            return size >= 0
        level = deeper
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionEndpoint:
    """Where the device sends its photos; it remembers that until it restarts."""

    url: str
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInfo:
    """What the device answers to `initialize`."""

    name: str | None
    """Name of the board."""
    version: str | None
    """Firmware version."""

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Read `serverInfo`; what is missing or of a wrong type becomes None."""
        info = data if isinstance(data, dict) else {}
        return cls(name=_label(info.get("name")), version=_label(info.get("version")))

    def as_dict(self) -> JsonObject:
        """Give what `from_dict` reads."""
        return {"name": self.name, "version": self.version}


def _label(value: Any) -> str | None:
    return one_line(value, _MAX_LABEL) or None if isinstance(value, str) else None


type PropertyKind = Literal["boolean", "integer", "string", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProperty:
    """An argument of a tool. The firmware has booleans, integers and strings; all others are `unknown`."""

    kind: PropertyKind
    default: bool | int | str | None = None
    minimum: int | None = None
    maximum: int | None = None

    @classmethod
    def from_schema(cls, schema: Any) -> Self:
        """Read a JSON schema; limits and defaults that contradict it are dropped."""
        match schema:
            case {"type": "boolean"}:
                return cls(kind="boolean", default=_typed(schema, "default", bool))
            case {"type": "string"}:
                return cls(kind="string", default=_typed(schema, "default", str))
            case {"type": "integer"}:
                minimum, maximum = _typed(schema, "minimum", int), _typed(schema, "maximum", int)
                if minimum is not None and maximum is not None and minimum > maximum:
                    minimum = maximum = None
                default = _typed(schema, "default", int)
                return cls(kind="integer", default=default, minimum=minimum, maximum=maximum)
        return cls(kind="unknown")

    def __str__(self) -> str:
        """Say what values it takes."""
        match self.kind:
            case "boolean":
                return "true or false"
            case "string":
                return f"a text of at most {_MAX_ARGUMENT_BYTES} bytes"
            case "integer":
                return "a whole number from {} to {}".format(*self.limits)
        return f"a JSON value of at most {_MAX_ARGUMENT_BYTES} characters"

    @property
    def limits(self) -> tuple[int, int]:
        """Smallest and largest integer that the device takes; beyond 32 bits it would clamp silently."""
        low, high = _INT32
        return (
            low if self.minimum is None else max(self.minimum, low),
            high if self.maximum is None else min(self.maximum, high),
        )


def _typed[T](schema: JsonObject, key: str, kind: type[T]) -> T | None:
    value = schema.get(key)
    # Not isinstance: a boolean is no integer here.
    return value if type(value) is kind else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolHints:
    """What a device says of the harm that a tool can do (MCP `annotations`); None where it says nothing.

    It may claim anything: a hint can make a tool more dangerous than it looks, never less.
    """

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None

    @classmethod
    def from_dict(cls, annotations: Any) -> Self:
        """Read `annotations`; what is missing or of a wrong type becomes None."""
        known = annotations if isinstance(annotations, dict) else {}
        return cls(**{name: _typed(known, key, bool) for name, key in _HINTS.items()})

    def as_dict(self) -> JsonObject:
        """Give what `from_dict` reads."""
        told = {key: getattr(self, name) for name, key in _HINTS.items()}
        return {key: value for key, value in told.items() if value is not None}


_HINTS: Final = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool of the device."""

    name: str
    description: str
    """What the device says of it, often in Chinese."""
    properties: Mapping[str, ToolProperty] = field(hash=False)
    required: tuple[str, ...]
    """Names of the properties without default."""
    user_only: bool
    """Never to be shown to a language model."""
    title: str | None = None
    """Its name for people; stock firmware gives none."""
    hints: ToolHints = field(default_factory=ToolHints)
    schema: JsonObject = field(hash=False, repr=False)
    """`inputSchema` as the device sent it; not to be changed."""

    @classmethod
    def from_dict(cls, data: Any) -> Self | None:
        """Read a tool of a `tools/list` page, or a stored one; None when it is malformed or too large."""
        match data:
            case {"name": str(name)} if name.isprintable() and 0 < len(name) <= _MAX_NAME:
                schema = data.get("inputSchema", {})
            case _:
                return None
        if not isinstance(schema, dict) or not is_bounded(schema, size=_MAX_SCHEMA, depth=_MAX_SCHEMA_DEPTH):
            return None
        properties, required = schema.get("properties", {}), schema.get("required", [])
        if not isinstance(properties, dict) or not isinstance(required, list):
            return None
        description = data.get("description")
        required_names = {key for key in required if isinstance(key, str)}
        return cls(
            name=name,
            description=clean_text(description, _MAX_DESCRIPTION) if isinstance(description, str) else "",
            properties={key: ToolProperty.from_schema(value) for key, value in properties.items()},
            required=tuple(key for key in properties if key in required_names),
            user_only=_is_for_user_only(data.get("annotations")),
            title=_title(data),
            hints=ToolHints.from_dict(data.get("annotations")),
            schema=schema,
        )

    def as_dict(self) -> JsonObject:
        """Give what `from_dict` reads, which is the form of a `tools/list` page."""
        data: JsonObject = {"name": self.name, "description": self.description, "inputSchema": self.schema}
        if self.title is not None:
            data["title"] = self.title
        annotations = self.hints.as_dict() | ({"audience": ["user"]} if self.user_only else {})
        return data | ({"annotations": annotations} if annotations else {})


def _title(data: JsonObject) -> str | None:
    """Return the name for people, which the standard of 2025-03-26 had among the annotations."""
    annotations = data.get("annotations")
    titles = [data.get("title"), annotations.get("title") if isinstance(annotations, dict) else None]
    shown = (one_line(title, _MAX_LABEL) for title in titles if isinstance(title, str))
    return next((title for title in shown if title), None)


def _is_for_user_only(annotations: Any) -> bool:
    match annotations:
        case {"audience": [*audience]}:
            return "user" in audience and "assistant" not in audience
    return False


class ArgumentError(ValueError):
    """An argument that the device would refuse or silently replace by its default."""

    def __init__(self, name: str, reason: ArgumentFault, expected: ToolProperty | None = None) -> None:
        """Keep the argument's name, what is wrong, and what was expected (None for an unknown argument)."""
        super().__init__(
            one_line(f"{name} must be {expected}" if expected else f"{name} is not an argument of this tool")
        )
        self.name = name
        self.reason = reason
        self.expected = expected


def check_arguments(tool: Tool, arguments: Mapping[str, Any]) -> JsonObject:
    """Check arguments before they are sent, and give what to send: a whole float becomes an integer.

    The firmware itself ignores unknown arguments and takes its default for one of a wrong type
    (`main/mcp_server.cc`, `DoToolCall`). Raises `ArgumentError`.
    """
    for name in arguments:
        if name not in tool.properties:
            raise ArgumentError(name, ArgumentFault.UNKNOWN)
    for name in tool.required:
        if name not in arguments:
            raise ArgumentError(name, ArgumentFault.MISSING, tool.properties[name])
    return {name: _check(name, value, tool.properties[name]) for name, value in arguments.items()}


def _check(name: str, value: Any, expected: ToolProperty) -> Any:
    match expected.kind, value:
        case "boolean", bool():
            return value
        case "integer", bool():
            raise ArgumentError(name, ArgumentFault.TYPE, expected)
        case ("integer", int()) | ("integer", float()) if value % 1 == 0:
            low, high = expected.limits
            if not low <= value <= high:
                raise ArgumentError(name, ArgumentFault.RANGE, expected)
            return int(value)
        case "string", str():
            if not is_encodable(value) or len(value.encode()) > _MAX_ARGUMENT_BYTES:
                raise ArgumentError(name, ArgumentFault.RANGE, expected)
            return value
        case "unknown", _:
            if not is_bounded(value, size=_MAX_ARGUMENT_BYTES, depth=_MAX_ARGUMENT_DEPTH):
                raise ArgumentError(name, ArgumentFault.RANGE, expected)
            return value
    raise ArgumentError(name, ArgumentFault.TYPE, expected)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageContent:
    """An image in a result."""

    data: bytes = field(repr=False)
    mime_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool gave. Without text and image it gave no answer, as tools do that restart the device."""

    text: str | None = None
    """All text items, a line each."""
    image: ImageContent | None = None
    """The first image."""
    is_error: bool = False

    @classmethod
    def from_dict(cls, result: JsonObject) -> Self:
        """Read the result of `tools/call`; content of unknown kind is ignored. Raises `McpProtocolError`."""
        content = result.get("content")
        if not isinstance(content, list):
            raise McpProtocolError("the result has no content")
        texts: list[str] = []
        image: ImageContent | None = None
        for item in content:
            match item:
                case {"type": "text", "text": str(text)}:
                    texts.append(text)
                case {"type": "image"}:
                    image = image or _parse_image(item)
                case {"type": "text"}:
                    raise McpProtocolError("a text of the result is not a text")
        text = "\n".join(texts)
        if len(text) > MAX_MESSAGE_BYTES:
            raise McpProtocolError(f"the result has more than {MAX_MESSAGE_BYTES} characters")
        return cls(
            text=clean_text(text, MAX_MESSAGE_BYTES) if texts else None,
            image=image,
            is_error=result.get("isError") is True,
        )

    def json(self) -> Any:
        """Parse the text as JSON: None when it is not JSON, or too deep or strange to be passed on."""
        try:
            value = json.loads(self.text or "")
        except ValueError, RecursionError:
            return None
        return value if is_bounded(value, size=MAX_MESSAGE_BYTES, depth=_MAX_RESULT_DEPTH) else None


def _parse_image(item: JsonObject) -> ImageContent:
    """Read a standard image item, or the firmware's: the same object as JSON text under the key `image`."""
    source: Any = item.get("image", item)
    if isinstance(source, str):
        try:
            source = json.loads(source)
        except (ValueError, RecursionError) as err:
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
