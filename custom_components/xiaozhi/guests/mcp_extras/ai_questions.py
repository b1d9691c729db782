"""Answers a device's questions to a language model, by the AI Task that the owner prefers."""

import asyncio
import logging
from typing import Final

from ...device.device import Device
from ...protocol.mcp.model import RequestError
from ...protocol.messages import JsonObject
from ...util.text import clean_text, one_line

_LOGGER = logging.getLogger(__name__)

# For the language model.
_PATIENCE: Final = 120.0
_MAX_MESSAGES: Final = 32
_MAX_TEXT: Final = 16 * 1024
_CHARACTERS_PER_TOKEN: Final = 4

_REJECTED: Final = -1
# Imported where it is used: it takes half as long as everything else together, and not everybody has a model.
_AI_TASK: Final = "ai_task"


async def ask_ai(device: Device, params: JsonObject) -> JsonObject:
    """Return the result of `sampling/createMessage`. Raises `RequestError`."""
    question, limit = read_question(params)
    text = await _generate(device, question)
    return {
        "role": "assistant",
        "content": {"type": "text", "text": clean_text(text, limit)},
        "model": "Home Assistant AI Task",
        "stopReason": "maxTokens" if len(text) > limit else "endTurn",
    }


async def _generate(device: Device, question: str) -> str:
    if _AI_TASK not in device.hass.config.components:
        raise RequestError("Home Assistant has no language model for this question", _REJECTED)
    from homeassistant.components import ai_task  # noqa: PLC0415 - loaded by now

    try:
        async with asyncio.timeout(_PATIENCE):
            # No LLM API: the words of a device can influence what the model says, but cannot call tools.
            result = await ai_task.async_generate_data(
                device.hass, task_name="XiaoZhi question", instructions=question
            )
    except TimeoutError as err:
        raise RequestError("The language model took too long", _REJECTED) from err
    except Exception as err:
        # The owner may prefer none, an AI integration may raise anything, and the device waits.
        _LOGGER.warning("The AI Task that a device has asked failed: %s", one_line(str(err)))
        raise RequestError("The language model failed", _REJECTED) from err
    return str(result.data)


def read_question(params: JsonObject) -> tuple[str, int]:
    """Return a question as one text, and the number of characters that its answer may have.

    Raises `RequestError` for unsupported questions: with tools, pictures or sound, or too large.
    """
    if params.get("tools") or params.get("toolChoice"):
        raise RequestError("Tools are not supported")
    listed, max_tokens = params.get("messages"), params.get("maxTokens")
    if not isinstance(listed, list) or not 0 < len(listed) <= _MAX_MESSAGES:
        raise RequestError(f"1 to {_MAX_MESSAGES} messages are supported")
    if type(max_tokens) is not int or max_tokens < 1:
        raise RequestError("maxTokens is no positive number")
    tokens = min(max_tokens, 4096)
    messages = [_message(message) for message in listed]
    system = params.get("systemPrompt")
    lines = [system] if isinstance(system, str) else []
    lines += [text if len(messages) == 1 else f"{role}: {text}" for role, text in messages]
    if sum(map(len, lines)) > _MAX_TEXT:
        raise RequestError(f"At most {_MAX_TEXT} characters are supported")
    lines.append(f"Answer with plain text of at most {tokens} tokens.")
    return clean_text("\n\n".join(lines), 2 * _MAX_TEXT), tokens * _CHARACTERS_PER_TOKEN


def _message(message: object) -> tuple[str, str]:
    match message:
        case {"role": "user" | "assistant" as role, "content": [*parts]}:
            return role, "\n".join(map(_text, parts))
        case {"role": "user" | "assistant" as role, "content": {} as part}:
            return role, _text(part)
    raise RequestError("A message has no role or no content")


def _text(part: object) -> str:
    match part:
        case {"type": "text", "text": str(text)}:
            return text
    raise RequestError("Only texts are supported")
