"""An integration for the demo's Home Assistant: an assistant, a model for pictures, and speech models.

None of them uses the network. Home Assistant knows it as the custom integration `demo_parts`.
"""

from hashlib import sha256
import os
from pathlib import Path
from typing import Final

from homeassistant.components import ai_task, conversation
from homeassistant.core import HomeAssistant
from homeassistant.helpers.typing import ConfigType

from custom_components.xiaozhi.guests.firmware import available_firmware
from custom_components.xiaozhi.guests.wake_words.speech_models import FIXED_WORDS, MODELS_FOLDER, TABLE

from .assistant import DemoAssistant
from .vision import DemoVision

# In place of Espressif's, which are not for simulated devices.
SPEECH_MODELS: Final[dict[str, dict[str, bytes]]] = {
    "fst": {"commands_en.txt": b""},
    "mn6_en": {"mn6_data": b"demo", "vocab": b""},
    **{
        model: {"_MODEL_INFO_": f"wakenet9_demo_{word.replace(', ', ';')}_3".encode(), "wn9_data": b"demo"}
        for model, (word, _) in FIXED_WORDS.items()
    },
}


SERVED: Final = "XIAOZHI_SERVED"
"""Environment variable: an address that stands for the hosts of releases and of speech models."""


async def async_setup(hass: HomeAssistant, _config: ConfigType) -> bool:
    """Add the entities; list the speech models, and put them into its folder if they are not served."""
    await hass.data[conversation.DATA_COMPONENT].async_add_entities([DemoAssistant()])
    await hass.data[ai_task.DATA_COMPONENT].async_add_entities([DemoVision()])
    for model, files in SPEECH_MODELS.items():
        hashes = {name: [len(content), sha256(content).hexdigest()] for name, content in files.items()}
        TABLE["models"][model]["files"] = hashes
    if served := os.environ.get(SERVED):
        TABLE["source"] = f"{served}/models"
        vars(available_firmware)["STOCK_RELEASES"] = f"{served}/releases/latest"
    else:
        await hass.async_add_executor_job(_put, Path(hass.config.path(*MODELS_FOLDER)))
    return True


def _put(folder: Path) -> None:
    for model, files in SPEECH_MODELS.items():
        (folder / model).mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / model / name).write_bytes(content)
