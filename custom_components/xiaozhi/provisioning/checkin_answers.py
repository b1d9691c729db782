"""Replies to check-ins: the link settings for a paired device, a pairing code for any other."""

from dataclasses import dataclass, replace
from enum import Enum, auto

from homeassistant.core import callback
from homeassistant.util import dt as dt_util

from ..device.device import Device
from ..device.registry import async_register
from ..gateway import Gateway
from ..links.link_settings import kind_of_link, link_reply, web_origin
from ..protocol.checkin import CheckIn
from ..protocol.checkin_reply import PairingReply, Reply, ServerTime
from ..protocol.transport.link import LinkKind
from ..settings import DeviceLink


class Activation(Enum):
    """Pairing progress of a device that shows a code."""

    ACCEPTED = auto()
    WAITING = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Source and destination of a check-in."""

    remote: str
    """IP address of the device."""
    host: str
    """Name or IPv4 address that the device called."""
    origin: str
    """Beginning of the URL that it called: scheme, host and port."""


@callback
def answer_check_in(gateway: Gateway, checkin: CheckIn, caller: Caller) -> Reply:
    """Return the reply to a check-in."""
    server_time = ServerTime.at(dt_util.now())
    device = gateway.paired(checkin.mac, checkin.client_id)
    if device is not None:
        device.checked_in(checkin)
        async_register(gateway.hass, gateway.entry, device)
        return _answer_paired(gateway, device, caller, server_time)
    pending = gateway.discovery.add(checkin, caller.remote)
    return PairingReply(
        code=pending.code,
        challenge=pending.challenge,
        message=f"Home Assistant\n{pending.code}",
        server_time=server_time,
    )


@callback
def answer_activation(gateway: Gateway, checkin: CheckIn) -> Activation:
    """Return whether a device that shows a code is paired by now."""
    if gateway.paired(checkin.mac, checkin.client_id) is not None:
        return Activation.ACCEPTED
    waiting = gateway.discovery.get(checkin.mac, checkin.client_id)
    return Activation.WAITING if waiting is not None else Activation.UNKNOWN


@callback
def would_change_link(gateway: Gateway, device: Device, link: DeviceLink) -> bool:
    """Whether this setting would change the kind of link of a device."""
    kind = kind_of_link(gateway.settings, replace(device.settings, link=link), device.state.firmware_version)
    return device.state.link not in {None, kind}


def _answer_paired(gateway: Gateway, device: Device, caller: Caller, server_time: ServerTime) -> Reply:
    settings = gateway.settings
    kind = kind_of_link(settings, device.settings, device.state.firmware_version)
    device.replied(kind, caller.host, web_origin(settings, caller.origin))
    if kind is LinkKind.MQTT:
        gateway.listeners.expect(device.mac)
    reply = link_reply(settings, device.settings, kind, caller.host, server_time)
    return replace(reply, firmware=device.firmware_offer())
