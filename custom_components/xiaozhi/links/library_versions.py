"""Refuses versions of libraries whose inner workings are used and were not tried."""

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import ConfigEntryError
from homeassistant.loader import async_get_integration
from packaging.requirements import Requirement

from ..const import DOMAIN


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
