"""The model: it answers every question with the main colour of the picture."""

from math import dist
from pathlib import Path
from typing import Final, override

from homeassistant.components.ai_task import (
    AITaskEntity,
    AITaskEntityFeature,
    GenDataTask,
    GenDataTaskResult,
)
from homeassistant.components.conversation import ChatLog
from homeassistant.exceptions import HomeAssistantError
from PIL import Image, UnidentifiedImageError

_NAME: Final = "Demo vision"

# The colours that the model knows.
_COLOURS: Final = {
    "black": (0, 0, 0),
    "blue": (0, 0, 255),
    "green": (0, 255, 0),
    "grey": (128, 128, 128),
    "purple": (160, 0, 200),
    "red": (255, 0, 0),
    "white": (255, 255, 255),
    "yellow": (255, 255, 0),
}


class DemoVision(AITaskEntity):
    """Answers every question about a picture with its main colour."""

    _attr_name = _NAME
    _attr_unique_id = "demo_vision"
    _attr_supported_features = AITaskEntityFeature.GENERATE_DATA | AITaskEntityFeature.SUPPORT_ATTACHMENTS

    @override
    async def _async_generate_data(self, task: GenDataTask, chat_log: ChatLog) -> GenDataTaskResult:
        for attachment in task.attachments or ():
            if attachment.mime_type.startswith("image/"):
                text = await self.hass.async_add_executor_job(describe, attachment.path)
                return GenDataTaskResult(conversation_id=chat_log.conversation_id, data=text)
        raise HomeAssistantError(f"{_NAME} answers questions about pictures only; attach one")


def describe(path: Path) -> str:
    """Describe a picture. Raises `HomeAssistantError`."""
    try:
        with Image.open(path) as picture:
            one = picture.convert("RGB").resize((1, 1), Image.Resampling.BOX).tobytes()
    except (OSError, UnidentifiedImageError) as err:
        raise HomeAssistantError(f"{_NAME} cannot read the picture") from err
    name = min(_COLOURS, key=lambda colour: dist(_COLOURS[colour], one))
    return f"I see mostly {name}."
