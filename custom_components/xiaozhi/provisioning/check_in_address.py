"""Addresses of Home Assistant that devices can use."""

import asyncio
from enum import StrEnum
from ipaddress import IPv4Address, ip_address
import re
from socket import AF_INET
from typing import Any, Final

import aiohttp
from homeassistant.components.network import async_get_adapters
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from homeassistant.util.network import is_ipv4_address, is_loopback
from yarl import URL

from ..const import OTA_PATH
from ..protocol.checkin import is_usable_host
from ..settings import GatewaySettings, gateway_entry
from ..timeouts import CallTimeouts

GATEWAY_HEADER: Final = "X-XiaoZhi-Gateway"
"""On the page at the check-in address: the name of the gateway."""
PORTAL_URL: Final = "http://192.168.4.1"
"""The page of a device's own Wi-Fi hotspot (the firmware's component esp-wifi-connect)."""

# Loopback, and the names that the Supervisor gives to its add-ons, such as a0d7b954-emqx.
_ON_THIS_COMPUTER: Final = re.compile(r"(.+\.)?localhost|127\.[0-9.]+|(core|local|[0-9a-f]{8})-[a-z0-9_-]+")


class HostProblem(StrEnum):
    """Reasons why devices, or most of them, cannot use a host: the keys of the form's errors."""

    UNUSABLE = "invalid_address"
    """Neither a name nor an IPv4 address. The firmware has no IPv6."""
    HERE_ONLY = "address_known_here_only"
    """Known on this computer only, such as localhost and the names of add-ons."""
    LOCAL_NAME = "address_local_name"
    """A name that ends in .local, which a device resolves only if its firmware was built for it."""


def is_known_here_only(host: str) -> bool:
    """Whether a name or address is valid on this computer only."""
    return bool(_ON_THIS_COMPUTER.fullmatch(host))


def host_problem(host: str) -> HostProblem | None:
    """Return the reason why devices may not be able to use a host; None for no known one."""
    host = host.lower()
    if not is_usable_host(host) or (is_ipv4_address(host) and _is_of_no_host(IPv4Address(host))):
        return HostProblem.UNUSABLE
    if is_known_here_only(host):
        return HostProblem.HERE_ONLY
    return HostProblem.LOCAL_NAME if host.endswith(".local") else None


@callback
def found_host(hass: HomeAssistant) -> str | None:
    """Return Home Assistant's own IPv4 address for devices; None if they cannot use it."""
    scheme, host, _ = _web_server(hass) or ("", "", 0)
    # Devices cannot use a loopback address, nor an IP address with https: no certificate fits it.
    if not is_ipv4_address(host) or is_loopback(ip_address(host)) or scheme == "https":
        return None
    return host


@callback
def check_in_url(hass: HomeAssistant, address: str | None) -> str | None:
    """Return the check-in address for devices at home; None when Home Assistant does not know its own.

    `address` is the host that the owner has set. The scheme is http unless Home Assistant serves https only,
    for which devices require a publicly trusted certificate.
    """
    host = address or found_host(hass)
    if host is None or (server := _web_server(hass)) is None:
        return None
    scheme, _, port = server
    suffix = "" if port == {"http": 80, "https": 443}[scheme] else f":{port}"
    return f"{scheme}://{host}{suffix}{OTA_PATH}"


@callback
def is_https_only(hass: HomeAssistant) -> bool:
    """Whether devices at home would have to use https."""
    server = _web_server(hass)
    return server is not None and server[0] == "https"


async def async_leads_here(hass: HomeAssistant, address: str) -> bool:
    """Whether a host is this computer, or the gateway answers there, for example behind a proxy."""
    try:
        async with asyncio.timeout(CallTimeouts.probe):
            found = await hass.loop.getaddrinfo(address, None, family=AF_INET)
    except OSError, TimeoutError, UnicodeError:
        return False
    adapters = await async_get_adapters(hass)
    if {own["address"] for adapter in adapters for own in adapter["ipv4"]} & {str(ip[4][0]) for ip in found}:
        return True
    entry, url = gateway_entry(hass), check_in_url(hass, address)
    if entry is None or url is None:
        return False
    try:
        async with asyncio.timeout(CallTimeouts.probe), async_get_clientsession(hass).get(url) as answer:
            return answer.headers.get(GATEWAY_HEADER) == GatewaySettings.from_entry(entry).name
    except TimeoutError, aiohttp.ClientError:
        return False


@callback
def describe_address(hass: HomeAssistant, address: str | None) -> dict[str, Any]:
    """Return the properties of the check-in address for diagnostics, without the address."""
    url = URL(check_in_url(hass, address) or "")
    host = url.host
    return {
        "known": host is not None,
        "set_by_owner": address is not None,
        "scheme": url.scheme,
        "is_ip_address": host is not None and is_ipv4_address(host),
        "problem": None if host is None else host_problem(host),
    }


def _web_server(hass: HomeAssistant) -> tuple[str, str, int] | None:
    """Return scheme, host and port of our web server, if Home Assistant knows them."""
    if (api := hass.config.api) is None:
        return None
    internal = URL(hass.config.internal_url or "")
    # Only an IP address: whether a device resolves names that end in .local depends on its build.
    if internal.scheme == "http" and internal.host and is_ipv4_address(internal.host):
        return internal.scheme, internal.host, internal.port or api.port
    return "https" if api.use_ssl else "http", api.local_ip, api.port


def _is_of_no_host(address: IPv4Address) -> bool:
    return address.is_unspecified or address.is_multicast or address.is_reserved
