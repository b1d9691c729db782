"""A client of the owner's broker, with helpful errors."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
import logging
import secrets
from socket import IPPROTO_TCP, TCP_NODELAY, gaierror
import ssl
from typing import Final

from aiomqtt import Client, MqttCodeError, MqttError

from ...timeouts import BrokerTimeouts
from .broker_settings import UPLINK_OF_ALL, Address, BrokerError, BrokerProblem, BrokerSettings

# Messages that wait to be handled; more would be a flood.
_MAX_WAITING: Final = 500
# A broker may subscribe a client some time after it has let it in.
_PUSH_TRIES: Final = 4
# A subscription that is not granted has a code from here on.
_FAILURE: Final = 0x80

# Bad user name or password, not authorized: the library's codes for every version of MQTT.
_NOT_ALLOWED: Final = frozenset({0x86, 0x87})

# Our errors have the library's words; its log could have a line for each message of a device.
_CLIENT_LOGGER: Final = logging.getLogger(f"{__name__}.library")
_CLIENT_LOGGER.setLevel(logging.CRITICAL)


@asynccontextmanager
async def connected(settings: BrokerSettings, client_id: str | None = None) -> AsyncGenerator[Client]:
    """Connect for the time of the context, by default under a name of its own.

    Raises `BrokerError` when that fails. Later errors are a `MqttError` of the client.
    """
    client = Client(
        settings.host,
        settings.port,
        username=settings.username,
        password=settings.password,
        identifier=client_id or f"xiaozhi-{secrets.token_hex(6)}",
        keepalive=30,
        timeout=BrokerTimeouts.answer,
        tls_context=settings.tls,
        max_queued_incoming_messages=_MAX_WAITING,
        # Of two messages, the second would wait until the broker has acknowledged the first: up to 40 ms.
        socket_options=[(IPPROTO_TCP, TCP_NODELAY, True)],
        logger=_CLIENT_LOGGER,
    )
    # Drops a message whose topic is not UTF-8. After an exception, that packet would be read without end.
    client._client.suppress_exceptions = True  # noqa: SLF001
    await _connect(client, settings)
    try:
        yield client
    finally:
        await _hang_up(client, settings)


async def subscribe_devices(client: Client) -> None:
    """Ask for the messages of all devices. Raises `BrokerError` or `MqttError`."""
    try:
        codes = await client.subscribe(UPLINK_OF_ALL)
    except MqttError as err:
        if client._client.is_connected():  # noqa: SLF001
            raise
        # Some brokers disconnect a client that asks for a forbidden topic.
        raise BrokerError(BrokerProblem.FORBIDDEN, f"disconnected for {UPLINK_OF_ALL}") from err
    if any((code if isinstance(code, int) else code.value) >= _FAILURE for code in codes):
        raise BrokerError(BrokerProblem.FORBIDDEN, f"subscription to {UPLINK_OF_ALL} was not granted")


async def check_broker(settings: BrokerSettings) -> None:
    """Try a broker as it would be used. Raises `BrokerError`."""
    try:
        async with connected(settings) as client:
            await subscribe_devices(client)
    except MqttError as err:
        raise BrokerError(BrokerProblem.UNREACHABLE, str(err)) from err


async def pushes(settings: BrokerSettings) -> bool:
    """Return whether the broker delivers to a client that has a device's name and never subscribes.

    Raises `BrokerError`, also if nobody gets what such a client says.
    """
    # Locally administered, so no device has it.
    address = Address(":".join(("02", *(secrets.token_hex(1) for _ in range(5)))), secrets.token_hex(4))
    try:
        async with connected(settings) as client, connected(settings, address.client_id) as device:
            await subscribe_devices(client)
            if not await _arrives(device, client, address.uplink):
                raise BrokerError(BrokerProblem.FORBIDDEN, f"nothing arrives from {address.uplink}")
            return await _arrives(client, device, address.downlink)
    except MqttError as err:
        raise BrokerError(BrokerProblem.UNREACHABLE, str(err)) from err


async def _arrives(sender: Client, receiver: Client, topic: str) -> bool:
    for _ in range(_PUSH_TRIES):
        await sender.publish(topic, b"{}")
        with suppress(TimeoutError):
            async with asyncio.timeout(BrokerTimeouts.push):
                async for message in receiver.messages:
                    if message.topic.value == topic:
                        return True
    return False


async def _connect(client: Client, settings: BrokerSettings) -> None:
    # The library connects in a thread, which adds sockets and tasks to the loop. It must finish even when the
    # caller has given up.
    connecting = asyncio.ensure_future(client.__aenter__())
    try:
        # Unlike a shield, this reports no error after the caller has given up.
        await asyncio.wait((connecting,))
        connecting.result()
    except asyncio.CancelledError:
        # Not to wait for an answer of the broker: who is impatient would cancel this, too.
        if not client._connected.done():  # noqa: SLF001
            client._connected.set_exception(MqttError("given up"))  # noqa: SLF001
        with suppress(MqttError):
            await connecting
        await _hang_up(client, settings)
        raise
    except MqttCodeError as err:
        code = err.rc if isinstance(err.rc, int) or err.rc is None else err.rc.value
        problem = BrokerProblem.REFUSED if code in _NOT_ALLOWED else BrokerProblem.UNREACHABLE
        raise BrokerError(problem, str(err)) from err
    except MqttError as err:
        await _hang_up(client, settings)
        problem = _problem_of(err.__context__, encrypted=settings.tls is not None)
        raise BrokerError(problem, str(err)) from err
    except ValueError as err:
        # An invalid host name or port number.
        await _hang_up(client, settings)
        raise BrokerError(BrokerProblem.UNREACHABLE, str(err)) from err


def _problem_of(failure: BaseException | None, *, encrypted: bool) -> BrokerProblem:
    match failure:
        case ssl.SSLCertVerificationError():
            return BrokerProblem.CERTIFICATE
        case ssl.SSLError():
            return BrokerProblem.TLS
        case ConnectionResetError() if encrypted:
            # A broker that expects no TLS hangs up when it begins.
            return BrokerProblem.TLS
        case gaierror():
            return BrokerProblem.UNKNOWN_HOST
    return BrokerProblem.UNREACHABLE


async def _hang_up(client: Client, settings: BrokerSettings) -> None:
    client.timeout = BrokerTimeouts.hang_up
    with suppress(MqttError):
        await client.__aexit__(None, None, None)
    # Why it was disconnected, if nobody has asked: asyncio would log an error that is never read.
    with suppress(asyncio.CancelledError, asyncio.InvalidStateError):
        client._disconnected.exception()  # noqa: SLF001
    # After an error in a packet, the above has left the socket open.
    client._client.disconnect()  # noqa: SLF001
