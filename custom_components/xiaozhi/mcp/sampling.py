"""Answers a device's questions by the AI Task that the owner prefers."""

import asyncio
import logging
import mimetypes
from pathlib import Path
import tempfile
from typing import Any, Final

from homeassistant.components import ai_task, conversation
from homeassistant.components.ai_task.const import DATA_COMPONENT, DATA_PREFERENCES
from homeassistant.core import HomeAssistant
from homeassistant.helpers.chat_session import async_get_chat_session

from ..device.device import Device
from ..protocol.mcp.client import ImageContent, RequestError
from ..protocol.mcp.sampling import SamplingRequest
from ..protocol.messages import JsonObject
from ..protocol.text import clean_text, one_line
from .question_limit import QuestionLimit

__all__ = ["AiQuestions"]

_LOGGER = logging.getLogger(__name__)

# One question in half a minute in the long run: each may cost the owner money.
_RATE: Final = 1 / 30
_BURST: Final = 5
_CHARACTERS_PER_TOKEN: Final = 4

_REJECTED: Final = -1
_TASK_NAME: Final = "XiaoZhi question"


class AiQuestions:
    """Answers the questions of one device, one at a time."""

    def __init__(self, hass: HomeAssistant, device: Device) -> None:
        self._hass = hass
        self._device = device
        self._limit = QuestionLimit(hass.loop.time, rate=_RATE, burst=_BURST)

    async def answer(self, params: JsonObject) -> JsonObject:
        """Return the result of `sampling/createMessage`. Raises `RequestError`."""
        request = SamplingRequest.from_dict(params)
        with self._limit.question():
            text = await self._answer(request)
        limit = request.max_tokens * _CHARACTERS_PER_TOKEN
        return {
            "role": "assistant",
            "content": {"type": "text", "text": clean_text(text, limit)},
            "model": "Home Assistant AI Task",
            "stopReason": "maxTokens" if len(text) > limit else "endTurn",
        }

    async def _answer(self, request: SamplingRequest) -> str:
        try:
            async with asyncio.timeout(self._device.timeouts.session.ai_answer):
                return await self._generate(request)
        except TimeoutError as err:
            raise RequestError("The language model took too long", _REJECTED) from err
        except RequestError:
            raise
        except Exception as err:
            # An AI integration may raise anything, and the device waits for an answer.
            _LOGGER.warning("The AI Task that a device has asked failed: %s", one_line(str(err)))
            raise RequestError("The language model failed", _REJECTED) from err

    async def _generate(self, request: SamplingRequest) -> str:
        entity = self._entity(with_images=bool(request.images))
        folder: tempfile.TemporaryDirectory[str] | None = None
        attachments: list[conversation.Attachment] = []
        if request.images:
            folder, attachments = await self._hass.async_add_executor_job(_write, request.images)
        try:
            with async_get_chat_session(self._hass) as session:
                # No LLM API: the words of a device can influence what the model says, but cannot call tools.
                # Home Assistant's own function takes pictures of entities only.
                task = ai_task.GenDataTask(
                    name=_TASK_NAME,
                    instructions=_instructions(request),
                    attachments=attachments or None,
                )
                result: Any = await entity.internal_async_generate_data(session, task)
        finally:
            if folder is not None:
                await self._hass.async_add_executor_job(folder.cleanup)
        return str(result.data)

    def _entity(self, *, with_images: bool) -> ai_task.AITaskEntity:
        """Return the AI Task that the owner prefers, which alone is asked. Raises `RequestError`."""
        entity_id = self._hass.data[DATA_PREFERENCES].gen_data_entity_id
        entity = self._hass.data[DATA_COMPONENT].get_entity(entity_id) if entity_id else None
        needed = ai_task.AITaskEntityFeature.GENERATE_DATA
        if with_images:
            needed |= ai_task.AITaskEntityFeature.SUPPORT_ATTACHMENTS
        if entity is None or needed not in entity.supported_features:
            raise RequestError("Home Assistant has no language model for this question", _REJECTED)
        return entity


def _instructions(request: SamplingRequest) -> str:
    """Return the question as one text."""
    lines = [request.system_prompt] if request.system_prompt else []
    if len(request.messages) == 1:
        lines.append(request.messages[0].text)
    else:
        lines += [f"{message.role}: {message.text}" for message in request.messages]
    return "\n\n".join([*lines, f"Answer with plain text of at most {request.max_tokens} tokens."])


def _write(
    images: tuple[ImageContent, ...],
) -> tuple[tempfile.TemporaryDirectory[str], list[conversation.Attachment]]:
    """Write images into a folder of their own. Not in the loop."""
    folder = tempfile.TemporaryDirectory(prefix="xiaozhi-")
    attachments = []
    for number, image in enumerate(images):
        path = Path(folder.name) / f"{number}{mimetypes.guess_extension(image.mime_type) or ''}"
        path.write_bytes(image.data)
        attachments.append(
            conversation.Attachment(
                media_content_id=f"xiaozhi/{number}", mime_type=image.mime_type, path=path
            )
        )
    return folder, attachments
