"""Addresses of Home Assistant: which of them devices can use."""

from enum import StrEnum
from ipaddress import IPv4Address, ip_address
import re
from typing import Any, Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.util.network import is_ipv4_address, is_loopback
from yarl import URL

from ..const import OTA_PATH
from ..links.link_settings import is_known_here_only

PORTAL_URL: Final = "http://192.168.4.1"
"""The page of a device's own Wi-Fi hotspot (the firmware's component esp-wifi-connect)."""

# A device stores at most 255 characters of a WebSocket's URL, with scheme, port and path.
_HOST: Final = re.compile(r"[0-9A-Za-z](?:[0-9A-Za-z._-]{0,198}[0-9A-Za-z])?")
_NUMERIC: Final = re.compile(r"[0-9.]+")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class HostProblem(StrEnum):
    """Why devices cannot use a name or address, or most of them cannot."""

    UNUSABLE = "unusable"
    """Neither a name nor an IPv4 address. The firmware has no IPv6."""
    HERE_ONLY = "here_only"
    """Known on this computer only, such as localhost and the names of add-ons."""
    LOCAL_NAME = "local_name"
    """A name that ends in .local, which a device resolves only if its firmware was built for it."""


def is_usable_host(host: str) -> bool:
    """Whether a device can connect to this name or IPv4 address. The firmware has no IPv6."""
    return bool(_HOST.fullmatch(host)) and (not _NUMERIC.fullmatch(host) or is_ipv4_address(host))


def host_problem(host: str) -> HostProblem | None:
    """Return why devices cannot use a host, or may not be able to; None for no known reason."""
    host = host.lower()
    if not is_usable_host(host) or (is_ipv4_address(host) and _is_of_no_host(IPv4Address(host))):
        return HostProblem.UNUSABLE
    if is_known_here_only(host):
        return HostProblem.HERE_ONLY
    return HostProblem.LOCAL_NAME if host.endswith(".local") else None


@callback
def check_in_url(hass: HomeAssistant, address: str | None) -> str | None:
    """Return the check-in address for devices at home; None when Home Assistant does not know its own.

    `address` is the host that the owner has set. The scheme is http unless Home Assistant serves https only,
    for which devices require a publicly trusted certificate.
    """
    api = hass.config.api
    if api is None:
        return None
    scheme, host, port = "https" if api.use_ssl else "http", api.local_ip, api.port
    internal = URL(hass.config.internal_url or "")
    # Only an IP address: whether a device resolves names that end in .local depends on its build.
    if internal.scheme == "http" and internal.host and is_ipv4_address(internal.host):
        scheme, host, port = internal.scheme, internal.host, internal.port or port
    host = address or host
    # Devices cannot use a loopback address, nor an IP address with https: no certificate fits it.
    if not address and (not is_ipv4_address(host) or is_loopback(ip_address(host)) or scheme == "https"):
        return None
    suffix = "" if port == _DEFAULT_PORTS[scheme] else f":{port}"
    return f"{scheme}://{host}{suffix}{OTA_PATH}"


@callback
def describe_address(hass: HomeAssistant, address: str | None) -> dict[str, Any]:
    """Return for diagnostics what the check-in address is like, but not the address."""
    url = URL(check_in_url(hass, address) or "")
    host = url.host
    return {
        "known": host is not None,
        "set_by_owner": address is not None,
        "scheme": url.scheme,
        "is_ip_address": host is not None and is_ipv4_address(host),
        "problem": None if host is None else host_problem(host),
    }


def _is_of_no_host(address: IPv4Address) -> bool:
    return address.is_unspecified or address.is_multicast or address.is_reserved
