"""Settings of an access point, from its subentry."""

from dataclasses import dataclass
from typing import Any, Self

from homeassistant.config_entries import ConfigEntry, ConfigSubentry
from homeassistant.const import CONF_LLM_HASS_API, CONF_URL
from homeassistant.helpers.llm import LLM_API_ASSIST

from ..const import CONF_QUESTIONS_ONLY, CONF_TOOLS, SUBENTRY_ACCESS_POINT
from ..protocol.access_point.address import AccessPointAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPointSettings:
    """Settings from the subentry of an access point."""

    name: str
    address: AccessPointAddress
    apis: tuple[str, ...]
    """Ids of the LLM APIs whose tools are offered."""
    tools: tuple[str, ...] | None
    """Names of the tools that are offered; None for the automatic choice."""
    questions_only: bool
    """Whether only tools are offered that change nothing."""

    @classmethod
    def from_subentry(cls, subentry: ConfigSubentry) -> Self:
        """Read a subentry of type `access_point`."""
        data = subentry.data
        return cls(
            name=subentry.title,
            address=AccessPointAddress.parse(data[CONF_URL]),
            apis=tuple(data.get(CONF_LLM_HASS_API, (LLM_API_ASSIST,))),
            tools=tuple(data[CONF_TOOLS]) if CONF_TOOLS in data else None,
            questions_only=data.get(CONF_QUESTIONS_ONLY, False),
        )


def access_point_subentries(entry: ConfigEntry[Any]) -> dict[str, ConfigSubentry]:
    """Return the subentries of the access points of a gateway, by their ids."""
    return {
        subentry.subentry_id: subentry for subentry in entry.get_subentries_of_type(SUBENTRY_ACCESS_POINT)
    }
