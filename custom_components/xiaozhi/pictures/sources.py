"""Pictures from entities and the media library, to show on a device."""

from pathlib import Path
from typing import Any, Final

from homeassistant.components import image, media_source
from homeassistant.components.media_player import async_process_play_media_url
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError

from ..const import DOMAIN
from .fetch import MAX_FETCHED_BYTES, Asker, async_fetch_url, too_large

_CAMERA: Final = "camera"


def entity_of(media_id: str) -> str | None:
    """Return the camera or image entity behind a media id: as media, it would be an endless stream."""
    for domain in (_CAMERA, image.DOMAIN):
        if media_id.startswith(prefix := f"media-source://{domain}/"):
            return media_id.removeprefix(prefix)
    return None


async def async_fetch_entity(hass: HomeAssistant, entity_id: str) -> bytes:
    """Return the picture of a camera or an image entity. Raises `HomeAssistantError`."""
    if entity_id.startswith(f"{_CAMERA}."):
        # Not at the top: a house without a camera need not have its libraries.
        from homeassistant.components import camera  # noqa: PLC0415

        if _CAMERA not in hass.config.components:
            raise HomeAssistantError(
                translation_domain=DOMAIN,
                translation_key="no_camera",
                translation_placeholders={"entity_id": entity_id},
            )
        content = (await camera.async_get_image(hass, entity_id)).content
    else:
        content = (await image.async_get_image(hass, entity_id)).content
    if len(content) > MAX_FETCHED_BYTES:
        raise too_large(entity_id)
    return content


async def async_fetch_media(hass: HomeAssistant, media_id: str, asker: Asker) -> bytes:
    """Return a picture of the media library, other than an entity's. Raises `HomeAssistantError`."""
    if not media_source.is_media_source_id(media_id):
        return await async_fetch_url(hass, media_id, asker)
    media: Any = await media_source.async_resolve_media(hass, media_id, None)
    if media.path is not None:
        return await hass.async_add_executor_job(_read_file, media.path)
    return await async_fetch_url(hass, async_process_play_media_url(hass, media.url), Asker.LIBRARY)


def _read_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FETCHED_BYTES + 1)
    except OSError as err:
        raise HomeAssistantError(
            translation_domain=DOMAIN,
            translation_key="picture_not_read",
            translation_placeholders={"name": path.name},
        ) from err
    if len(content) > MAX_FETCHED_BYTES:
        raise too_large(path.name)
    return content
