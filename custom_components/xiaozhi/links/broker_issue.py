"""The owner's broker cannot be used: a repair issue, or the question for another password."""

import logging
from typing import Any, Final

from homeassistant.config_entries import SOURCE_REAUTH, ConfigEntry
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import issue_registry as ir

from ..const import DOMAIN
from ..protocol.transport.owner_broker.broker_settings import BrokerError, BrokerProblem
from ..texts.issues import async_raise_issue

_LOGGER = logging.getLogger(__name__)

BROKER_ISSUE: Final = "broker_unusable"


@callback
def async_broker_changed(hass: HomeAssistant, entry: ConfigEntry[Any], problem: BrokerError | None) -> None:
    """Raise a repair issue while the broker cannot be used; ask for another password if it is refused."""
    if problem is None:
        _LOGGER.info("Connected to the MQTT broker")
        ir.async_delete_issue(hass, DOMAIN, BROKER_ISSUE)
        for flow in tuple(entry.async_get_active_flows(hass, {SOURCE_REAUTH})):
            hass.config_entries.flow.async_abort(flow["flow_id"])
        return
    _LOGGER.info("The MQTT broker cannot be used: %s", problem)
    if problem.problem is BrokerProblem.REFUSED:
        ir.async_delete_issue(hass, DOMAIN, BROKER_ISSUE)
        entry.async_start_reauth(hass)
        return
    async_raise_issue(hass, BROKER_ISSUE, f"broker_{problem.problem}", severity=ir.IssueSeverity.ERROR)
