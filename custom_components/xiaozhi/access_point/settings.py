"""Settings of an access point, from its subentry."""

from dataclasses import dataclass
from typing import Any, Self

from homeassistant.config_entries import ConfigEntry, ConfigSubentry
from homeassistant.const import CONF_LLM_HASS_API, CONF_URL
from homeassistant.helpers.llm import LLM_API_ASSIST

from ..const import CONF_QUESTIONS_ONLY, CONF_TOOLS, SUBENTRY_ACCESS_POINT
from ..protocol.access_point.address import AccessPointAddress
from ..settings import StoredSettings, flag, text, texts


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
        """Read a subentry of type `access_point`. Raises `AddressError`."""
        stored = StoredSettings(subentry.title, subentry.data)
        return cls(
            name=subentry.title,
            address=AccessPointAddress.parse(stored.read(CONF_URL, text, "")),
            apis=stored.read(CONF_LLM_HASS_API, texts, (LLM_API_ASSIST,)),
            tools=stored.read(CONF_TOOLS, texts, None),
            # When it is unknown whether the cloud may change anything, it may not.
            questions_only=stored.read(CONF_QUESTIONS_ONLY, flag, CONF_QUESTIONS_ONLY in subentry.data),
        )


def access_point_subentries(entry: ConfigEntry[Any]) -> dict[str, ConfigSubentry]:
    """Return the subentries of the access points of a gateway, by their ids."""
    return {
        subentry.subentry_id: subentry for subentry in entry.get_subentries_of_type(SUBENTRY_ACCESS_POINT)
    }
