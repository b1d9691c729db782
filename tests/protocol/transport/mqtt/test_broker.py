"""Devices through the owner's broker, a real Mosquitto or one that pushes; and the test of its settings."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import partial
import json
from pathlib import Path
from typing import Any, override
from unittest.mock import Mock

from aiomqtt import Client, MqttError
import pytest

from custom_components.xiaozhi.protocol.messages import tts_start
from custom_components.xiaozhi.protocol.timeouts import BrokerTimeouts
from custom_components.xiaozhi.protocol.transport.link import Admission
from custom_components.xiaozhi.protocol.transport.mqtt.mqtt_link import MqttLink, uplink_topic
from custom_components.xiaozhi.protocol.transport.owner_broker.broker_client import check_broker
from custom_components.xiaozhi.protocol.transport.owner_broker.broker_connection import BrokerConnection
from custom_components.xiaozhi.protocol.transport.owner_broker.broker_settings import (
    UPLINK_OF_ALL,
    Address,
    BrokerError,
    BrokerProblem,
    BrokerSettings,
    address_of_topic,
)
from custom_components.xiaozhi.protocol.transport.udp.udp_server import UdpServer
from tests.paths import ROOT
from tests.protocol.transport.mqtt.brokers import (
    ANONYMOUS,
    REAL_BROKER,
    Mosquitto,
    PushingBroker,
    answering,
    command,
    mosquitto,
)
from tests.protocol.transport.mqtt.device import HELLO, LISTEN, MAC, OTHER_MAC, encoded
from tests.protocol.transport.udp.device import until
from tests.protocol.transport.websocket.peer import Owner, Recorder, failing_in

pytestmark = REAL_BROKER
GATEWAY = "00c0ffee"


class Site(Owner):
    """A connection to a broker, and the owner of its links."""

    def __init__(self, port: int, **settings: Any) -> None:
        super().__init__()
        self.audio = UdpServer()
        self.problems: list[BrokerError | None] = []
        self.devices: list[str] = []
        self.paired = {MAC, OTHER_MAC}
        self.broker = BrokerConnection(
            BrokerSettings(host="127.0.0.1", port=port, **settings),
            self,
            gateway=GATEWAY,
            audio=self.audio,
            state_changed=self.state_changed,
        )

    def state_changed(self, problem: BrokerError | None) -> None:
        self.problems.append(problem)

    def probed_macs(self) -> list[str]:
        return self.devices

    @override
    def address_for(self, mac: str) -> str:
        return "127.0.0.1"

    def admit_from_broker(self, mac: str) -> Admission | None:
        return self.admission if mac in self.paired else None

    async def linked(self, count: int = 1) -> tuple[MqttLink, Recorder]:
        await until(lambda: len(self.links) >= count)
        return self.links[count - 1], self.recorders[count - 1]


@asynccontextmanager
async def running(port: int, **options: Any) -> AsyncGenerator[Site]:
    site = Site(port, **options)
    site.audio.start("127.0.0.1", 0)
    site.broker.start()
    await until(lambda: site.broker.connected)
    try:
        yield site
    finally:
        await site.broker.stop()
        site.audio.stop()


@asynccontextmanager
async def device_at(broker: Mosquitto, mac: str = MAC) -> AsyncGenerator[Device]:
    address = Address(mac, GATEWAY)
    async with Client("127.0.0.1", broker.port) as client:
        await client.subscribe(address.downlink)
        yield Device(client, uplink_topic(address.client_id))


class Device:
    """A device whose firmware subscribes."""

    def __init__(self, client: Client, topic: str) -> None:
        self._client = client
        self._topic = topic

    async def say(self, message: Any, **options: Any) -> None:
        await self._client.publish(self._topic, encoded(message), **options)

    async def hear(self) -> Any:
        async with asyncio.timeout(30):
            message = await anext(aiter(self._client.messages))
            return json.loads(message.payload)


async def test_a_message_that_the_broker_has_kept_is_old(broker: Mosquitto) -> None:
    """It says nothing of the device's presence."""
    async with device_at(broker) as device:
        await device.say(LISTEN, retain=True)
        async with running(broker.port) as site:
            await until(lambda: site.broker.counters.unknown == 1)
            assert not site.links


@pytest.mark.timeouts(BrokerTimeouts, first_retry=0.01)
async def test_an_error_of_a_listener_ends_neither_connection_nor_attempts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[BrokerError | None] = []

    def fail(_self: Site, problem: BrokerError | None) -> None:
        told.append(problem)
        raise ZeroDivisionError

    monkeypatch.setattr(Site, "state_changed", fail)
    async with mosquitto(tmp_path, ANONYMOUS) as broker, running(broker.port) as site:
        await broker.stop()
        await until(lambda: told[-1] is not None)
        await broker.start()
        await until(lambda: site.broker.connected)
    assert [problem is None for problem in told] == [True, False, True]
    errors = [record for record in caplog.records if record.levelname == "ERROR"]
    assert len(errors) == 1


@pytest.mark.parametrize(("steady", "kicks", "seconds"), [(60, 6, 0.31), (0, 15, 0)])
@pytest.mark.timeouts(BrokerTimeouts, first_retry=0.01)
async def test_a_broker_that_throws_us_out_is_asked_less_and_less(
    steady: float, kicks: int, seconds: float, pushing: PushingBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After pauses of 10, 20, 40 ms ..., or of 10 ms each: growing ones would take minutes for 15."""
    pushing.kicking = True
    now = asyncio.get_running_loop().time
    monkeypatch.setattr(BrokerTimeouts, "steady", steady)
    site = Site(pushing.port)
    start = now()
    site.broker.start()
    await until(lambda: pushing.kicks >= kicks)
    assert now() - start >= seconds
    await site.broker.stop()


@pytest.mark.parametrize(
    ("packet", "losses"),
    [(b"\x30\x10\x00\x0cxiaozhi/\xff/up{}", 0), (b"\x30\x04\x00\x0cxi", 1)],
    ids=["topic is no UTF-8", "topic is cut off"],
)
@pytest.mark.timeouts(BrokerTimeouts, first_retry=0.01)
async def test_what_the_library_cannot_read_is_read_once(
    packet: bytes, losses: int, pushing: PushingBroker, caplog: pytest.LogCaptureFixture
) -> None:
    """A device can publish to any topic; a broker like EMQX passes it on. That filled the log and a core."""
    async with running(pushing.port) as site:
        pushing.send(packet)
        await until(lambda: len(site.problems) == 1 + 2 * losses)
        async with Client("127.0.0.1", pushing.port) as client:
            await client.publish(uplink_topic(Address(MAC, GATEWAY).client_id), encoded(LISTEN))
            await site.linked()
        # Data for a connection that was left open would have it read again.
        pushing.send(b"\xd0\x00")
        await asyncio.sleep(0.1)
        assert len(site.problems) == 1 + 2 * losses
        await until(lambda: pushing.clients == 1)
    assert len(caplog.records) <= 3


@pytest.mark.timeouts(BrokerTimeouts, first_retry=0.01)
async def test_an_error_of_ours_does_not_end_the_search_for_the_broker(
    broker: Mosquitto, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged with its traceback and told as a problem; then the broker is used again."""
    site = Site(broker.port)
    site.devices = None  # type: ignore[assignment]
    site.broker.start()
    await until(lambda: len(site.problems) == 1)
    site.devices = []
    await until(lambda: site.broker.connected)
    assert "internal error" in str(site.problems[0])
    assert site.problems[1:] == [None]
    assert "Traceback" in caplog.text
    await site.broker.stop()


async def test_a_device_that_floods_is_cut_off_for_a_while(broker: Mosquitto) -> None:
    """While the flood lasts, no message of another device is lost or has to wait for its end."""
    async with (
        running(broker.port) as site,
        device_at(broker, MAC) as wild,
        device_at(broker, OTHER_MAC) as calm,
    ):
        await calm.say(LISTEN)
        await site.linked(1)

        async def flood() -> None:
            while True:
                await wild.say("garbage")

        flooding = asyncio.create_task(flood())
        await until(lambda: site.broker.counters.unknown >= 1)
        assert site.recorders[1].names[-1] == "link_closed"
        for number in range(5):
            await calm.say(LISTEN)
            await site.recorders[0].wait_for("message", 2 + number)
        assert not flooding.done()
        flooding.cancel()
        assert len(site.links) == 2
        assert site.broker.counters.floods == 1


@pytest.mark.timeouts(BrokerTimeouts, ban=0.1)
async def test_a_device_that_has_flooded_is_heard_again_later(broker: Mosquitto) -> None:
    async with running(broker.port) as site, device_at(broker) as device:
        for _ in range(100):
            await device.say("garbage")
        await until(lambda: site.broker.counters.floods >= 1)
        while "message" not in site.recorders[-1].names:
            await device.say(LISTEN)
            await asyncio.sleep(0.05)


async def test_a_link_whose_beginning_failed_begins_anew(
    broker: Mosquitto, caplog: pytest.LogCaptureFixture
) -> None:
    """It is our fault: logged with its traceback."""
    async with running(broker.port) as site, device_at(broker) as device:
        site.make_handler = Mock(side_effect=RuntimeError("no such thing"))
        await device.say(LISTEN)
        await until(lambda: len(site.links) == 1)
        site.make_handler = partial(failing_in, "message_received", "link_closed")
        await device.say(LISTEN)
        await until(lambda: len(site.recorders) == 1)
        await device.say(LISTEN)
        await site.recorders[0].wait_for("message", 2)
        assert "Unexpected error on a link" in caplog.text
    assert "Unexpected error on the link of a device" in caplog.text


async def test_the_access_rules_of_the_documentation_hold(tmp_path: Path) -> None:
    """Devices and Home Assistant can talk as one user; others cannot join, and it cannot leave its topics."""
    page = (ROOT / "docs/links.md").read_text()
    rules = page.split("```text\nuser xiaozhi\n")[1].split("```")[0]
    (tmp_path / "acl").write_text(f"user other\ntopic readwrite other/#\n\nuser xiaozhi\n{rules}")
    passwords = tmp_path / "passwords"
    for options, user in ((("-c", "-b"), "xiaozhi"), (("-b",), "other")):
        process = await asyncio.create_subprocess_exec(
            command("mosquitto_passwd"), *options, str(passwords), user, "secret"
        )
        await process.wait()
    lines = (f"acl_file {tmp_path / 'acl'}", f"password_file {passwords}", "allow_anonymous false")
    async with mosquitto(tmp_path, *lines) as broker:
        ours = {"username": "xiaozhi", "password": "secret"}
        settings = BrokerSettings(host="127.0.0.1", port=broker.port, **ours)
        await check_broker(settings)
        assert "secret" not in repr(settings)
        async with (
            running(broker.port, **ours) as site,
            Client("127.0.0.1", broker.port, **ours) as client,
            Client("127.0.0.1", broker.port, username="other", password="secret") as other,
        ):
            address = Address(MAC, GATEWAY)
            device = Device(client, uplink_topic(address.client_id))
            await client.subscribe(address.downlink)
            await device.say(HELLO)
            assert (await device.hear())["type"] == "hello"
            link, recorder = await site.linked()
            with suppress(MqttError):
                await other.subscribe("xiaozhi/#")
            await other.subscribe("other/#")
            await other.publish(uplink_topic(address.client_id), encoded({"type": "goodbye"}))
            await client.publish("other/lamp", b"not allowed")
            await link.send(tts_start())
            assert (await device.hear())["type"] == "tts"
            await other.publish("other/lamp", b"allowed")
            async with asyncio.timeout(30):
                message = await anext(aiter(other.messages))
            assert (message.topic.value, message.payload) == ("other/lamp", b"allowed")
            await device.say(LISTEN)
            await recorder.wait_for("message")
            assert "channel_closed" not in recorder.names


@pytest.mark.parametrize("rounds", range(5))
@pytest.mark.timeouts(BrokerTimeouts, answer=0.2)
async def test_stopping_while_it_connects_leaves_nothing(rounds: int) -> None:
    """At whatever moment: the library's thread comes to its end, and what it made is closed."""
    async with answering(b"") as port:
        site = Site(port)
        site.broker.start()
        for _ in range(rounds * 3):
            await asyncio.sleep(0.001)
        await site.broker.stop()
        await site.broker.stop()
    assert not site.problems


def test_a_topic_tells_the_device_and_its_gateway() -> None:
    """The client id is in the middle, so that the broker's rules can bind topics to clients."""
    address = Address(MAC, GATEWAY)
    assert address.client_id == "00c0ffee-020000000001"
    assert address.downlink == "xiaozhi/00c0ffee-020000000001/down"
    assert address_of_topic("xiaozhi/00c0ffee-020000000001/up") == address
    assert UPLINK_OF_ALL == "xiaozhi/+/up"


@pytest.mark.parametrize(
    "topic",
    [
        "",
        "xiaozhi/00c0ffee-020000000001",
        "xiaozhi/020000000001/up",
        "xiaozhi/00c0ffee-020000000001/down",
        "xiaozhi/00c0ffee-020000000001/up/up",
        "xiaozhi/c0ffee-020000000001/up",
        "xiaozhi/00C0FFEE-020000000001/up",
        "xiaozhi/00c0ffee-0200000000AB/up",
        "other/00c0ffee-020000000001/up",
    ],
)
def test_other_topics_are_no_devices(topic: str) -> None:
    assert address_of_topic(topic) is None


@pytest.mark.timeouts(BrokerTimeouts, rights=0.05, first_retry=0.01)
async def test_rights_that_are_taken_away_later_are_missed_and_found_again(pushing: PushingBroker) -> None:
    async with running(pushing.port) as site:
        await until(lambda: site.problems == [None])
        pushing.grants = False
        await until(lambda: len(site.problems) == 2)
        assert [problem.problem for problem in site.problems if problem] == [BrokerProblem.FORBIDDEN]
        pushing.grants = True
        await until(lambda: site.problems[2:] == [None])


@pytest.mark.timeouts(BrokerTimeouts, rights=0.05, push=0.05)
async def test_a_broker_that_hides_devices_is_reported_until_one_is_heard(pushing: PushingBroker) -> None:
    """Mosquitto grants a subscription without the right to read."""
    pushing.delivers = False
    async with running(pushing.port) as site:
        site.devices = [MAC]
        await until(lambda: len(site.problems) == 2)
        assert [problem.problem for problem in site.problems if problem] == [BrokerProblem.FORBIDDEN]
        assert site.broker.connected
        pushing.delivers = True
        async with Client("127.0.0.1", pushing.port) as client:
            await client.publish(Address(MAC, GATEWAY).uplink, encoded(LISTEN))
            await until(lambda: site.problems[2:] == [None])
