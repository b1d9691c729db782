"""The choice in the form of the gateway whether Home Assistant's own assistant understands alarms."""

from homeassistant.helpers.selector import BooleanSelector
import voluptuous as vol

from ...forms.gateway_form import GatewayForm
from .sentence_files import CONF_UNDERSTAND_ALARMS


def add_fields(form: GatewayForm) -> None:
    """Add the choice."""
    form.fields[vol.Required(CONF_UNDERSTAND_ALARMS, default=True)] = BooleanSelector()
