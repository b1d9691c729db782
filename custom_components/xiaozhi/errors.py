"""Errors that a user reads."""

from homeassistant.exceptions import HomeAssistantError, ServiceValidationError

from .const import DOMAIN


class UserError(HomeAssistantError):
    """An error with a text from the translations."""

    def __init__(self, key: str, /, **placeholders: str) -> None:
        """Take the key of the text in `exceptions`, and the values of its placeholders."""
        super().__init__(
            translation_domain=DOMAIN, translation_key=key, translation_placeholders=placeholders
        )
        self.key = key
        self.placeholders = placeholders


class InputError(UserError, ServiceValidationError):
    """Invalid input to an action. Home Assistant logs no traceback for it."""
