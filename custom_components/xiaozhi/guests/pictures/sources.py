"""Pictures to show on a device: from entities, the media library and web addresses."""

import asyncio
import logging
from pathlib import Path
from typing import Final

from aiohttp import ClientError
from homeassistant.components import media_source
from homeassistant.components.media_player import async_process_play_media_url
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from homeassistant.helpers.network import is_hass_url

from ...device_http.bodies import BodyTooLargeError, read_body
from ...errors import UserError
from ..firmware.owner_files import read_file
from .picture_slots import PictureTimeouts

_LOGGER = logging.getLogger(__name__)

MAX_FETCHED_BYTES: Final = 16 * 1024 * 1024


def entity_of(media_id: str) -> str | None:
    """Return the camera or image entity behind a media id: as media, it would be an endless stream."""
    for domain in (Platform.CAMERA, Platform.IMAGE):
        if media_id.startswith(prefix := f"media-source://{domain}/"):
            return media_id.removeprefix(prefix)
    return None


async def async_fetch_entity(hass: HomeAssistant, entity_id: str) -> bytes:
    """Return the picture of a camera or an image entity. Raises `HomeAssistantError`."""
    if entity_id.startswith(f"{Platform.CAMERA}."):
        # Not at the top: a house without a camera need not have its libraries.
        from homeassistant.components import camera  # noqa: PLC0415

        if Platform.CAMERA not in hass.config.components:
            raise UserError("no_camera", entity_id=entity_id)
        content = (await camera.async_get_image(hass, entity_id)).content
    else:
        # Not at the top either: its libraries take a third of the time that everything else takes together.
        from homeassistant.components import image  # noqa: PLC0415

        content = (await image.async_get_image(hass, entity_id)).content
    if len(content) > MAX_FETCHED_BYTES:
        raise _too_large(entity_id)
    return content


async def async_fetch_media(hass: HomeAssistant, media_id: str) -> bytes:
    """Return a picture of the media library, other than an entity's. Raises `HomeAssistantError`."""
    try:
        media = await media_source.async_resolve_media(hass, media_id, None)
    except HomeAssistantError:
        raise
    except Exception as err:
        # A source of media may raise anything, and so may Home Assistant for an unknown source.
        raise UserError("picture_not_fetched", source=media_id) from err
    if media.path is not None:
        return await hass.async_add_executor_job(_read_file, media.path)
    return await async_fetch_url(hass, async_process_play_media_url(hass, media.url))


async def async_fetch_url(hass: HomeAssistant, url: str) -> bytes:
    """Return the picture at an http or https address. Raises `UserError`.

    Such an address may be one of the home network: it is for administrators and for the media library.
    """
    try:
        # Home Assistant's own certificate often has another name than its address.
        session = async_get_clientsession(hass, verify_ssl=not is_hass_url(hass, url))
        async with (
            asyncio.timeout(PictureTimeouts.fetch),
            session.get(url, headers={"Accept-Encoding": "identity"}, raise_for_status=True) as response,
        ):
            return await read_body(response, MAX_FETCHED_BYTES)
    except BodyTooLargeError as err:
        raise _too_large(url) from err
    except (TimeoutError, ClientError, OSError, ValueError) as err:
        _LOGGER.debug("A picture was not fetched: %s", type(err).__name__)
        raise UserError("picture_not_fetched", source=url) from err


def _read_file(path: Path) -> bytes:
    try:
        content = read_file(path, MAX_FETCHED_BYTES)
    except OSError as err:
        raise UserError("picture_not_read", name=path.name) from err
    if len(content) > MAX_FETCHED_BYTES:
        raise _too_large(path.name)
    return content


def _too_large(source: str) -> UserError:
    return UserError("picture_too_large", source=source, limit=str(MAX_FETCHED_BYTES // 1024 // 1024))
