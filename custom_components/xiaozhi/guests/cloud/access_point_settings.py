"""Settings of an access point, from its subentry."""

from dataclasses import dataclass
from typing import Any, Self

from homeassistant.config_entries import ConfigEntry, ConfigSubentry
from homeassistant.const import CONF_LLM_HASS_API, CONF_URL
from homeassistant.helpers.llm import LLM_API_ASSIST

from ...const import CONF_QUESTIONS_ONLY, SUBENTRY_ACCESS_POINT
from ...protocol.access_point.address import AccessPointAddress
from ...settings import TEXTS, read_settings, stored


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPointSettings:
    """Settings from the subentry of an access point."""

    name: str
    address: AccessPointAddress = stored(str, key=CONF_URL)
    apis: tuple[str, ...] = stored(TEXTS, (LLM_API_ASSIST,), key=CONF_LLM_HASS_API)
    """Ids of the LLM APIs whose tools are offered."""
    tools: tuple[str, ...] | None = stored(TEXTS)
    """Names of the tools that are offered; None for the automatic choice."""
    questions_only: bool = stored(bool, False)
    """Whether only tools are offered that change nothing."""

    @classmethod
    def from_subentry(cls, subentry: ConfigSubentry) -> Self:
        """Read a subentry of type `access_point`. Raises `AddressError`."""
        found = read_settings(cls, subentry.title, subentry.data)
        found["address"] = AccessPointAddress.parse(found.get("address", ""))
        # When it is unknown whether the cloud may change anything, it may not.
        found.setdefault("questions_only", CONF_QUESTIONS_ONLY in subentry.data)
        return cls(name=subentry.title, **found)


def access_point_subentries(entry: ConfigEntry[Any]) -> dict[str, ConfigSubentry]:
    """Return the subentries of the access points of a gateway, by their ids."""
    return {
        subentry.subentry_id: subentry for subentry in entry.get_subentries_of_type(SUBENTRY_ACCESS_POINT)
    }
