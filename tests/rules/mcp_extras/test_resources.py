"""Resources and prompts of a device, whatever it answers: bounded, and safe to show and to store."""

from typing import Any

import pytest

from custom_components.xiaozhi.guests.mcp_extras.resources import (
    get_prompt,
    list_prompts,
    list_resources,
    read_resource,
)
from custom_components.xiaozhi.protocol.mcp.model import McpProtocolError
from tests.protocol.mcp.device import Device

URI = "sensor://air"
DEEP = "[" * 50 + "]" * 50


async def test_a_list_leaves_out_what_cannot_be_asked_for() -> None:
    """What has no URI or name, or a malformed one."""
    device = Device(
        resources_list=lambda _: {
            "result": {"resources": ["air", {}, {"uri": "a\nb"}, {"uri": "x" * 1025}, {"uri": URI}]}
        },
        prompts_list=lambda _: {
            "result": {
                "prompts": ["greet", {}, {"name": 1}, {"name": "greet", "arguments": [1, {"name": "who"}]}]
            }
        },
    )
    nothing = {"title": None, "description": ""}
    assert await list_resources(device.client) == [{"uri": URI, "name": None, "mime_type": None, **nothing}]
    assert await list_prompts(device.client) == [
        {"name": "greet", **nothing, "arguments": [{"name": "who", **nothing, "required": False}]}
    ]


@pytest.mark.parametrize(
    "contents",
    [
        None,
        [{"uri": URI, "text": ""}] * 65,
        ["air"],
        [{"uri": URI}],
        [{"uri": URI, "text": 5}],
        [{"uri": "a\nb", "text": "5"}],
        [{"uri": URI, "blob": "no base64!"}],
    ],
)
async def test_a_malformed_resource_is_an_error(contents: Any) -> None:
    device = Device(resources_read=lambda _: {"result": {"contents": contents}})
    with pytest.raises(McpProtocolError):
        await read_resource(device.client, URI)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("21.5", 21.5),
        ("[1, null]", [1, None]),
        ("{", "{"),
        ("very\x00warm", "very warm"),
        ("NaN", "NaN"),
        (DEEP, DEEP),
    ],
)
async def test_a_text_that_is_json_has_its_value(text: str, value: Any) -> None:
    """Any other text is its own value, and so is JSON that is nested too deep."""
    device = Device(resources_read=lambda _: {"result": {"contents": [{"uri": URI, "text": text}]}})
    [content] = await read_resource(device.client, URI)
    assert content["value"] == value


async def test_a_message_of_a_prompt_that_is_no_text_is_handed_on() -> None:
    picture = {"type": "image", "data": "iVBOR", "mimeType": "image/png"}
    messages = [{"role": "assistant", "content": picture}]
    device = Device(prompts_get=lambda _: {"result": {"messages": messages}})
    assert await get_prompt(device.client, "greet", {}) == messages


@pytest.mark.parametrize(
    "message", ["hello", {"role": "user"}, {"role": "system", "content": {"type": "text", "text": "hello"}}]
)
async def test_a_malformed_message_of_a_prompt_is_an_error(message: Any) -> None:
    device = Device(prompts_get=lambda _: {"result": {"messages": [message]}})
    with pytest.raises(McpProtocolError):
        await get_prompt(device.client, "greet", {})
