"""Actions for photos, screenshots and pictures on the screen."""

from typing import Final

from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.components.media_source import is_media_source_id
from homeassistant.const import CONF_URL
from homeassistant.core import ServiceCall, ServiceResponse, SupportsResponse
from homeassistant.exceptions import Unauthorized
from homeassistant.helpers import config_validation as cv
import voluptuous as vol

from ...actions.action import Action, on_each
from ...actions.rights import restricted_user
from ...actions.targets import target_device, target_devices
from ...device.call_log import logged_call
from ...device.device import Device
from ...errors import InputError
from ...tools.stock_tools import PHOTO_TOOL, PREVIEW_TOOL, SNAPSHOT_TOOL
from .picture_slots import PictureSlots
from .screen import async_open_picture, async_screenshot, async_show_image
from .sources import async_fetch_entity, async_fetch_media, async_fetch_url, entity_of
from .vision import MAX_QUESTION, async_take_photo

_IMAGE: Final = "image"
_MEDIA: Final = "media"
_QUESTION: Final = "question"


async def _take_photo(call: ServiceCall) -> ServiceResponse:
    device = target_device(call)
    with logged_call(device, PHOTO_TOOL, call.context):
        text, entry = await async_take_photo(device, call.data[_QUESTION].strip())
    return {"answer": text or None, "entity_id": entry.entity_id if entry else None}


async def _screenshot(call: ServiceCall) -> None:
    async def take_one(device: Device) -> None:
        with logged_call(device, SNAPSHOT_TOOL, call.context):
            await async_screenshot(device)

    await on_each(call, take_one)


async def _show_image(call: ServiceCall) -> None:
    devices, refusal = target_devices(call)
    if not devices:
        raise refusal or InputError("no_device_in_target")
    if len(call.data.keys() & {_IMAGE, _MEDIA, CONF_URL}) != 1:
        raise InputError("one_picture")
    slots = devices[0].part(PictureSlots)
    async with slots.shown:
        picture = await async_open_picture(slots, await _fetch_picture(call))

    async def show_one(device: Device) -> None:
        with logged_call(device, PREVIEW_TOOL, call.context):
            await async_show_image(device, picture)

    await on_each(call, show_one)


async def _fetch_picture(call: ServiceCall) -> bytes:
    """Return the picture that a call names, if its user may see it. Raises `HomeAssistantError`."""
    hass, data = call.hass, call.data
    user = await restricted_user(hass, call.context)
    media_id: str = data.get(_MEDIA, {}).get("media_content_id", "")
    entity_id: str | None = data.get(_IMAGE) or entity_of(media_id)
    if entity_id is not None:
        if user is not None and not user.permissions.check_entity(entity_id, POLICY_READ):
            raise Unauthorized(context=call.context, entity_id=entity_id, permission=POLICY_READ)
        return await async_fetch_entity(hass, entity_id)
    if is_media_source_id(media_id):
        return await async_fetch_media(hass, media_id)
    if user is not None:
        raise InputError("address_not_allowed")
    return await async_fetch_url(hass, media_id or data[CONF_URL])


ACTIONS: Final = {
    "show_image": Action(
        run=_show_image,
        fields={
            vol.Optional(_IMAGE): cv.entity_domain(["camera", "image"]),
            vol.Optional(_MEDIA): vol.Schema(
                {vol.Required("media_content_id"): cv.string}, extra=vol.REMOVE_EXTRA
            ),
            vol.Optional(CONF_URL): cv.url,
        },
    ),
    "screenshot": Action(run=_screenshot),
    "take_photo": Action(
        run=_take_photo,
        fields={vol.Optional(_QUESTION, default=""): vol.All(cv.string, vol.Length(max=MAX_QUESTION))},
        response=SupportsResponse.OPTIONAL,
    ),
}
