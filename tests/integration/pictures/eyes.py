"""A scripted AI Task that answers questions about photos; everything around it is real."""

import asyncio
from collections.abc import Callable
import io
from pathlib import Path
from typing import override

from homeassistant.components import conversation
from homeassistant.components.ai_task import AITaskEntity, AITaskEntityFeature, GenDataTask, GenDataTaskResult
from homeassistant.components.ai_task.const import DATA_PREFERENCES
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from PIL import Image

from simulator import SimulatedDevice
from tests.integration.provisioning.forms import texts
from tests.integration.speech import add_entities


def sentence(key: str) -> str:
    message: str = texts("exceptions")[key]["message"]
    return message


class ScriptedEyes(AITaskEntity):
    """Returns a scripted answer, and keeps the questions and photos."""

    _attr_name = "Scripted eyes"
    _attr_unique_id = "eyes"
    _attr_supported_features = AITaskEntityFeature.GENERATE_DATA | AITaskEntityFeature.SUPPORT_ATTACHMENTS

    def __init__(self) -> None:
        self.sees: str | Exception = "A cat on the sofa."
        self.ready = asyncio.Event()
        self.ready.set()
        self.questions: list[str] = []
        self.photos: list[bytes] = []
        self.tools: list[object] = []

    @override
    async def _async_generate_data(
        self, task: GenDataTask, chat_log: conversation.ChatLog
    ) -> GenDataTaskResult:
        self.questions.append(task.instructions)
        self.tools.append(chat_log.llm_api)
        paths: list[Path] = [attachment.path for attachment in task.attachments or ()]
        read: Callable[[], list[bytes]] = lambda: [path.read_bytes() for path in paths]  # noqa: E731
        self.photos += await self.hass.async_add_executor_job(read)
        await self.ready.wait()
        if isinstance(self.sees, Exception):
            raise self.sees
        return GenDataTaskResult(conversation_id=chat_log.conversation_id, data=self.sees)


async def open_eyes(hass: HomeAssistant) -> ScriptedEyes:
    """Add the AI Task and make it the one that the owner prefers."""
    eyes = ScriptedEyes()
    await add_entities(hass, "eyes", {Platform.AI_TASK: [eyes]})
    hass.data[DATA_PREFERENCES].async_set_preferences(gen_data_entity_id=eyes.entity_id)
    return eyes


FAILURE = HomeAssistantError("the quota is used up")


def png(width: int, height: int, mode: str = "RGB") -> bytes:
    output = io.BytesIO()
    Image.new(mode, (width, height)).save(output, "PNG")
    return output.getvalue()


def shown_on(device: SimulatedDevice) -> list[tuple[int, int]]:
    """Return the sizes of the pictures that a device has shown."""
    pictures = [event["image"] for event in device.events("screen") if "image" in event]
    return [Image.open(io.BytesIO(picture)).size for picture in pictures]
