"""Reasons why links do not work: untried versions of libraries, and a broker that cannot be used."""

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
import logging
from typing import Any, Final

from homeassistant.config_entries import SOURCE_REAUTH, ConfigEntry
from homeassistant.core import HomeAssistant, callback
from homeassistant.exceptions import ConfigEntryError
from homeassistant.helpers import issue_registry as ir
from homeassistant.loader import async_get_integration
from packaging.requirements import Requirement

from ..const import DOMAIN
from ..protocol.transport.owner_broker.broker_settings import BrokerError, BrokerProblem
from ..texts.issues import async_raise_issue

_LOGGER = logging.getLogger(__name__)
BROKER_ISSUE: Final = "broker_unusable"


async def async_check_libraries(hass: HomeAssistant, names: Iterable[str]) -> None:
    """Check the versions of these libraries against the manifest. Raises `ConfigEntryError`.

    Home Assistant installs what the manifest asks for before it loads an integration. Another integration
    may install another version afterwards, and with `--skip-pip` nothing is installed.
    """
    integration = await async_get_integration(hass, DOMAIN)
    wanted = [Requirement(line) for line in integration.requirements]
    checked = [requirement for requirement in wanted if requirement.name in set(names)]
    for requirement in checked:
        found = await hass.async_add_executor_job(installed_version, requirement.name)
        if found is None or not requirement.specifier.contains(found, prereleases=True):
            raise ConfigEntryError(
                translation_domain=DOMAIN,
                translation_key="library_version",
                translation_placeholders={
                    "name": requirement.name,
                    "found": found or "–",
                    "needed": str(requirement.specifier),
                },
            )


def installed_version(name: str) -> str | None:
    """Return the version of a library that is installed; None without one. Not in the loop."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


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
