"""The config flow of the assistant, without a form."""

from typing import Any

from homeassistant.config_entries import ConfigFlow, ConfigFlowResult

from .conversation import NAME


class DemoAssistantFlow(ConfigFlow, domain="demo_assistant"):
    """Adds the assistant."""

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Add the assistant."""
        return self.async_create_entry(title=NAME, data={})
