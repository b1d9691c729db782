"""A device's screen: what it shows as a picture, and pictures shown on it."""

from typing import Final

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
from homeassistant.util import dt as dt_util

from .const import DOMAIN
from .device import Device
from .pictures import Picture, PictureError, PictureKind, check_jpeg, to_png
from .protocol.multipart import FormError, parse_form
from .transfers import TRANSFERS, Download

SNAPSHOT_TOOL: Final = "self.screen.snapshot"
_INFO_TOOL: Final = "self.screen.get_info"
_PREVIEW_TOOL: Final = "self.screen.preview_image"
# The largest screen of a supported board has 1280 by 800.
_MAX_SIDE: Final = 2048


async def async_screenshot(hass: HomeAssistant, device: Device) -> None:
    """Have the device hand over what its screen shows. Raises `HomeAssistantError`."""
    require_tool(device, SNAPSHOT_TOOL)
    with hass.data[TRANSFERS].expect(_origin(device)) as upload:
        await device.call_tool(SNAPSHOT_TOOL, {"url": upload.url})
    try:
        picture = parse_form(upload.content_type, upload.body or b"").get("file", b"")
        await hass.async_add_executor_job(check_jpeg, picture)
    except (FormError, PictureError) as err:
        raise failure("no_screenshot", device) from err
    device.pictured(PictureKind.SCREEN, Picture(data=picture, taken=dt_util.utcnow()))


async def async_show_image(hass: HomeAssistant, device: Device, content: bytes) -> None:
    """Show a picture for some seconds, fitted into the screen. Raises `HomeAssistantError`."""
    require_tool(device, _PREVIEW_TOOL)
    origin = _origin(device)
    match (await device.call_tool(_INFO_TOOL)).json():
        case {"width": int(width), "height": int(height), **rest} if (
            0 < width <= _MAX_SIDE and 0 < height <= _MAX_SIDE
        ):
            monochrome = rest.get("monochrome") is True
        case _:
            raise failure("no_screen_size", device)
    try:
        png = await hass.async_add_executor_job(lambda: to_png(content, width, height, monochrome=monochrome))
    except PictureError as err:
        raise ServiceValidationError(
            translation_domain=DOMAIN,
            translation_key="not_a_picture",
            translation_placeholders={"reason": str(err)},
        ) from err
    with hass.data[TRANSFERS].offer(Download(png, "image/png")) as path:
        await device.call_tool(_PREVIEW_TOOL, {"url": origin + path})


def require_tool(device: Device, tool: str) -> None:
    """Raise `ServiceValidationError` if the device does not have a tool.

    Of a device that never told its tools nothing is known; a call then says whether it can be reached.
    """
    if device.tools and tool not in device.tools:
        raise ServiceValidationError(
            translation_domain=DOMAIN,
            translation_key="not_offered",
            translation_placeholders={"name": device.name, "tool": tool},
        )


def failure(key: str, device: Device, **placeholders: str) -> HomeAssistantError:
    """Return an error about a device."""
    return HomeAssistantError(
        translation_domain=DOMAIN,
        translation_key=key,
        translation_placeholders={"name": device.name, **placeholders},
    )


def _origin(device: Device) -> str:
    if device.web_origin is None:
        raise failure("no_web_address", device)
    return device.web_origin
