"""Fetches pictures that are to be shown on a device."""

import asyncio
from pathlib import Path
from typing import Any, Final

from aiohttp import ClientError
from homeassistant.components import image, media_source
from homeassistant.components.media_player import async_process_play_media_url
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.aiohttp_client import async_get_clientsession

from .const import DOMAIN

_MAX_BYTES: Final = 16 * 1024 * 1024
_SECONDS: Final = 15
_CAMERA: Final = "camera"


async def async_fetch_entity(hass: HomeAssistant, entity_id: str) -> bytes:
    """Return the picture of a camera or an image entity. Raises `HomeAssistantError`."""
    if entity_id.startswith(f"{_CAMERA}."):
        # Not at the top: without a camera in the house, its libraries need not be there.
        from homeassistant.components import camera  # noqa: PLC0415

        if _CAMERA not in hass.config.components:
            raise _error(entity_id, "there is no camera")
        return (await camera.async_get_image(hass, entity_id)).content
    return (await image.async_get_image(hass, entity_id)).content


async def async_fetch_media(hass: HomeAssistant, media_id: str) -> bytes:
    """Return a picture of the media library. Raises `HomeAssistantError`."""
    for domain in (_CAMERA, image.DOMAIN):
        # These would resolve to an endless stream.
        if media_id.startswith(prefix := f"media-source://{domain}/"):
            return await async_fetch_entity(hass, media_id.removeprefix(prefix))
    if not media_source.is_media_source_id(media_id):
        return await async_fetch_url(hass, media_id)
    media: Any = await media_source.async_resolve_media(hass, media_id, None)
    if media.path is not None:
        return await hass.async_add_executor_job(_read_file, media.path)
    return await async_fetch_url(hass, async_process_play_media_url(hass, media.url))


async def async_fetch_url(hass: HomeAssistant, url: str) -> bytes:
    """Return what is at an http or https address. Raises `HomeAssistantError`."""
    body = bytearray()
    try:
        async with (
            asyncio.timeout(_SECONDS),
            async_get_clientsession(hass).get(url, raise_for_status=True) as response,
        ):
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > _MAX_BYTES:
                    raise _too_large(url)
    except TimeoutError as err:
        raise _error(url, f"no answer within {_SECONDS} seconds") from err
    except (ClientError, ValueError) as err:
        raise _error(url, str(err) or type(err).__name__) from err
    return bytes(body)


def _read_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except OSError as err:
        raise _error(path.name, err.strerror or str(err)) from err
    if len(content) > _MAX_BYTES:
        raise _too_large(path.name)
    return content


def _too_large(source: str) -> HomeAssistantError:
    return _error(source, f"it is larger than {_MAX_BYTES // 1024 // 1024} MB")


def _error(source: str, reason: str) -> HomeAssistantError:
    return HomeAssistantError(
        translation_domain=DOMAIN,
        translation_key="picture_not_fetched",
        translation_placeholders={"source": source, "reason": reason},
    )
