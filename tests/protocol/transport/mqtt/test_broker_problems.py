"""Brokers that cannot be used, and what they are told from."""

import asyncio
import gc
from pathlib import Path
import socket
import ssl
from typing import Any

import pytest

from custom_components.xiaozhi.protocol.timeouts import BrokerTimeouts
from custom_components.xiaozhi.protocol.transport.mqtt.mqtt_server import MqttServer
from custom_components.xiaozhi.protocol.transport.owner_broker.broker_client import (
    check_broker,
    connected,
    pushes,
)
from custom_components.xiaozhi.protocol.transport.owner_broker.broker_settings import (
    BrokerError,
    BrokerProblem,
    BrokerSettings,
)
from custom_components.xiaozhi.protocol.transport.udp.udp_server import UdpServer
from simulator.access_point.certificates import Certificates
from tests.protocol.transport.mqtt.brokers import (
    ANONYMOUS,
    REAL_BROKER,
    Mosquitto,
    PushingBroker,
    answering,
    mosquitto,
)
from tests.protocol.transport.mqtt.device import MAC
from tests.protocol.transport.udp.device import until
from tests.protocol.transport.websocket.peer import TOKEN, Owner, port_of

pytestmark = REAL_BROKER


async def test_a_broker_that_pushes_is_told_from_one_that_does_not(
    broker: Mosquitto, pushing: PushingBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mosquitto takes everything, and delivers nothing to who does not subscribe."""
    assert await pushes(BrokerSettings(host="127.0.0.1", port=pushing.port))
    monkeypatch.setattr(BrokerTimeouts, "push", 0.1)
    settings = BrokerSettings(host="127.0.0.1", port=broker.port)
    assert not await pushes(settings)
    await broker.stop()
    with pytest.raises(BrokerError):
        await pushes(settings)


@pytest.mark.timeouts(BrokerTimeouts, push=0.1)
async def test_a_broker_that_lets_nobody_read_what_devices_say_is_told(tmp_path: Path) -> None:
    """Mosquitto grants the subscription all the same."""
    rules = tmp_path / "rules"
    rules.write_text("topic write xiaozhi/+/up\ntopic readwrite xiaozhi/+/down\n")
    async with mosquitto(tmp_path, ANONYMOUS, f"acl_file {rules}") as broker:
        settings = BrokerSettings(host="127.0.0.1", port=broker.port)
        await check_broker(settings)
        with pytest.raises(BrokerError, match="nothing arrives") as caught:
            await pushes(settings)
    assert caught.value.problem is BrokerProblem.FORBIDDEN


async def problem_of(**settings: Any) -> tuple[BrokerProblem, str]:
    with pytest.raises(BrokerError) as caught:
        await check_broker(BrokerSettings(**{"host": "127.0.0.1"} | settings))
    return caught.value.problem, str(caught.value)


async def test_a_name_that_nobody_has_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no name server here, so this stands for its answer."""

    def unknown(*_arguments: Any, **_options: Any) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert (await problem_of(host="broker.lan"))[0] is BrokerProblem.UNKNOWN_HOST


@pytest.mark.parametrize("settings", [{"host": ""}, {"host": "127.0.0.1", "port": 0}])
async def test_an_address_that_is_none_is_told(settings: dict[str, Any]) -> None:
    """The form gets an answer, and a connection keeps trying."""
    problem, text = await problem_of(**settings)
    assert problem is BrokerProblem.UNREACHABLE
    assert text


async def test_who_may_not_subscribe_is_told() -> None:
    """Our own endpoint lets the client in but grants it no topic of others."""
    audio = UdpServer()
    endpoint = MqttServer(Owner(), audio=audio)
    await endpoint.start("127.0.0.1", 0)
    problem, text = await problem_of(port=port_of(endpoint), username=MAC, password=TOKEN)
    assert problem is BrokerProblem.FORBIDDEN
    assert "xiaozhi/+/up" in text
    await endpoint.stop()


@pytest.mark.timeouts(BrokerTimeouts, answer=1)
async def test_who_is_disconnected_for_the_subscription_may_not_subscribe(pushing: PushingBroker) -> None:
    """As EMQX does with `deny_action = disconnect`."""
    pushing.kicks_at_once = True
    assert (await problem_of(port=pushing.port))[0] is BrokerProblem.FORBIDDEN


@pytest.mark.parametrize(
    "answer",
    [None, b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x20\x02\x00\x03"],
    ids=["closes", "silent", "http", "not available"],
)
@pytest.mark.timeouts(BrokerTimeouts, answer=0.1)
async def test_something_else_at_the_port_is_told(answer: bytes | None) -> None:
    """And nothing of the attempt is left: neither task nor socket."""
    async with answering(answer) as port:
        before = asyncio.all_tasks()
        problem, _ = await problem_of(port=port)
        assert problem is BrokerProblem.UNREACHABLE
        await until(lambda: asyncio.all_tasks() <= before)


async def test_a_broker_that_ends_while_nobody_listens_leaves_no_unread_error() -> None:
    """As when Home Assistant stops in the same moment."""
    unread: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: unread.append(context["message"]))
    broker = await PushingBroker().start()

    async def use() -> None:
        async with connected(BrokerSettings(host="127.0.0.1", port=broker.port)) as client:
            await broker.stop()
            await until(lambda: not client._client.is_connected())

    await use()
    gc.collect()
    await asyncio.sleep(0)
    assert unread == []


async def test_an_attempt_that_is_given_up_twice_leaves_no_error() -> None:
    """As when the gateway ends while a broker does not answer, and cannot wait for that either."""
    uncaught: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: uncaught.append(context))
    before = asyncio.all_tasks()
    async with answering(b"") as port:
        trying = asyncio.create_task(check_broker(BrokerSettings(host="127.0.0.1", port=port)))
        await asyncio.sleep(0.3)
        for _ in range(2):
            trying.cancel()
            await asyncio.sleep(0.1)
        with pytest.raises(asyncio.CancelledError):
            await trying
    await until(lambda: asyncio.all_tasks() <= before)
    gc.collect()
    await asyncio.sleep(0.1)
    assert uncaught == []


async def test_an_encrypted_broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its certificate is checked; a port without encryption is told apart from one without a broker."""
    certificates = Certificates("127.0.0.1")
    (tmp_path / "broker.pem").write_bytes(certificates.server_pem)
    lines = (ANONYMOUS, f"certfile {tmp_path / 'broker.pem'}", f"keyfile {tmp_path / 'broker.pem'}")
    trusting = certificates.client_context()
    async with mosquitto(tmp_path, *lines) as broker:
        await check_broker(BrokerSettings(host="127.0.0.1", port=broker.port, tls=trusting))
        problem, text = await problem_of(port=broker.port, tls=ssl.create_default_context())
        assert problem is BrokerProblem.CERTIFICATE
        assert "certificate verify failed" in text
        with monkeypatch.context() as patch:
            patch.setattr(BrokerTimeouts, "answer", 1.0)
            assert (await problem_of(port=broker.port))[0] is BrokerProblem.UNREACHABLE
    async with answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        assert (await problem_of(port=port, tls=trusting))[0] is BrokerProblem.TLS
    async with mosquitto(tmp_path, ANONYMOUS) as plain:
        assert (await problem_of(port=plain.port, tls=trusting))[0] is BrokerProblem.TLS
