"""A device's screen: screenshots of it, which it uploads, and pictures on it."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

from aiohttp import web
from PIL.Image import Image

from ...actions.targets import require_tool
from ...device.device import Device
from ...device_http.access import DeviceView, for_devices
from ...device_http.bodies import receive_body
from ...device_http.transfers import Download
from ...errors import InputError, UserError
from ...gateway import Gateway
from ...protocol.multipart import FormError, parse_form
from ...tools.stock_tools import PREVIEW_TOOL, SCREEN_INFO_TOOL, SNAPSHOT_TOOL
from .decoder import PictureError, check_jpeg, fit, open_picture
from .device_pictures import DevicePictures
from .picture_file import PictureKind
from .picture_slots import PictureSlots, PictureTimeouts
from .vision import MAX_BODY_BYTES

UPLOAD_PATH: Final = "/api/xiaozhi/upload"
# The largest screen of a supported board has 1280 by 800.
_MAX_SIDE: Final = 2048


@dataclass(slots=True)
class Upload:
    """A picture that a device is to upload."""

    path: ClassVar = UPLOAD_PATH
    content_type: str = ""
    body: bytes | None = None
    """The body as the device sent it; None until it has arrived."""


async def async_open_picture(slots: PictureSlots, content: bytes) -> Image:
    """Decode a picture to show. Raises `InputError`."""
    try:
        return await slots.decode(partial(open_picture, content))
    except PictureError as err:
        raise InputError(err.key) from err


async def async_screenshot(device: Device) -> None:
    """Take a screenshot of a device. Raises `HomeAssistantError`."""
    require_tool(device, SNAPSHOT_TOOL)
    upload, origin = Upload(), _origin(device)
    with device.transfers.offer(upload) as path:
        await device.commands.call_tool(SNAPSHOT_TOOL, {"url": origin + path})
    try:
        picture = await device.part(PictureSlots).decode(
            partial(_screenshot, upload.content_type, upload.body or b"")
        )
    except (FormError, PictureError) as err:
        raise UserError("no_screenshot", name=device.name) from err
    await device.part(DevicePictures).async_receive(PictureKind.SCREEN, picture)


def _screenshot(content_type: str, body: bytes) -> bytes:
    picture = parse_form(content_type, body).get("file", b"")
    check_jpeg(picture)
    return picture


async def async_show_image(device: Device, picture: Image) -> None:
    """Show a picture on a device for some seconds. Raises `HomeAssistantError`."""
    require_tool(device, PREVIEW_TOOL)
    origin = _origin(device)
    match (await device.commands.call_tool(SCREEN_INFO_TOOL)).json():
        case {"width": int(width), "height": int(height), **rest} if (
            0 < width <= _MAX_SIDE and 0 < height <= _MAX_SIDE
        ):
            work = partial(fit, picture, (width, height), monochrome=rest.get("monochrome") is True)
        case _:
            raise UserError("no_screen_size", name=device.name)
    png = await device.part(PictureSlots).decode(work)
    with device.transfers.offer(Download(png, "image/png")) as path:
        device.commands.check_done(
            PREVIEW_TOOL, await device.commands.call_tool(PREVIEW_TOOL, {"url": origin + path})
        )


def _origin(device: Device) -> str:
    if device.state.origin is None:
        raise UserError("no_web_address", name=device.name)
    return device.state.origin


class UploadView(DeviceView[Gateway]):
    """View to which a device posts a screenshot (`mcp_server.cc`, `self.screen.snapshot`)."""

    url = UPLOAD_PATH + "/{token}"
    name = "api:xiaozhi:upload"

    @for_devices
    async def post(self, request: web.Request, token: str) -> web.Response:
        """Take the upload for this address."""
        gateway = self.part
        upload = gateway.transfers.take(Upload, token)
        try:
            async with gateway.part(PictureSlots).upload():
                body = await receive_body(request, MAX_BODY_BYTES, PictureTimeouts.upload)
        except TimeoutError as err:
            raise web.HTTPServiceUnavailable(text="Too many pictures at once") from err
        upload.content_type, upload.body = request.headers.get("Content-Type", ""), body
        return web.Response(text="Thank you")
