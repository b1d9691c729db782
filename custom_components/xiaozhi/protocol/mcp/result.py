"""Results of tools, checked. They come in one message, which bounds them."""

from dataclasses import dataclass, field
import json
from typing import Any, Final, Self

from ...util.text import clean_text
from ...util.untrusted_json import parse_json
from ..messages import MAX_MESSAGE_BYTES, JsonObject
from .failure import reason_in, reported_failure
from .model import McpProtocolError

# Kinds of content other than text.
_CONTENT_TYPES: Final = frozenset({"audio", "image", "resource", "resource_link"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """Result of a tool; empty if none came, as from tools that restart the device."""

    text: str | None = None
    """All text items, one per line."""
    texts: tuple[str, ...] = ()
    """The same, if there are several."""
    structured: JsonObject | None = field(default=None, hash=False)
    """`structuredContent`."""
    items: tuple[JsonObject, ...] = field(default=(), hash=False)
    """All other items in the standard's form: images, audio, resources and links to them."""
    is_error: bool = False

    @classmethod
    def from_dict(cls, result: JsonObject) -> Self:
        """Read the result of `tools/call`; unknown content is ignored. Raises `McpProtocolError`."""
        content, structured = result.get("content"), result.get("structuredContent")
        if not isinstance(structured, dict):
            structured = None
        if not isinstance(content, list):
            if structured is None:
                raise McpProtocolError("the result has no content")
            content = []
        texts: list[str] = []
        items: list[JsonObject] = []
        for item in content:
            match item:
                case {"type": "text", "text": str(text)}:
                    texts.append(text)
                case {"type": "text"}:
                    raise McpProtocolError("a text of the result is not a text")
                case {"type": "image", "image": str(source)}:
                    items.append({"type": "image"} | _image(source))
                case {"type": str(kind)} if kind in _CONTENT_TYPES:
                    items.append(item)
        return cls(
            text=clean_text("\n".join(texts), MAX_MESSAGE_BYTES) if texts else None,
            texts=tuple(texts) if len(texts) > 1 else (),
            structured=structured,
            items=tuple(items),
            is_error=result.get("isError") is True,
        )

    def json(self) -> Any:
        """Parse the text as JSON; None if it is not JSON."""
        try:
            return parse_json(self.text or "")
        except ValueError:
            return None

    @property
    def value(self) -> Any:
        """The text, parsed if it is JSON, or the data without one; None if both are missing."""
        if self.text is not None:
            parsed = self.json()
            return self.text if parsed is None else parsed
        if self.structured is not None:
            return self.structured
        return self.items[0] if len(self.items) == 1 else list(self.items) or None

    @property
    def reason(self) -> str:
        """The reason of an error, if given."""
        if self.text or self.structured is None:
            return self.text or ""
        return reason_in(self.structured) or json.dumps(self.structured)

    @property
    def failure(self) -> str | None:
        """The reason of a failure that a successful answer reports, "" without one; None for success."""
        value = self.json()
        failures = map(reported_failure, (self.text if value is None else value, self.structured))
        return next((reason for reason in failures if reason is not None), None)


def _image(source: str) -> JsonObject:
    """Return the members of an image, which the firmware writes as JSON in a text (`main/mcp_server.h`)."""
    try:
        members = parse_json(source)
    except ValueError as err:
        raise McpProtocolError("the image is not a JSON object") from err
    if not isinstance(members, dict):
        raise McpProtocolError("the image is not a JSON object")
    return members
