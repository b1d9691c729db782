"""Resources and prompts of a device's MCP server.

The URI of a resource is a name that only the device understands: it is sent back and never opened, whatever
its scheme. Answers of the device are bounded, and their texts are safe to show and to store.
"""

import base64
from collections.abc import Mapping
from typing import Any, Final

from ...protocol.mcp.client import McpClient
from ...protocol.mcp.model import McpProtocolError
from ...protocol.messages import MAX_MESSAGE_BYTES, JsonObject
from ...util.text import clean_data, clean_text, label
from ...util.untrusted_json import parse_json

MAX_URI: Final = 1024
_MAX_ITEMS: Final = 256
_MAX_PARTS: Final = 64


def is_uri(value: object) -> bool:
    """Whether a value can be a URI of a resource: its scheme and its form do not matter."""
    return isinstance(value, str) and 0 < len(value) <= MAX_URI and value.isprintable()


async def list_resources(mcp: McpClient) -> list[JsonObject]:
    """Return the descriptions of the device's resources. Raises `McpError`."""

    def read(item: object) -> tuple[str, JsonObject] | None:
        if not isinstance(item, dict) or not is_uri(item.get("uri")):
            return None
        return item["uri"], {"uri": item["uri"], **_described(item), "mime_type": label(item.get("mimeType"))}

    return list(await mcp.list_items("resources/list", "resources", read, _MAX_ITEMS))


async def list_prompts(mcp: McpClient) -> list[JsonObject]:
    """Return the descriptions of the device's prompts. Raises `McpError`."""

    def read(item: object) -> tuple[str, JsonObject] | None:
        if not isinstance(item, dict) or not (name := label(item.get("name"))):
            return None
        listed = item.get("arguments")
        arguments = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        return name, _described(item) | {
            "arguments": [
                _described(argument) | {"required": argument.get("required") is True}
                for argument in arguments[:_MAX_PARTS]
            ]
        }

    return list(await mcp.list_items("prompts/list", "prompts", read, _MAX_ITEMS))


async def read_resource(mcp: McpClient, uri: str) -> list[JsonObject]:
    """Return the contents of a resource. Raises `McpError`."""
    reply = await mcp.request("resources/read", {"uri": uri})
    return [_content(item) for item in _parts(reply, "contents")]


async def get_prompt(mcp: McpClient, name: str, arguments: Mapping[str, str]) -> list[JsonObject]:
    """Return the messages of a prompt with its arguments put in. Raises `McpError`."""
    reply = await mcp.request("prompts/get", {"name": name, "arguments": dict(arguments)})
    return [_message(item) for item in _parts(reply, "messages")]


def _described(item: JsonObject) -> JsonObject:
    description = item.get("description")
    return {
        "name": label(item.get("name")),
        "title": label(item.get("title")),
        "description": clean_text(description, 1024) if isinstance(description, str) else "",
    }


def _parts(reply: JsonObject, member: str) -> list[Any]:
    parts = reply.get(member)
    if not isinstance(parts, list) or len(parts) > _MAX_PARTS:
        raise McpProtocolError(f"the answer has no {member}, or too many")
    return parts


def _content(item: Any) -> JsonObject:
    match item:
        case {"uri": uri, "text": str(text)} if is_uri(uri):
            content = {"text": clean_text(text, MAX_MESSAGE_BYTES), "value": _value(text)}
        case {"uri": uri, "blob": str(blob)} if is_uri(uri):
            try:
                base64.b64decode(blob, validate=True)
            except ValueError as err:
                raise McpProtocolError("the resource is not base64") from err
            content = {"data": blob}
        case _:
            raise McpProtocolError("the resource has neither a text nor data")
    return {"uri": uri, "mime_type": label(item.get("mimeType")), **content}


def _message(item: object) -> JsonObject:
    match item:
        case {"role": "user" | "assistant" as role, "content": {"type": "text", "text": str(text)}}:
            return {"role": role, "text": clean_text(text, MAX_MESSAGE_BYTES)}
        case {"role": "user" | "assistant" as role, "content": {"type": str()} as content}:
            return {"role": role, "content": clean_data(content)}
    raise McpProtocolError("a message of the prompt has no role or no content")


def _value(text: str) -> Any:
    try:
        return clean_data(parse_json(text))
    except ValueError:
        return clean_text(text, MAX_MESSAGE_BYTES)
