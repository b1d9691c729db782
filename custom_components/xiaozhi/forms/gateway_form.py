"""The forms with the gateway's settings: fields, stored data and tests."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
import errno
from importlib import import_module
import logging
from socket import AF_INET, SO_REUSEADDR, SOCK_DGRAM, SOCK_STREAM, SOL_SOCKET, SocketKind, socket
from typing import Any, Final

from homeassistant.config_entries import ConfigEntry, ConfigEntryState
from homeassistant.const import CONF_HOST, CONF_PASSWORD, CONF_PORT, CONF_USERNAME
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import section
from homeassistant.helpers.selector import (
    BooleanSelector,
    NumberSelector,
    NumberSelectorConfig,
    NumberSelectorMode,
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
    TextSelector,
    TextSelectorConfig,
    TextSelectorType,
)
import voluptuous as vol

from ..const import (
    CONF_ADDRESS,
    CONF_LINK,
    CONF_MQTT_PORT,
    CONF_TLS,
    CONF_UDP_PORT,
    CONF_WEBSOCKET_PORT,
    DEFAULT_BROKER_PORT,
    DEFAULT_MQTT_PORT,
    DEFAULT_UDP_PORT,
    DEFAULT_WEBSOCKET_PORT,
)
from ..protocol.checkin_reply import is_mqtt_name
from ..protocol.transport.owner_broker.broker_settings import BROKER_MODULE, BrokerError, BrokerProblem
from ..provisioning.check_in_address import (
    HostProblem,
    async_leads_here,
    check_in_url,
    host_problem,
    is_known_here_only,
)
from ..settings import OfferedLink, broker_settings

# The only port on which the firmware encrypts MQTT (its `main/protocols/mqtt_protocol.cc`).
_TLS_PORT: Final = 8883

_ELSEWHERE: Final = "address_elsewhere"
_DOES_NOT_PUSH: Final = "broker_does_not_push"
WARNINGS: Final = {_DOES_NOT_PUSH, _ELSEWHERE, HostProblem.HERE_ONLY.value, HostProblem.LOCAL_NAME.value}
"""Errors that are only warnings: a value that is submitted again is accepted."""

_PORT: Final = vol.All(
    NumberSelector(NumberSelectorConfig(min=1, max=65535, step=1, mode=NumberSelectorMode.BOX)),
    vol.Coerce(int),
)
_FIELDS: Final[Mapping[vol.Marker, Any]] = {
    vol.Required(CONF_LINK, default=OfferedLink.MQTT.value): SelectSelector(
        SelectSelectorConfig(
            options=[link.value for link in OfferedLink],
            mode=SelectSelectorMode.LIST,
            translation_key="gateway_link",
        )
    ),
    vol.Required(CONF_WEBSOCKET_PORT, default=DEFAULT_WEBSOCKET_PORT): _PORT,
    vol.Required(CONF_MQTT_PORT, default=DEFAULT_MQTT_PORT): _PORT,
    vol.Required(CONF_UDP_PORT, default=DEFAULT_UDP_PORT): _PORT,
    vol.Optional(CONF_ADDRESS): TextSelector(),
}
_ADVANCED: Final = "advanced"
_ACCOUNT: Final = {
    vol.Optional(CONF_USERNAME): TextSelector(),
    vol.Optional(CONF_PASSWORD): TextSelector(TextSelectorConfig(type=TextSelectorType.PASSWORD)),
}
ACCOUNT_SCHEMA: Final = vol.Schema(_ACCOUNT)
BROKER_SCHEMA: Final = vol.Schema(
    {
        vol.Required(CONF_HOST): TextSelector(),
        vol.Required(CONF_PORT, default=DEFAULT_BROKER_PORT): _PORT,
        **_ACCOUNT,
        vol.Required(CONF_TLS, default=False): BooleanSelector(),
    }
)

_LOGGER: Final = logging.getLogger(__name__)

# The transport of each port, and the links for which it is opened.
_OPENED: Final = {
    CONF_WEBSOCKET_PORT: (SOCK_STREAM, {OfferedLink.WEBSOCKET, OfferedLink.MQTT, OfferedLink.BROKER}),
    CONF_MQTT_PORT: (SOCK_STREAM, {OfferedLink.MQTT}),
    CONF_UDP_PORT: (SOCK_DGRAM, {OfferedLink.MQTT, OfferedLink.BROKER}),
}
_BROKER_ERRORS: Final = {
    BrokerProblem.UNREACHABLE: (CONF_HOST, "broker_unreachable"),
    BrokerProblem.UNKNOWN_HOST: (CONF_HOST, "broker_unknown_host"),
    BrokerProblem.TLS: (CONF_TLS, "broker_tls"),
    BrokerProblem.CERTIFICATE: (CONF_TLS, "broker_certificate"),
    BrokerProblem.REFUSED: (CONF_USERNAME, "broker_refused"),
    BrokerProblem.FORBIDDEN: ("base", "broker_forbidden"),
}


@dataclass(slots=True)
class GatewayForm:
    """The form of the gateway, to which guests add in files that are named like this one."""

    hass: HomeAssistant
    entry: ConfigEntry | None
    """None for a new gateway."""
    settings: dict[str, Any] = field(default_factory=dict)
    """As they are stored; empty before the input."""
    errors: dict[str, str] = field(default_factory=dict)
    fields: dict[Any, Any] = field(default_factory=dict)
    """Of guests."""
    suggested: dict[str, Any] = field(default_factory=dict)
    placeholders: dict[str, str] = field(default_factory=dict)

    @property
    def known(self) -> Mapping[str, Any]:
        """The stored settings. An entry from before MQTT has no link."""
        return {} if self.entry is None else {CONF_LINK: OfferedLink.WEBSOCKET.value, **self.entry.data}

    def take(self, user_input: Mapping[str, Any]) -> None:
        """Take the input, without sections and empty texts."""
        given = {**user_input, **user_input.get(_ADVANCED, {})}
        given.pop(_ADVANCED, None)
        given[CONF_ADDRESS] = given.get(CONF_ADDRESS, "").lower()
        texts = {key: value.strip() for key, value in given.items() if isinstance(value, str)}
        self.settings = {key: value for key, value in (given | texts).items() if value != ""}

    async def check(self) -> None:
        """Test the settings of the core. The ports that a running gateway has open count as free."""
        is_open = self.entry is not None and self.entry.state is ConfigEntryState.LOADED
        held = _ports(self.known).values() if is_open else ()
        address, known = self.settings.get(CONF_ADDRESS), self.known.get(CONF_ADDRESS)
        self.errors |= await _address_errors(self.hass, address, known)
        self.errors |= _port_errors(_ports(self.settings), held)

    def schema(self) -> vol.Schema:
        """Return the fields. Those of a new gateway with a default are below *Advanced*.

        A form shows no errors within a section, so that fields with errors must be outside.
        """
        if self.entry is not None:
            return vol.Schema({**_FIELDS, **self.fields})
        shown = self.errors.keys() | ({CONF_ADDRESS} if check_in_url(self.hass, None) is None else set())
        above = {field: selector for field, selector in _FIELDS.items() if field in shown} | self.fields
        below = {field: selector for field, selector in _FIELDS.items() if field not in shown}
        self.suggested |= {_ADVANCED: dict(self.suggested)}
        if below:
            above[vol.Required(_ADVANCED)] = section(vol.Schema(below), {"collapsed": True})
        return vol.Schema(above)


def cleaned_broker(user_input: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return a broker as it is stored; without a new password, with the one of the `known` broker."""
    username = user_input.get(CONF_USERNAME, "").strip()
    kept = known.get(CONF_PASSWORD, "") if username else ""
    broker = {
        CONF_HOST: user_input[CONF_HOST].strip().lower(),
        CONF_PORT: user_input[CONF_PORT],
        CONF_TLS: user_input[CONF_TLS],
        CONF_USERNAME: username,
        CONF_PASSWORD: user_input.get(CONF_PASSWORD, "") or kept,
    }
    return {key: value for key, value in broker.items() if value != ""}


async def _address_errors(hass: HomeAssistant, address: str | None, known: str | None) -> dict[str, str]:
    is_new = address != known
    if (problem := address and host_problem(address)) and (problem is HostProblem.UNUSABLE or is_new):
        return {CONF_ADDRESS: problem.value}
    if check_in_url(hass, address) is None:
        return {CONF_ADDRESS: "address_needed"}
    if address and is_new and not await async_leads_here(hass, address):
        return {CONF_ADDRESS: _ELSEWHERE}
    return {}


def _port_errors(
    ports: dict[str, tuple[SocketKind, int]], held: Collection[tuple[SocketKind, int]]
) -> dict[str, str]:
    errors = {
        field: error
        for field, (transport, port) in ports.items()
        if (transport, port) not in held and (error := _try_port(transport, port))
    }
    if (mqtt := ports.get(CONF_MQTT_PORT)) is not None:
        if mqtt == ports[CONF_WEBSOCKET_PORT]:
            errors[CONF_MQTT_PORT] = "port_twice"
        if mqtt[1] == _TLS_PORT:
            errors[CONF_MQTT_PORT] = "port_is_tls"
    return errors


async def broker_errors(
    hass: HomeAssistant, broker: Mapping[str, Any], address: str | None, known: Mapping[str, Any]
) -> dict[str, str]:
    """Test a broker. The `known` one causes no warnings.

    `address` is the address of Home Assistant that the owner has set.
    """
    if errors := _unusable(broker, address):
        return errors
    settings = broker_settings(broker)
    await hass.async_add_import_executor_job(import_module, BROKER_MODULE)
    from ..protocol.transport.owner_broker.broker_client import check_broker, pushes  # noqa: PLC0415

    try:
        await check_broker(settings)
        # The connection works for us, but would not for devices.
        if broker[CONF_TLS] != (broker[CONF_PORT] == _TLS_PORT):
            errors[CONF_PORT] = "broker_port_tls"
        elif broker != known and not await pushes(settings):
            # Only a warning: some builds of the firmware subscribe themselves.
            errors["base"] = _DOES_NOT_PUSH
        host = broker[CONF_HOST]
        if host != known.get(CONF_HOST) and host_problem(host) is HostProblem.LOCAL_NAME:
            errors[CONF_HOST] = HostProblem.LOCAL_NAME.value
    except BrokerError as err:
        field, error = _BROKER_ERRORS[err.problem]
        # The reason in the words of the network or the broker is for the log only.
        _LOGGER.info("The broker cannot be used: %s", err)
        return {field: error}
    return errors


def _ports(settings: Mapping[str, Any]) -> dict[str, tuple[SocketKind, int]]:
    link = OfferedLink(settings[CONF_LINK])
    return {
        field: (transport, settings[field]) for field, (transport, links) in _OPENED.items() if link in links
    }


def _try_port(transport: SocketKind, port: int) -> str | None:
    """Open a port for a moment; return the error, if any."""
    with socket(AF_INET, transport) as opened:
        if transport is SOCK_STREAM:
            # As our servers do: a port whose last connection has just ended is free.
            opened.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        try:
            opened.bind(("", port))
        except OSError as err:
            return "port_in_use" if err.errno == errno.EADDRINUSE else "port_not_allowed"
    return None


def _unusable(broker: Mapping[str, Any], address: str | None) -> dict[str, str]:
    """Return errors in settings that devices could not use, whatever the broker says."""
    errors: dict[str, str] = {}
    # Devices that reach Home Assistant at a loopback address, such as simulated ones, are on this computer.
    devices_are_here = address is not None and is_known_here_only(address)
    problem = host_problem(broker[CONF_HOST])
    if problem is HostProblem.UNUSABLE:
        errors[CONF_HOST] = problem.value
    elif problem is HostProblem.HERE_ONLY and not devices_are_here:
        errors[CONF_HOST] = "broker_known_here_only"
    if CONF_PASSWORD in broker and CONF_USERNAME not in broker:
        errors[CONF_USERNAME] = "username_needed"
    for name in (CONF_USERNAME, CONF_PASSWORD):
        if name in broker and not is_mqtt_name(broker[name]):
            errors[name] = "not_for_devices"
    return errors
