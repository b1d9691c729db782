"""An integration for the demo's Home Assistant: speech models of a few bytes, without any network.

They take the place of Espressif's in the list of models, which are not for simulated devices. Home Assistant
knows it as the custom integration `demo_models`.
"""

from hashlib import sha256
from pathlib import Path
from typing import Final

from homeassistant.core import HomeAssistant
from homeassistant.helpers.typing import ConfigType

from custom_components.xiaozhi.firmware.speech_models import MODELS_FOLDER, TABLE

_MODELS: Final = {
    "fst": {"commands_en.txt": b""},
    "mn6_en": {"mn6_data": b"demo", "vocab": b""},
    "wn9_jarvis_tts": {"_MODEL_INFO_": b"wakenet9_demo_Jarvis_3", "wn9_data": b"demo"},
}


async def async_setup(hass: HomeAssistant, _config: ConfigType) -> bool:
    """Put the models into the owner's folder, and into the list."""
    await hass.async_add_executor_job(_put, Path(hass.config.path(*MODELS_FOLDER)))
    return True


def _put(folder: Path) -> None:
    for model, files in _MODELS.items():
        (folder / model).mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / model / name).write_bytes(content)
        hashes = {name: [len(content), sha256(content).hexdigest()] for name, content in files.items()}
        TABLE["models"][model]["files"] = hashes
