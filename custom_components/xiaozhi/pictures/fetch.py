"""Fetches pictures from web addresses, with the rights of the calling user.

A user without access to the home network must learn nothing about it: an address is refused before anything
is looked up, and every later failure raises the same error.
"""

import asyncio
from collections.abc import Iterable
from enum import Enum, auto
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
import logging
import socket
from typing import Final, override

from aiohttp import ClientError, ClientSession, DummyCookieJar, TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult
from homeassistant.components import network
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
from homeassistant.helpers.aiohttp_client import (
    SERVER_SOFTWARE,
    HomeAssistantTCPConnector,
    async_get_clientsession,
)
from homeassistant.util.ssl import get_default_context
from yarl import URL

from ..const import DOMAIN
from ..device_http.bodies import BodyTooLargeError, read_body
from ..timeouts import timeouts_of

__all__ = ["MAX_FETCHED_BYTES", "Asker", "async_fetch_url", "too_large"]

_LOGGER = logging.getLogger(__name__)

MAX_FETCHED_BYTES: Final = 16 * 1024 * 1024
"""The largest picture for a screen."""
_MAX_REDIRECTS: Final = 5
_SCHEMES: Final = ("http", "https")
# Names that routers assign, or that are reserved for private networks.
_HOME_DOMAINS: Final = (
    ".fritz.box",
    ".home",
    ".home.arpa",
    ".internal",
    ".lan",
    ".local",
    ".localdomain",
    ".localhost",
)

type _Address = IPv4Address | IPv6Address
type _Networks = list[IPv4Network | IPv6Network]


class Asker(Enum):
    """The caller for whom a picture is fetched."""

    USER = auto()
    """A user who is not an administrator."""
    OWNER = auto()
    """An administrator, or an automation."""
    LIBRARY = auto()
    """A media integration that the owner has set up."""


class _Reach(Enum):
    """Where a host may be."""

    PUBLIC = auto()
    HOME = auto()
    ANYWHERE = auto()


class _NotAllowedError(Exception):
    """The caller may not fetch from an address, known without looking anything up."""


async def async_fetch_url(hass: HomeAssistant, url: str, asker: Asker) -> bytes:
    """Return the data at an http or https address. Raises `HomeAssistantError`."""
    rules = _Rules(hass, asker, await _own_networks(hass))
    # A session of its own: Home Assistant's follows redirects and resolves names without these checks.
    connector = TCPConnector(
        resolver=_GuardedResolver(hass, rules),
        ssl=get_default_context(),
        use_dns_cache=False,
        force_close=True,
    )
    try:
        async with (
            asyncio.timeout(timeouts_of(hass).pictures.fetch),
            ClientSession(
                connector=connector,
                auto_decompress=False,
                cookie_jar=DummyCookieJar(),
                headers={"Accept-Encoding": "identity", "User-Agent": SERVER_SOFTWARE},
            ) as session,
        ):
            return await _follow(session, rules, URL(url))
    except _NotAllowedError as err:
        raise ServiceValidationError(
            translation_domain=DOMAIN,
            translation_key="address_not_allowed",
            translation_placeholders={"url": url},
        ) from err
    except (TimeoutError, ClientError, OSError, ValueError) as err:
        # The reason would reveal hosts and ports of the home network.
        _LOGGER.debug("A picture was not fetched: %s", type(err).__name__)
        raise HomeAssistantError(
            translation_domain=DOMAIN,
            translation_key="picture_not_fetched",
            translation_placeholders={"source": url},
        ) from err


async def _follow(session: ClientSession, rules: _Rules, url: URL) -> bytes:
    """Return the data at an address, or the address that it redirects to."""
    rules.begin(url)
    for _ in range(_MAX_REDIRECTS + 1):
        async with session.get(url, allow_redirects=False, raise_for_status=True) as response:
            location = response.headers.get("Location", "")
            if not (300 <= response.status < 400 and location):
                if (response.content_length or 0) > MAX_FETCHED_BYTES:
                    raise too_large(str(url))
                try:
                    return await read_body(response, MAX_FETCHED_BYTES)
                except BodyTooLargeError as err:
                    raise too_large(str(url)) from err
        url = url.join(URL(location))
        try:
            rules.redirect(url)
        except _NotAllowedError as err:
            # Like any other failure after the first address: the caller must not learn where it leads.
            raise ValueError("redirect to an address that is not allowed") from err
    raise ValueError("too many redirects")


class _Rules:
    """The hosts allowed during one fetch."""

    def __init__(self, hass: HomeAssistant, asker: Asker, own: _Networks) -> None:
        self._hass = hass
        self._asker = asker
        self._own = own
        self._first = ""
        self._reach: dict[str, _Reach] = {}

    def begin(self, url: URL) -> None:
        """Check the first address. Raises `_NotAllowedError`."""
        self._first = _host(url)
        at_home = _is_home_name(self._first)
        if self._asker is Asker.LIBRARY:
            reach = _Reach.ANYWHERE
        elif self._hass.config.allowlist_external_urls:
            reach = self._listed(url)
        elif self._asker is Asker.OWNER and at_home:
            reach = _Reach.HOME
        elif at_home and not _is_literal(self._first):
            raise _NotAllowedError
        else:
            reach = _Reach.PUBLIC
        self._enter(self._first, reach)

    def redirect(self, url: URL) -> None:
        """Check an address that a server redirects to. Raises `_NotAllowedError`."""
        host = _host(url)
        if self._asker is not Asker.LIBRARY and self._hass.config.allowlist_external_urls:
            self._enter(host, self._listed(url))
        elif host != self._first:
            self._enter(host, _Reach.PUBLIC)

    def allows(self, host: str, address: str) -> bool:
        """Whether a connection to this IP address is allowed."""
        found = ip_address(address.partition("%")[0])
        found = getattr(found, "ipv4_mapped", None) or found
        match self._reach.get(host.lower().rstrip("."), _Reach.PUBLIC):
            case _Reach.ANYWHERE:
                return True
            case _Reach.HOME:
                return not _is_never_a_host(found)
            case _Reach.PUBLIC:
                return (
                    found.is_global
                    and not _is_never_a_host(found)
                    # With IPv6, devices at home have public IP addresses.
                    and not any(found in one for one in self._own)
                )

    def _listed(self, url: URL) -> _Reach:
        if not self._hass.config.is_allowed_external_url(str(url)):
            raise _NotAllowedError
        return _Reach.ANYWHERE

    def _enter(self, host: str, reach: _Reach) -> None:
        self._reach[host] = reach
        # An IP address is not resolved, so it is checked here.
        if _is_literal(host) and not self.allows(host, host):
            raise _NotAllowedError


class _GuardedResolver(AbstractResolver):
    """Home Assistant's resolver, limited to allowed IP addresses."""

    def __init__(self, hass: HomeAssistant, rules: _Rules) -> None:
        self._hass = hass
        self._rules = rules

    @override
    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        connector = async_get_clientsession(self._hass).connector
        if not isinstance(connector, HomeAssistantTCPConnector):
            raise OSError("no resolver")
        found = await connector.async_resolve_host(host)
        # A name with both private and public addresses is not trusted.
        if not found or not all(self._rules.allows(host, result["host"]) for result in found):
            raise OSError("no address that is allowed")
        return [{**result, "port": port} for result in found]

    @override
    async def close(self) -> None:
        """Do nothing: the resolver belongs to Home Assistant."""


def too_large(source: str) -> HomeAssistantError:
    """Return the error for a picture of more than `MAX_FETCHED_BYTES`."""
    return HomeAssistantError(
        translation_domain=DOMAIN,
        translation_key="picture_too_large",
        translation_placeholders={"source": source, "limit": str(MAX_FETCHED_BYTES // 1024 // 1024)},
    )


async def _own_networks(hass: HomeAssistant) -> _Networks:
    """Return the networks of this computer."""
    adapters = await network.async_get_adapters(hass)
    addresses: Iterable[tuple[str, int]] = (
        (found["address"], found["network_prefix"])
        for adapter in adapters
        for found in (*adapter["ipv4"], *adapter["ipv6"])
    )
    return [ip_network(f"{address}/{prefix}", strict=False) for address, prefix in addresses]


def _host(url: URL) -> str:
    if url.scheme not in _SCHEMES or not url.host:
        raise ValueError("no http or https address")
    return url.host.lower().rstrip(".")


def _is_literal(host: str) -> bool:
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _is_home_name(host: str) -> bool:
    """Whether a name obviously belongs to the home network."""
    return _is_literal(host) or "." not in host or host.endswith(_HOME_DOMAINS)


def _is_never_a_host(address: _Address) -> bool:
    """Whether no server at home has this IP address. In a cloud, a link-local server has credentials."""
    return address.is_link_local or address.is_multicast or address.is_unspecified or address.is_reserved
