"""The config flow of the model, without a form."""

from typing import Any

from homeassistant.config_entries import ConfigFlow, ConfigFlowResult

from .ai_task import NAME


class DemoVisionFlow(ConfigFlow, domain="demo_vision"):
    """Adds the model."""

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Add the model."""
        return self.async_create_entry(title=NAME, data={})
