"""Photos that Home Assistant asks a device for."""

from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er

from ..device.device import Device
from ..protocol.text import one_line
from ..tools.catalogue import PHOTO_TOOL
from .jpeg import PictureKind
from .screen import failure, require_tool
from .vision import picture_entity

__all__ = ["async_take_photo"]


async def async_take_photo(
    hass: HomeAssistant, device: Device, question: str = ""
) -> tuple[str, er.RegistryEntry | None]:
    """Take a photo; return the answer to the question about it, and the photo's entity.

    Raises `HomeAssistantError`.
    """
    require_tool(device, PHOTO_TOOL)
    result = await device.commands.call_tool(PHOTO_TOOL, {"question": question})
    # The device passes on our answer to its upload.
    match result.json():
        case {"success": True, "result": str(text)}:
            return text, picture_entity(hass, device, PictureKind.PHOTO)
        case {"success": False, "message": str(reason)}:
            raise failure("photo_not_answered", device, reason=one_line(reason))
    raise failure("photo_not_received", device)
