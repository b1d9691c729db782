"""Notifications for the owner, from the translations."""

from homeassistant.components import persistent_notification
from homeassistant.core import HomeAssistant

from ..const import DOMAIN
from .translated import async_text


async def async_notify(hass: HomeAssistant, key: str, notification_id: str, **placeholders: str) -> None:
    """Show the text of a key below its title, in place of an older one with the same id."""
    text = await async_text(hass, key, **placeholders)
    title = await async_text(hass, f"{key}_title", **placeholders)
    persistent_notification.async_create(hass, text, title, f"{DOMAIN}_{notification_id}")
