"""Opens connections to an access point, tests an address, and tests whether a server still hands us requests.

No error has the address in its text, as those of the library may.
"""

import asyncio
from enum import StrEnum
import logging
import ssl
from typing import Final, override

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from ...util.text import one_line
from ...util.untrusted_json import parse_json
from ..timeouts import AccessPointTimeouts
from ..transport.websocket.websocket_connection import QuietLogger
from .address import AccessPointAddress
from .reconnecting import Ending, EndingKind

_LOGGER = logging.getLogger(__name__)
_QUIET: Final = QuietLogger(_LOGGER)

# Bytes of the answer to a ping. Parsing a megabyte takes a fifth of a second.
_MAX_ANSWER: Final = 1024
_POLICY_VIOLATION: Final = 1008
# Of all statuses from 400 to 499, these pass by themselves: time-out, too early, too many requests.
_PASSING: Final = frozenset({408, 425, 429})

_PING: Final = '{"jsonrpc":"2.0","id":1,"method":"ping"}'


class DialProblem(StrEnum):
    """Why an address cannot be used."""

    BAD_STATUS = "bad_status"
    """The server, or a proxy before it, is not ready: an HTTP status."""
    CANNOT_CONNECT = "cannot_connect"
    CERTIFICATE = "certificate"
    """The server could not prove that it is the one in the address."""
    CLOSED = "closed"
    """The server accepts the connection, and closes it."""
    NO_ANSWER = "no_answer"
    NO_WEBSOCKET = "no_websocket"
    """Something other than a WebSocket server answers."""
    REFUSED = "refused"


class DialError(Exception):
    """There is no connection."""

    def __init__(self, problem: DialProblem, detail: str, *, status: int | None = None) -> None:
        super().__init__(detail)
        self.problem = problem
        self.kind = EndingKind.REFUSED if problem is DialProblem.REFUSED else EndingKind.UNREACHABLE
        self.detail = detail
        self.status = status
        """HTTP status, or close code, of the refusal."""


class _Connect(connect):
    """Follows no redirects: the owner has chosen this server, and the token is in the address."""

    @override
    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


async def dial(url: str, tls: ssl.SSLContext) -> ClientConnection:
    """Open a connection. Raises `DialError`. `tls` is used for wss:// addresses only."""
    try:
        return await _Connect(
            url,
            # It takes memory for each connection, and no message of the cloud is long.
            compression=None,
            logger=_QUIET,
            max_size=1024 * 1024,
            open_timeout=AccessPointTimeouts.open,
            close_timeout=AccessPointTimeouts.close,
            ping_interval=AccessPointTimeouts.ping_interval,
            ping_timeout=AccessPointTimeouts.pong,
            proxy=None,
            ssl=tls if url.lower().startswith("wss:") else None,
        )
    except InvalidStatus as err:
        status = err.response.status_code
        # A redirect leads nowhere next time, either.
        final = 300 <= status < 500 and status not in _PASSING
        problem = DialProblem.REFUSED if final else DialProblem.BAD_STATUS
        raise DialError(problem, f"HTTP status {status}", status=status) from None
    except ssl.SSLCertVerificationError as err:
        raise DialError(DialProblem.CERTIFICATE, one_line(err.verify_message)) from None
    except TimeoutError:
        raise DialError(DialProblem.NO_ANSWER, "no answer in time") from None
    except OSError as err:
        detail = one_line(err.strerror or type(err).__name__)
        raise DialError(DialProblem.CANNOT_CONNECT, detail) from None
    except (WebSocketException, EOFError, ValueError) as err:
        # Their texts may have the address, or bytes of the other side.
        raise DialError(DialProblem.NO_WEBSOCKET, f"no WebSocket server ({type(err).__name__})") from None


def ending_of(closed: ConnectionClosed, address: AccessPointAddress) -> Ending:
    """Describe the end of a connection, without its times."""
    if closed.rcvd is not None:
        reason = one_line(address.without_token(closed.rcvd.reason), 120)
        detail = f"closed with code {closed.rcvd.code}" + (f": {reason}" if reason else "")
        return Ending(kind=EndingKind.CLOSED, code=closed.rcvd.code, reason=reason, detail=detail)
    if closed.sent is not None and "keepalive" in closed.sent.reason:
        return Ending(kind=EndingKind.SILENT, detail="no answer to a ping")
    if closed.sent is not None:
        return Ending(kind=EndingKind.LOST, detail=f"broken off with code {closed.sent.code}")
    return Ending(kind=EndingKind.LOST, detail="broken off without a close frame")


async def check_address(address: AccessPointAddress, tls: ssl.SSLContext) -> None:
    """Connect, and stay for a moment. Raises `DialError` if the address is refused or does not answer.

    Servers that accept every token refuse it after that. Silence is healthy: a self-hosted server asks
    nothing until a device talks to it.
    """
    connection = await dial(address.url, tls)
    try:
        async with asyncio.timeout(AccessPointTimeouts.hold):
            while True:
                await connection.recv(decode=False)
    except TimeoutError:
        return
    except ConnectionClosed as closed:
        ending = ending_of(closed, address)
        refused = ending.code == _POLICY_VIOLATION
        problem = DialProblem.REFUSED if refused else DialProblem.CLOSED
        raise DialError(problem, ending.detail, status=ending.code) from None
    finally:
        await connection.close()


async def self_test(url: str, tls: ssl.SSLContext) -> bool | None:
    """Ask a self-hosted server, as an assistant does, to ping the one that offers tools there.

    Returns whether the ping was answered: by us, if it came to us. None if the server cannot be asked.
    """
    try:
        connection = await dial(url, tls)
    except DialError as err:
        _LOGGER.debug("No self-test: %s", err)
        return None
    try:
        async with asyncio.timeout(AccessPointTimeouts.self_test_answer):
            await connection.send(_PING)
            while (answered := _is_answered(await connection.recv(decode=False))) is None:
                pass
            return answered
    except TimeoutError:
        return False
    except ConnectionClosed:
        return None
    finally:
        await connection.close()


def _is_answered(data: bytes) -> bool | None:
    """Return whether the ping was answered or refused by a message; None for any other message."""
    try:
        message = parse_json(data) if len(data) <= _MAX_ANSWER else None
    except ValueError:
        return None
    if not isinstance(message, dict) or "method" in message:
        return None
    # The server's own errors have a null result beside the error.
    return message.get("id") == 1 and message.get("result") is not None and "error" not in message
