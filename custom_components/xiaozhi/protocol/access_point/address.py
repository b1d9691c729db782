"""The address of an access point, and the claims of its token.

Anybody who has the address can use the tools. So it is never shown or logged, nor are its parts except the
host and the agent's id.
"""

import base64
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
import re
from typing import Any, Final, Self
from urllib.parse import parse_qs, urlsplit

from websockets.exceptions import InvalidURI
from websockets.uri import parse_uri

from ...util.text import label, one_line
from ...util.untrusted_json import parse_json

_SCHEME: Final = re.compile("wss?://", re.IGNORECASE)
# Pages and chats put quotes or brackets around it, and words before it.
_AFTER: Final = " \t\r\n\"'`<>()[]{}“”‘’「」『』【】《》（），。；;,、.！*|…\\"
_INVISIBLE: Final = re.compile("[\u200b-\u200d\u2060\ufeff]")
_UP_TO_TOKEN: Final = re.compile(r"\S*?token=[\w.~%+/=&-]+", re.ASCII)
# A token without an end may state the last second of the year 9999, which other time zones do not have.
_NEVER: Final = datetime(3000, 1, 1, tzinfo=UTC).timestamp()
# mcp-endpoint-server (server.py): the two sides differ in this part of the path, and share the token.
_TOOL_SIDE: Final = "/mcp_endpoint/mcp/"
_AGENT_SIDE: Final = "/mcp_endpoint/call/"


class AddressProblem(StrEnum):
    """Fault of an address."""

    NOT_WEBSOCKET = "not_websocket"
    """It does not begin with wss:// or ws://."""
    INVALID = "invalid_url"
    NO_TOKEN = "no_token"  # noqa: S105
    AGENT_SIDE = "agent_side"
    """It is the address for assistants, which call tools, not for those who offer them."""


class AddressError(Exception):
    """An address cannot be used. Its text has no part of the address."""

    def __init__(self, problem: AddressProblem) -> None:
        super().__init__(problem.value)
        self.problem = problem


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPointAddress:
    """An address that can be dialled. Only `host` and `agent` may be shown."""

    url: str = field(repr=False)
    """As the owner gave it, byte for byte."""
    host: str
    """Host, with the port if there is one."""
    secure: bool
    agent: str | None
    """Id of the agent in the cloud; None if the token does not state it."""
    expires: datetime | None
    """When the token expires; None if it does not state it."""
    identity: str
    """The same for every token of an agent: a new token is made whenever its owner opens the page."""
    agent_side_url: str | None = field(repr=False)
    """Where a self-hosted server takes requests for our tools; None for a cloud."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a pasted address. Raises `AddressError`.

        The path differs between clouds, and is not checked.
        """
        text = _INVISIBLE.sub("", text)
        found = _SCHEME.search(text)
        if found is None or "://" in text[: found.start()]:
            raise AddressError(AddressProblem.NOT_WEBSOCKET)
        url = text[found.start() :].rstrip(_AFTER)
        if (until := _UP_TO_TOKEN.match(url)) and url[until.end() :][:1] in _AFTER.strip():
            url = until[0].rstrip(_AFTER)
        if len(url) > 4096 or not url.isascii() or not url.isprintable() or " " in url:
            raise AddressError(AddressProblem.INVALID)
        try:
            parts = urlsplit(url)
            known = parse_uri(url)
            query = parse_qs(parts.query, max_num_fields=32)
        except ValueError, InvalidURI:
            # The original has the address in its text.
            raise AddressError(AddressProblem.INVALID) from None
        if not parts.hostname or known.username is not None:
            raise AddressError(AddressProblem.INVALID)
        if not (token := query.get("token", [""])[0].strip()):
            raise AddressError(AddressProblem.NO_TOKEN)
        if _AGENT_SIDE in parts.path:
            raise AddressError(AddressProblem.AGENT_SIDE)
        host = one_line(parts.netloc.lower())
        claims = _claims(token)
        endpoint = label(claims.get("endpointId"))
        # Two tokens of an agent have the same endpoint; an encrypted token never changes.
        named = endpoint or sha256(f"{host}{parts.path}{token}".encode()).hexdigest()[:32]
        return cls(
            url=url,
            host=host,
            secure=known.secure,
            agent=_agent(claims, endpoint),
            expires=_time(claims.get("exp")),
            identity=f"{host}/{named}",
            agent_side_url=url.replace(_TOOL_SIDE, _AGENT_SIDE, 1) if _TOOL_SIDE in parts.path else None,
        )

    @property
    def self_hosted(self) -> bool:
        """Whether this is a mcp-endpoint-server, with its rules and faults."""
        return self.agent_side_url is not None

    def without_token(self, text: str) -> str:
        """Return a text of the other side without our token, which it may repeat."""
        query = urlsplit(self.url).query
        written = [pair.removeprefix("token=") for pair in query.split("&") if pair.startswith("token=")]
        for token in filter(None, (*written, *parse_qs(query).get("token", ()))):
            text = text.replace(token, "…")
        return text

    def __str__(self) -> str:
        """Return the host and the agent, for logs."""
        return self.host if self.agent is None else f"{self.host}, agent {self.agent}"


def _claims(token: str) -> dict[str, Any]:
    """Return the payload of a JSON web token, unverified; empty for a token of another kind."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        payload = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        claims = parse_json(payload)
    except ValueError:
        return {}
    return claims if isinstance(claims, dict) else {}


def _agent(claims: dict[str, Any], endpoint: str | None) -> str | None:
    agent = claims.get("agentId")
    if isinstance(agent, int) and not isinstance(agent, bool) and abs(agent) < 2**63:
        return str(agent)
    return label(agent) or endpoint


def _time(value: object) -> datetime | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _NEVER:
        return None
    return datetime.fromtimestamp(value, UTC)
