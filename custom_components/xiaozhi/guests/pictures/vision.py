"""Takes photos, and answers questions about them with the AI Task that the owner prefers."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
import logging
from typing import Final, override

from aiohttp import web
from homeassistant.const import ATTR_SUPPORTED_FEATURES, CONTENT_TYPE_JSON, Platform
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er, issue_registry as ir
from homeassistant.helpers.http import KEY_HASS
from homeassistant.helpers.json import json_bytes

from ...actions.targets import require_tool
from ...const import DOMAIN
from ...device.device import Device
from ...device.guest import GatewayPart
from ...device_http.access import DeviceView, for_devices, path_of
from ...device_http.bodies import receive_body
from ...errors import UserError
from ...links.admission import same
from ...protocol.multipart import FormError, parse_form
from ...settings import stored
from ...texts.issues import Part, Unpromised, async_raise_issue
from ...texts.translated import async_text
from ...tools.stock_tools import PHOTO_TOOL, own_name
from ...util.event_loop import loop_time
from ...util.limits import TokenBucket
from ...util.text import clean_text, one_line
from ...voice.pipelines import spoken_language
from .decoder import CostlyPictureError, PictureError, check_jpeg
from .device_pictures import VISION_PATH, DevicePictures
from .picture_file import PictureKind
from .picture_slots import PictureSlots, PictureTimeouts

_LOGGER = logging.getLogger(__name__)

EVENT_PHOTO: Final = "xiaozhi_photo"
"""Fired on the bus for every photo, with `device_id` and `entity_id`."""

NO_MODEL_ISSUE: Final = "no_vision_model"

MAX_BODY_BYTES: Final = 2 * 1024 * 1024 + 16 * 1024
"""Largest form with a picture."""
MAX_QUESTION: Final = 1000
"""Longest question, in characters."""
# The device dead-locks on a reply of 8,192 bytes.
_MAX_REPLY_BYTES: Final = 6000
# Each photo is decoded, fired on the bus and may cost money. A camera takes seconds for one.
_PHOTOS_PER_SECOND: Final = 0.2
_PHOTOS_AT_ONCE: Final = 10

# Imported where it is used: it takes half as long as everything else together, and not everybody has a model.
_AI_TASK: Final = "ai_task"


async def async_take_photo(device: Device, question: str = "") -> tuple[str, er.RegistryEntry | None]:
    """Take a photo; return the answer to the question about it, and the photo's entity.

    Raises `HomeAssistantError`.
    """
    name = own_name(PHOTO_TOOL, device.tools) or PHOTO_TOOL
    require_tool(device, name)
    tool = device.tools.get(name)
    # Programs for computers have cameras that take no question.
    asks = tool is None or "question" in tool.properties
    pictures = device.part(DevicePictures)
    before = pictures.last.get(PictureKind.PHOTO)
    result = await device.commands.call_tool(name, {"question": question} if asks else {})
    # The device passes on our answer to its upload.
    match result.json():
        case {"success": True, "result": str(text)}:
            return text, pictures.entity(PictureKind.PHOTO)
    if pictures.last.get(PictureKind.PHOTO) is before:
        device.commands.check_done(name, result)
    elif reason := result.failure:
        raise UserError("photo_not_answered", name=device.name, reason=reason)
    raise UserError("photo_not_received", name=device.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhotoSettings:
    """The owner's choice for the photos of a device."""

    look_at_photos: bool = stored(bool, True)
    """Whether an AI model may look at them."""


class VisionView(DeviceView[Mapping[str, Device]]):
    """View to which a device posts a photo with a question (`esp32_camera.cc`, `Explain`).

    Photos of a device are taken one at a time, and at a limited rate.
    """

    url = VISION_PATH
    name = "api:xiaozhi:vision"

    def __init__(self, find: Callable[[], Mapping[str, Device] | None]) -> None:
        super().__init__(find)
        self._busy: set[str] = set()
        self._limits = defaultdict[str, TokenBucket](
            lambda: TokenBucket(rate=_PHOTOS_PER_SECOND, burst=_PHOTOS_AT_ONCE)
        )

    @for_devices
    async def post(self, request: web.Request) -> web.Response:
        """Answer a question. A known device always gets status 200: it reads no other answer."""
        device, hass = _authenticate(request, self.part), request.app[KEY_HASS]
        answer, problem = "", "photo_busy"
        if device.mac not in self._busy and self._limits[device.mac].take(loop_time()):
            self._busy.add(device.mac)
            try:
                answer, problem = await _receive_photo(hass, device, request), ""
            except (FormError, PictureError) as err:
                _LOGGER.debug("%s: a photo cannot be used: %s", device.name, one_line(str(err)))
                problem = "photo_too_costly" if isinstance(err, CostlyPictureError) else "photo_broken"
            except TimeoutError:
                problem = "photo_crowded"
            except UserError as err:
                problem = err.key
            finally:
                self._busy.discard(device.mac)
        if problem:
            # The language model reads it aloud.
            answer = await async_text(hass, problem, spoken_language(hass, device))
        return web.Response(body=reply(answer, success=not problem), content_type=CONTENT_TYPE_JSON)


def _authenticate(request: web.Request, devices: Mapping[str, Device]) -> Device:
    """Return the calling device. Raises an HTTP error; never 401: Home Assistant would ban the IP address."""
    device = devices.get(request.headers.get("Device-Id", "").lower())
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if device is None or scheme.lower() != "bearer" or not same(token, device.part(DevicePictures).token):
        _LOGGER.debug("Call of %s from %s refused: unknown device or token", path_of(request), request.remote)
        raise web.HTTPForbidden(text="Unknown device or token")
    return device


async def _receive_photo(hass: HomeAssistant, device: Device, request: web.Request) -> str:
    """Receive and store a photo; return the answer to its question, empty if there is none.

    Raises `UserError` if there is no answer; the language model reads the reason aloud.
    """
    slots, content_type = device.part(PictureSlots), request.headers.get("Content-Type", "")
    async with slots.upload():
        try:
            body = await receive_body(request, MAX_BODY_BYTES, PictureTimeouts.upload)
        except web.HTTPClientError as err:
            _LOGGER.debug("%s: photo not received: %s", device.name, err.text)
            raise UserError("photo_not_complete") from err
        photo, question = await slots.decode(partial(_read_form, content_type, body))
    entry = await device.part(DevicePictures).async_receive(PictureKind.PHOTO, photo)
    if entry is not None and not entry.disabled_by:
        hass.bus.async_fire(EVENT_PHOTO, {"device_id": entry.device_id, "entity_id": entry.entity_id})
    return await _ask(hass, device, entry, question) if question else ""


def _read_form(content_type: str, body: bytes) -> tuple[bytes, str]:
    """Return the photo and the question, outside of the event loop. Raises `FormError` and `PictureError`."""
    form = parse_form(content_type, body)
    # Devices call it `file`, programs also `image`.
    photo = next((part for part in form.values() if part.startswith(b"\xff\xd8")), b"")
    check_jpeg(photo)
    return photo, one_line(form.get("question", b"").decode(errors="replace"), MAX_QUESTION)


def reply(text: str, *, success: bool) -> bytes:
    """Return the JSON that a device passes to the language model, below the size on which it dead-locks."""
    text = clean_text(text, _MAX_REPLY_BYTES)
    while True:
        answer = {"success": True, "result": text} if success else {"success": False, "message": text}
        body = json_bytes(answer)
        if len(body) <= _MAX_REPLY_BYTES:
            return body
        text = text[: len(text) * _MAX_REPLY_BYTES // len(body) - 1]


async def _ask(hass: HomeAssistant, device: Device, entry: er.RegistryEntry | None, question: str) -> str:
    if not device.settings.of(PhotoSettings).look_at_photos:
        raise UserError("photo_not_allowed")
    if not _has_model(hass):
        async_raise_issue(hass, NO_MODEL_ISSUE)
        raise UserError("photo_no_model")
    if entry is None:
        raise UserError("photo_no_camera")
    if entry.disabled_by:
        raise UserError("photo_no_entity")
    from homeassistant.components import ai_task  # noqa: PLC0415 - loaded, since there is a model

    attachment = {
        "media_content_id": f"media-source://{Platform.IMAGE}/{entry.entity_id}",
        "media_content_type": "image/jpeg",
    }
    try:
        async with asyncio.timeout(PictureTimeouts.answer):
            # Without an LLM API: text on a photo can influence what the model says, but cannot call tools.
            result = await ai_task.async_generate_data(
                hass, task_name="XiaoZhi photo question", instructions=question, attachments=[attachment]
            )
    except TimeoutError as err:
        raise UserError("photo_too_slow") from err
    except Exception as err:
        # The owner may prefer none, an AI integration may raise anything, and the device waits for a reply.
        _LOGGER.warning("The AI Task that looks at photos failed: %s", one_line(str(err)))
        raise UserError("photo_failed") from err
    ir.async_delete_issue(hass, DOMAIN, NO_MODEL_ISSUE)
    return str(result.data)


class PhotoModel(GatewayPart):
    """Deletes the issue that there is no model for photos, when the gateway stops."""

    @override
    async def async_stop(self) -> None:
        ir.async_delete_issue(self.hass, DOMAIN, NO_MODEL_ISSUE)


def _has_model(hass: HomeAssistant) -> bool:
    """Whether the AI Task that the owner prefers accepts pictures. No other one receives photos."""
    if _AI_TASK not in hass.config.components:
        return False
    from homeassistant.components.ai_task import AITaskEntityFeature  # noqa: PLC0415

    with Unpromised(hass, Part.PREFERENCES):
        from homeassistant.components.ai_task.const import DATA_PREFERENCES  # noqa: PLC0415

        preferred = hass.data[DATA_PREFERENCES].gen_data_entity_id
        state = hass.states.get(preferred) if preferred else None
        needed = AITaskEntityFeature.GENERATE_DATA | AITaskEntityFeature.SUPPORT_ATTACHMENTS
        return state is not None and needed in AITaskEntityFeature(
            state.attributes.get(ATTR_SUPPORTED_FEATURES, 0)
        )
    # The model itself fails without pictures.
    return True
