"""Devices through the owner's broker, which subscribes them as they connect, as EMQX can."""

import asyncio
from collections.abc import AsyncGenerator
from importlib.metadata import PackageNotFoundError, version
import json
from typing import Any

from aiomqtt import Client
from homeassistant.config_entries import ConfigEntryState
from homeassistant.const import CONF_HOST, CONF_PORT
from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import CONF_BROKER, CONF_LINK, CONF_TLS, DOMAIN
from custom_components.xiaozhi.diagnostics import async_get_config_entry_diagnostics
from custom_components.xiaozhi.links import problems
from custom_components.xiaozhi.links.problems import async_broker_changed
from custom_components.xiaozhi.protocol import messages
from custom_components.xiaozhi.protocol.transport.owner_broker.broker_settings import (
    BrokerError,
    BrokerProblem,
)
from custom_components.xiaozhi.settings import OfferedLink
from simulator import SimulatedDevice, converse, get_profile
from tests.integration.boxes import Speech, failure_of, open_issues, set_volume, wait_for_state
from tests.integration.http_device import MakeEntry
from tests.integration.names import COMMAND, CONNECTED, LIGHT, SATELLITE, VOLUME, Boot
from tests.protocol.transport.mqtt.brokers import PushingBroker
from tests.protocol.transport.udp.device import until

pytestmark = pytest.mark.usefixtures("all_enabled")


@pytest.fixture
async def broker(socket_enabled: None) -> AsyncGenerator[PushingBroker]:
    broker = await PushingBroker().start()
    yield broker
    await broker.stop()


def through(port: int, mqtt_data: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a gateway that goes through the broker at a port."""
    broker = {CONF_HOST: "127.0.0.1", CONF_PORT: port, CONF_TLS: False}
    return {**mqtt_data, CONF_LINK: OfferedLink.BROKER.value, CONF_BROKER: broker}


@pytest.fixture
def link_data(broker: PushingBroker, mqtt_data: dict[str, Any]) -> dict[str, Any]:
    return through(broker.port, mqtt_data)


@pytest.fixture
async def linked_entry(hass: HomeAssistant, linked_entry: MockConfigEntry) -> AsyncGenerator[MockConfigEntry]:
    """A running gateway that the broker has let in: what a device says before that is lost.

    It ends before the broker does: the library logs an error if it sends in the moment in which that goes.
    """
    await until(lambda: linked_entry.runtime_data.ports.counters()["broker"]["connected"])
    yield linked_entry
    await hass.config_entries.async_unload(linked_entry.entry_id)


async def test_a_device_of_two_gateways_is_answered_by_one_and_else_pinged(
    hass: HomeAssistant, boot: Boot, broker: PushingBroker, linked_entry: MockConfigEntry
) -> None:
    """Of two Home Assistants on one broker, the one that answered its last check-in."""
    device = await boot()
    await wait_for_state(hass, VOLUME, "70", 20)
    known = linked_entry.runtime_data.devices[device.mac]
    before = known.describe()["statistics"]["messages_in"]
    hello = {"type": "hello", "version": 3, "transport": "udp"}
    topics = ["xiaozhi/00c0ffee-246f28aabb01/up", "xiaozhi/246f28aabb01/up"]
    counters = linked_entry.runtime_data.ports.counters()["broker"]
    async with Client("127.0.0.1", broker.port) as other:
        for topic in topics:
            await other.publish(topic, json.dumps(hello))
    await until(
        lambda: linked_entry.runtime_data.ports.counters()["broker"]["unknown"] == counters["unknown"] + 2
    )
    assert hass.states.is_state(SATELLITE, "idle")
    assert known.describe()["statistics"]["messages_in"] >= before
    # Nothing else would show that it lost its power.
    await known.tools.set_list(tuple(tool for tool in known.tools.values() if "status" not in tool.name))
    await asyncio.sleep(600)
    assert hass.states.is_state(CONNECTED, "on")
    await device.lose_power()
    await wait_for_state(hass, CONNECTED, "off", 300)


async def test_a_conversation_goes_through_the_broker_and_its_loss_is_an_issue(
    hass: HomeAssistant, speech: Speech, boot: Boot, broker: PushingBroker
) -> None:
    device = await boot()
    await wait_for_state(hass, VOLUME, "70", 20)
    await set_volume(hass, device, 35)
    await wait_for_state(hass, VOLUME, "35")
    speech.recognizer.lines = [COMMAND]
    talk = await converse(device, speech.command)
    assert talk.heard == [COMMAND]
    assert hass.states.is_state(LIGHT, "on")
    assert talk.played_seconds > 0.9
    assert not talk.hung_up
    await set_volume(hass, device, 20)
    assert not open_issues(hass)
    await broker.stop()
    await wait_for_state(hass, VOLUME, "unavailable")
    (issue,) = open_issues(hass)
    assert (issue.domain, issue.translation_key) == (DOMAIN, "broker_unreachable")
    assert issue.translation_placeholders is None, "the words of a library are for the log"
    await broker.start()
    await wait_for_state(hass, VOLUME, "20", 10)
    assert not open_issues(hass)


async def test_a_device_without_answers_is_unavailable_until_it_answers(
    hass: HomeAssistant, speech: Speech, boot: Boot
) -> None:
    """The broker would not tell that it lost its power in a conversation."""
    device = await boot()
    await wait_for_state(hass, VOLUME, "70", 20)
    await device.wake()
    await wait_for_state(hass, SATELLITE, "listening")
    await device.lose_power()
    # Its status is asked for when it has been silent for so long that the conversation ends.
    await wait_for_state(hass, VOLUME, "unavailable", 300)
    assert hass.states.is_state(SATELLITE, "unavailable")
    assert hass.states.is_state(CONNECTED, "off")
    await device.boot()
    await wait_for_state(hass, VOLUME, "70", 10)
    await set_volume(hass, device, 20)


async def test_a_device_without_tools_that_is_silent_for_long_is_not_connected(
    hass: HomeAssistant, speech: Speech, boot: Boot
) -> None:
    device = await boot(get_profile("s3", "1.6.2"))
    await device.wake()
    await wait_for_state(hass, CONNECTED, "on", 20)
    await device.lose_power()
    await wait_for_state(hass, CONNECTED, "off", 1500)


async def test_a_device_is_known_soon_after_check_in_and_greeted_after_a_restart(
    hass: HomeAssistant, boot: Boot, linked_entry: MockConfigEntry
) -> None:
    """It says nothing by itself, and has forgotten where its photos go."""
    device = await boot()
    await wait_for_state(hass, CONNECTED, "on", 30)
    await device.wait_for(lambda: handshakes(device) == 1, 30)
    await device.lose_power()
    await device.boot()
    assert hass.states.is_state(CONNECTED, "off")
    await device.wait_for(lambda: handshakes(device) == 2, 30)
    await wait_for_state(hass, CONNECTED, "on")


def handshakes(device: SimulatedDevice) -> int:
    payloads = [event["message"].get("payload") or {} for event in device.events("received")]
    return sum(payload.get("method") == "initialize" for payload in payloads)


async def test_a_broker_that_hands_nothing_on_connects_no_device(
    speech: Speech, boot: Boot, broker: PushingBroker, linked_entry: MockConfigEntry
) -> None:
    """What the device says arrives, but nothing that it is told."""
    broker.pushes = False
    device = await boot()
    known = linked_entry.runtime_data.devices[device.mac]
    waking = asyncio.create_task(device.wake())
    await until(lambda: known.describe()["linked_over"] is not None)
    assert speech.hass.states.is_state(CONNECTED, "off")
    assert await failure_of(known.commands.send(messages.reboot())) == "not_connected"
    await asyncio.sleep(300)
    assert known.describe()["linked_over"] is None
    assert speech.hass.states.is_state(CONNECTED, "off")
    waking.cancel()
    await asyncio.wait((waking,))


@pytest.fixture
def stored(make_entry: MakeEntry, mqtt_data: dict[str, Any]) -> MockConfigEntry:
    """A gateway that would go through a broker, not set up."""
    return make_entry(**through(1883, mqtt_data))


async def test_each_problem_of_the_broker_has_an_issue_of_its_own(
    hass: HomeAssistant, stored: MockConfigEntry
) -> None:
    for problem in set(BrokerProblem) - {BrokerProblem.REFUSED}:
        async_broker_changed(hass, stored, BrokerError(problem, "[code:135] The words of a library"))
        (issue,) = open_issues(hass)
        assert (issue.domain, issue.translation_key) == (DOMAIN, f"broker_{problem}")
        async_broker_changed(hass, stored, None)
        assert not open_issues(hass)
    # The question for another password goes when the broker accepts the stored one after all.
    async_broker_changed(hass, stored, BrokerError(BrokerProblem.REFUSED, "Not authorized"))
    await hass.async_block_till_done()
    assert hass.config_entries.flow.async_progress_by_handler(DOMAIN)
    async_broker_changed(hass, stored, None)
    assert not hass.config_entries.flow.async_progress_by_handler(DOMAIN)


@pytest.mark.parametrize(("library", "found"), [("websockets", "18.0"), ("aiomqtt", None)])
async def test_a_library_in_a_version_that_was_not_tried_is_refused_in_words(
    hass: HomeAssistant,
    stored: MockConfigEntry,
    monkeypatch: pytest.MonkeyPatch,
    library: str,
    found: str | None,
) -> None:
    """Home Assistant installs what the manifest names, but another integration may replace it."""

    def installed(name: str) -> str:
        if name != library:
            return version(name)
        if found is None:
            raise PackageNotFoundError(name)
        return found

    monkeypatch.setattr(problems, "version", installed)
    assert not await hass.config_entries.async_setup(stored.entry_id)
    assert stored.state is ConfigEntryState.SETUP_ERROR
    assert stored.reason is not None
    assert library in stored.reason
    assert (found or "–") in stored.reason
    report = await async_get_config_entry_diagnostics(hass, stored)
    assert report["libraries"][library] == found
