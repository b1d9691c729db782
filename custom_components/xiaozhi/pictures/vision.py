"""Takes photos, and answers questions about them with the AI Task that the owner prefers."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from functools import partial
import logging
from typing import Final

from homeassistant.const import ATTR_SUPPORTED_FEATURES, Platform
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import entity_registry as er, issue_registry as ir
from homeassistant.helpers.json import json_bytes

from ..const import DOMAIN, NO_MODEL_ISSUE
from ..device.device import Device
from ..device.state import PictureKind
from ..errors import UserError
from ..protocol.clock import loop_time
from ..protocol.limits import TokenBucket
from ..protocol.multipart import FormError, parse_form
from ..protocol.untrusted_text import clean_text, one_line
from ..texts.issues import async_raise_issue
from ..texts.translated import async_text
from ..timeouts import PictureTimeouts
from ..tools.stock_tools import PHOTO_TOOL, own_name
from ..voice.pipelines import spoken_language
from .decoder import CostlyPictureError, PictureError, check_jpeg
from .image_entities import async_keep_picture, picture_entity
from .screen import require_tool

_LOGGER = logging.getLogger(__name__)

EVENT_PHOTO: Final = "xiaozhi_photo"
"""Fired on the bus for every photo, with `device_id` and `entity_id`."""

MAX_QUESTION: Final = 1000
"""Longest question, in characters."""
# The device dead-locks on a reply of 8,192 bytes.
_MAX_REPLY_BYTES: Final = 6000
# Each photo is decoded, fired on the bus and may cost money. A camera takes seconds for one.
_PHOTOS_PER_SECOND: Final = 0.2
_PHOTOS_AT_ONCE: Final = 10

# Imported where it is used: it takes half as long as everything else together, and not everybody has a model.
_AI_TASK: Final = "ai_task"


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


class Vision:
    """Takes the photos of all devices: one at a time for each device, and in bounded numbers."""

    def __init__(self) -> None:
        self._busy: set[str] = set()
        self._limits = defaultdict[str, TokenBucket](
            lambda: TokenBucket(rate=_PHOTOS_PER_SECOND, burst=_PHOTOS_AT_ONCE)
        )

    async def take(
        self,
        hass: HomeAssistant,
        device: Device,
        content_type: str,
        receive: Callable[[], Awaitable[bytes]],
    ) -> bytes:
        """Take a posted photo with its question, and return the reply for the device.

        `receive` reads the body; it is not called for a device that has to wait. A photo without a question
        is only stored.
        """
        if device.mac in self._busy or not self._limits[device.mac].take(loop_time()):
            return await _refusal(hass, device, "photo_busy")
        self._busy.add(device.mac)
        try:
            return reply(await _look(hass, device, content_type, receive), success=True)
        except (FormError, PictureError) as err:
            _LOGGER.debug("%s: a photo cannot be used: %s", device.name, one_line(str(err)))
            problem = "photo_too_costly" if isinstance(err, CostlyPictureError) else "photo_broken"
        except TimeoutError:
            problem = "photo_crowded"
        except UserError as err:
            problem = err.key
        finally:
            self._busy.discard(device.mac)
        return await _refusal(hass, device, problem)


async def _refusal(hass: HomeAssistant, device: Device, problem: str) -> bytes:
    """Return the reply that says why there is no answer; the language model reads it aloud."""
    return reply(await async_text(hass, problem, spoken_language(hass, device)), success=False)


async def _look(
    hass: HomeAssistant, device: Device, content_type: str, receive: Callable[[], Awaitable[bytes]]
) -> str:
    """Receive and store a photo; return the answer to its question, empty if there is none.

    Raises `UserError` if there is no answer; the language model reads the reason aloud.
    """
    slots = device.transfers.pictures
    async with slots.upload(PictureTimeouts.slot):
        photo, question = await slots.decode(hass, partial(_read_form, content_type, await receive()))
    entry = await async_keep_picture(hass, device, PictureKind.PHOTO, photo)
    if entry is not None and not entry.disabled_by:
        hass.bus.async_fire(EVENT_PHOTO, {"device_id": entry.device_id, "entity_id": entry.entity_id})
    return await _ask(hass, device, entry, question) if question else ""


def _read_form(content_type: str, body: bytes) -> tuple[bytes, str]:
    """Return the photo and the question. Raises `FormError` and `PictureError`. Not in the loop."""
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
    if not device.settings.looks_at_photos:
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
    async_delete_model_issue(hass)
    return str(result.data)


@callback
def async_delete_model_issue(hass: HomeAssistant) -> None:
    """Delete the issue that there is no model for photos."""
    ir.async_delete_issue(hass, DOMAIN, NO_MODEL_ISSUE)


def _has_model(hass: HomeAssistant) -> bool:
    """Whether the AI Task that the owner prefers accepts pictures. No other one receives photos."""
    if _AI_TASK not in hass.config.components:
        return False
    from homeassistant.components.ai_task import AITaskEntityFeature  # noqa: PLC0415

    try:
        from homeassistant.components.ai_task.const import DATA_PREFERENCES  # noqa: PLC0415

        preferred = hass.data[DATA_PREFERENCES].gen_data_entity_id
    except ImportError, KeyError, AttributeError:
        # Home Assistant does not promise these. The model itself then fails without pictures.
        return True
    state = hass.states.get(preferred) if preferred else None
    needed = AITaskEntityFeature.GENERATE_DATA | AITaskEntityFeature.SUPPORT_ATTACHMENTS
    return state is not None and needed in AITaskEntityFeature(
        state.attributes.get(ATTR_SUPPORTED_FEATURES, 0)
    )
