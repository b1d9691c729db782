"""One access point: its settings, its connection, what is known of it, and its repair issues."""

import asyncio
from collections.abc import Coroutine
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
import logging
from typing import Any, Final, Self

from homeassistant.config_entries import ConfigEntry, ConfigSubentry
from homeassistant.const import ATTR_DEVICE_ID, ATTR_NAME, CONF_LLM_HASS_API, CONF_URL, __version__
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import device_registry as dr, issue_registry as ir
from homeassistant.helpers.device_registry import DeviceEntryType, DeviceInfo
from homeassistant.helpers.dispatcher import async_dispatcher_send
from homeassistant.helpers.llm import LLM_API_ASSIST
from homeassistant.util import dt as dt_util
from homeassistant.util.signal_type import SignalType
from homeassistant.util.ssl import get_default_context

from ...const import DOMAIN, MANUFACTURER
from ...protocol.access_point.access_point_client import AccessPointClient
from ...protocol.access_point.address import AccessPointAddress
from ...protocol.access_point.dispatcher import CallRecord
from ...protocol.access_point.reconnecting import Problem
from ...protocol.access_point.tools import ToolList
from ...settings import TEXTS, read_settings, stored
from ...texts.issues import async_raise_issue
from .house_tools import HouseTool, async_house, offered_tools

_LOGGER = logging.getLogger(__name__)

# A subentry, whose unique id is the host and the agent.
SUBENTRY_ACCESS_POINT: Final = "access_point"
CONF_QUESTIONS_ONLY: Final = "questions_only"
EVENT_ACCESS_POINT_CALL: Final = "xiaozhi_access_point_call"

_EXPIRING: Final = "access_point_expiring"
# Where Home Assistant lets assistants see entities.
_EXPOSE_PAGE: Final = "/config/voice-assistants/expose"


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


class AccessPoint:
    """Runtime of the subentry of an access point. It gives its client the tools of the house."""

    def __init__(self, hass: HomeAssistant, entry: ConfigEntry[Any], subentry: ConfigSubentry) -> None:
        self.settings = AccessPointSettings.from_subentry(subentry)
        self.subentry_id = subentry.subentry_id
        self.info = DeviceInfo(identifiers={(DOMAIN, f"access_point_{self.subentry_id}")})
        """Connects the entities with the service device in the registry."""
        self.signal = SignalType[CallRecord | None](f"{DOMAIN}_{self.subentry_id}")
        """Sent after every change, with a call that was answered if that is the change."""
        self.last_call: datetime | None = None
        self._hass = hass
        self._entry = entry
        self.missing: tuple[str, ...] = ()
        """Ids of the LLM APIs that cannot be offered."""
        self._started = False
        self._device_id: str | None = None
        self.client = self._make_client()
        """The connection; another one when the address is changed."""
        self._replacing = asyncio.Lock()
        self._register()

    @property
    def name(self) -> str:
        """Name from the owner: the one on its page, if it was changed there."""
        registered = dr.async_get(self._hass).async_get(self._device_id or "")
        return (registered.name_by_user if registered else None) or self.settings.name

    @property
    def offered(self) -> ToolList | None:
        """Return the tools as they were last listed; None before that."""
        return self.client.dispatcher.current

    @callback
    def async_start(self) -> None:
        """Begin to connect. Before Home Assistant has started, the list would be half empty."""
        self._started = True
        self.client.start()
        self._create_task(self.async_refresh(), "list tools")
        self.async_update_issues()

    async def async_close(self) -> None:
        """Close the connection, and delete its repair issues."""
        async with self._replacing:
            self._started = False
            await self.client.close()
        self.async_update_issues()

    @callback
    def apply(self, subentry: ConfigSubentry) -> None:
        """Take changed settings; the connection stays unless the address is another."""
        before, self.settings = self.settings, AccessPointSettings.from_subentry(subentry)
        if self.settings == before:
            return
        self._register()
        if self.settings.address != before.address:
            self._create_task(self._replace(), "replace access point")
        elif self._started:
            self._create_task(self.async_refresh(), "list tools")
        self.changed()

    async def async_refresh(self) -> None:
        """Look at the tools of the house again, and notify the cloud if they have changed."""
        try:
            await self.client.refresh()
        except TimeoutError:
            _LOGGER.debug("%s: the tools could not be listed in time", self.name)
        except Exception:
            _LOGGER.exception("%s: the tools could not be listed", self.name)
        self.changed()

    @callback
    def async_update_issues(self) -> None:
        """Raise the repair issues that there are, and delete the others: a token expires without an event."""
        address, now = self.settings.address, dt_util.utcnow()
        expires, problem = address.expires, self.client.reconnecting.problem
        about = {
            "name": self.name,
            "host": address.host,
            "apis": ", ".join(self.missing),
            "page": _EXPOSE_PAGE,
            "date": "" if expires is None else dt_util.as_local(expires).date().isoformat(),
        }
        is_expired = expires is not None and expires <= now
        wanted = {
            "access_point_expired": is_expired,
            _EXPIRING: expires is not None and now < expires < now + timedelta(days=30),
            "access_point_api_gone": bool(self.missing),
            # A server refuses an expired token: one message is enough.
            "access_point_refused": problem is Problem.REFUSED and not is_expired,
            "access_point_used_elsewhere": problem is Problem.USED_ELSEWHERE,
            "access_point_too_many_tools": problem is Problem.TOO_MANY_TOOLS,
        }
        for key, is_wanted in wanted.items():
            issue_id = f"{key}_{self.subentry_id}"
            if is_wanted and self._started:
                severity = ir.IssueSeverity.WARNING if key == _EXPIRING else ir.IssueSeverity.ERROR
                async_raise_issue(self._hass, issue_id, key, severity=severity, **about)
            else:
                ir.async_delete_issue(self._hass, DOMAIN, issue_id)

    async def tools(self) -> list[HouseTool]:
        """Return the tools of this moment."""
        tools, missing = await async_house(self._hass, self.settings.apis, self._device_id)
        if missing != self.missing:
            self.missing = missing
            self.async_update_issues()
        return offered_tools(tools, self.settings.tools, questions_only=self.settings.questions_only)

    def describe(self) -> dict[str, Any]:
        """Return diagnostics, without the token and without arguments of calls."""
        client, address = self.client, self.settings.address
        dispatcher, ending = client.dispatcher, client.last_ending
        offered = self.offered
        return {
            "host": address.host,
            "agent": address.agent,
            "encrypted": address.secure,
            "self_hosted": address.self_hosted,
            "expires": address.expires,
            "apis": list(self.settings.apis),
            "apis_missing": list(self.missing),
            "questions_only": self.settings.questions_only,
            "tools_chosen": None if self.settings.tools is None else list(self.settings.tools),
            "tools_offered": None if offered is None else [tool["name"] for tool in offered.tools],
            "tools_bytes": None if offered is None else offered.size,
            "connected": client.connected,
            "problem": client.reconnecting.problem,
            "attempts": client.reconnecting.attempts,
            "last_ending": None if ending is None else asdict(ending),
            "client_name": dispatcher.client_name,
            "protocol_version": dispatcher.protocol_version,
            "calls_running": dispatcher.running,
            "last_call": self.last_call,
            "connections": client.connections,
            "failures": client.failures,
            "requests": dispatcher.requests,
        }

    def _make_client(self) -> AccessPointClient:
        return AccessPointClient(self.settings.address, self, version=__version__, tls=get_default_context())

    async def _replace(self) -> None:
        """Use the new address. A self-hosted server has one place only: the old connection goes first."""
        async with self._replacing:
            await self.client.close()
            self.client = self._make_client()
            if self._started:
                self.client.start()
        await self.async_refresh()

    @callback
    def changed(self, record: CallRecord | None = None) -> None:
        """Show a change, with a call that was answered if that is the change."""
        self.async_update_issues()
        async_dispatcher_send(self._hass, self.signal, record)

    @callback
    def called(self, record: CallRecord) -> None:
        """Report a call that was answered."""
        self.last_call = dt_util.utcnow()
        self._hass.bus.async_fire(
            EVENT_ACCESS_POINT_CALL,
            {
                ATTR_DEVICE_ID: self._device_id,
                ATTR_NAME: self.name,
                "tool": record.tool,
                "outcome": record.outcome.value,
                "milliseconds": record.milliseconds,
            },
        )
        self.changed(record)

    @callback
    def _register(self) -> None:
        registered = dr.async_get(self._hass).async_get_or_create(
            config_entry_id=self._entry.entry_id,
            config_subentry_id=self.subentry_id,
            identifiers=self.info["identifiers"],
            entry_type=DeviceEntryType.SERVICE,
            manufacturer=MANUFACTURER,
            model="MCP access point",
            name=self.settings.name,
        )
        self._device_id = registered.id

    def _create_task(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._entry.async_create_background_task(self._hass, work, f"xiaozhi {name}")
