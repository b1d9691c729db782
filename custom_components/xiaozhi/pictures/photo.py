"""Photos that Home Assistant asks a device for."""

from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er

from ..device.device import Device
from ..device.state import PictureKind
from ..errors import UserError
from ..protocol.untrusted_text import one_line
from ..tools.catalogue import PHOTO_TOOL, own_name
from .image_entities import picture_entity
from .screen import require_tool


async def async_take_photo(
    hass: HomeAssistant, device: Device, question: str = ""
) -> tuple[str, er.RegistryEntry | None]:
    """Take a photo; return the answer to the question about it, and the photo's entity.

    Raises `HomeAssistantError`.
    """
    name = own_name(PHOTO_TOOL, device.tools) or PHOTO_TOOL
    require_tool(device, name)
    tool = device.tools.get(name)
    # Programs for computers have cameras that take no question.
    asks = tool is None or "question" in tool.properties
    result = await device.commands.call_tool(name, {"question": question} if asks else {})
    # The device passes on our answer to its upload.
    match result.json():
        case {"success": True, "result": str(text)}:
            return text, picture_entity(hass, device, PictureKind.PHOTO)
        case {"success": False, "message": str(reason)}:
            raise UserError("photo_not_answered", name=device.name, reason=one_line(reason))
    raise UserError("photo_not_received", name=device.name)
