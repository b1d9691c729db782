"""The test of a broker's settings: it passes, or says what is wrong."""

import asyncio
from pathlib import Path
import socket
from typing import Any

import pytest

from custom_components.xiaozhi.protocol.timeouts import BrokerTimeouts
from custom_components.xiaozhi.protocol.transport.link import Admission
from custom_components.xiaozhi.protocol.transport.mqtt.mqtt_server import MqttServer
from custom_components.xiaozhi.protocol.transport.owner_broker.broker_login import check_broker
from custom_components.xiaozhi.protocol.transport.owner_broker.broker_settings import (
    BrokerError,
    BrokerProblem,
    BrokerSettings,
)
from custom_components.xiaozhi.protocol.transport.udp.udp_server import UdpServer
from tests.protocol.transport.mqtt.broker_checks import answering, problem_of
from tests.protocol.transport.mqtt.brokers import (
    command,
    free_port,
    mosquitto,
)
from tests.protocol.transport.mqtt.device import MAC
from tests.protocol.transport.udp.device import until
from tests.protocol.transport.websocket.peer import Recorder

pytestmark = pytest.mark.real_time


async def test_a_good_broker_passes_the_test(tmp_path: Path, socket_enabled: None) -> None:
    """With user and password; a wrong password, or none, is told apart."""
    passwords = tmp_path / "passwords"
    process = await asyncio.create_subprocess_exec(
        command("mosquitto_passwd"), "-c", "-b", str(passwords), "ha", "secret"
    )
    await process.wait()
    async with mosquitto(tmp_path, f"password_file {passwords}", "allow_anonymous false") as broker:
        good = BrokerSettings(host="127.0.0.1", port=broker.port, username="ha", password="secret")
        await check_broker(good)
        assert "secret" not in repr(good)
        assert await problem_of(port=broker.port, username="ha", password="wrong") == (
            BrokerProblem.REFUSED,
            "[code:135] Not authorized",
        )
        assert (await problem_of(port=broker.port))[0] is BrokerProblem.REFUSED


async def test_nobody_at_the_port_is_told(socket_enabled: None) -> None:
    """In the words of the network."""
    assert await problem_of(port=free_port()) == (
        BrokerProblem.UNREACHABLE,
        "[Errno 111] Connection refused",
    )


async def test_a_name_that_nobody_has_is_told(socket_enabled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no name server here, so this stands for its answer."""

    def unknown(*_arguments: Any, **_options: Any) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(BrokerError) as caught:
        await check_broker(BrokerSettings(host="broker.lan"))
    assert caught.value.problem is BrokerProblem.UNKNOWN_HOST


@pytest.mark.parametrize("settings", [{"host": ""}, {"host": "127.0.0.1", "port": 0}])
async def test_an_address_that_is_none_is_told(settings: dict[str, Any], socket_enabled: None) -> None:
    """The form gets an answer, and a connection keeps trying."""
    with pytest.raises(BrokerError) as caught:
        await check_broker(BrokerSettings(**settings))
    assert caught.value.problem is BrokerProblem.UNREACHABLE
    assert str(caught.value)


async def test_who_may_not_subscribe_is_told(socket_enabled: None) -> None:
    """Our own endpoint lets the client in but grants it no topic of others."""
    audio = UdpServer()
    endpoint = MqttServer(
        lambda _credentials: Admission(attach=lambda _link: Recorder(), pings_safe=True),
        audio=audio,
    )
    await endpoint.start("127.0.0.1", 0)
    problem, text = await problem_of(port=endpoint.port, username=MAC, password="x")
    assert problem is BrokerProblem.FORBIDDEN
    assert "xiaozhi/+/up" in text
    await endpoint.stop()


@pytest.mark.parametrize(
    "answer",
    [None, b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x20\x02\x00\x03"],
    ids=["closes", "silent", "http", "not available"],
)
async def test_something_else_at_the_port_is_told(answer: bytes | None, socket_enabled: None) -> None:
    """And nothing of the attempt is left: neither task nor socket."""
    async with answering(answer) as port:
        before = asyncio.all_tasks()
        problem, _ = await problem_of(port=port, timeouts=BrokerTimeouts(answer=0.1))
        assert problem is BrokerProblem.UNREACHABLE
        await until(lambda: asyncio.all_tasks() <= before)
