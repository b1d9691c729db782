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
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.translation import async_get_translations
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import CONF_BROKER, CONF_LINK, CONF_TLS, DOMAIN
from custom_components.xiaozhi.diagnostics import async_get_config_entry_diagnostics
from custom_components.xiaozhi.links import library_versions
from custom_components.xiaozhi.links.broker_issue import async_broker_changed
from custom_components.xiaozhi.protocol import messages
from custom_components.xiaozhi.protocol.timeouts import BrokerTimeouts, McpTimeouts
from custom_components.xiaozhi.protocol.transport.owner_broker.broker_settings import (
    BrokerError,
    BrokerProblem,
)
from custom_components.xiaozhi.settings import OfferedLink
from custom_components.xiaozhi.timeouts import SessionTimeouts, VoiceTimeouts
from simulator import SimulatedDevice, converse, get_profile
from simulator.audio.espeak import synthesize
from tests.integration.boxes import Speech, open_issues, set_volume, wait_for_state
from tests.integration.http_device import MakeEntry
from tests.integration.names import CONNECTED, LIGHT, SATELLITE, VOLUME, Boot
from tests.protocol.transport.mqtt.brokers import PushingBroker
from tests.protocol.transport.udp.device import until

# Brokers are other processes, so time is real, and short.
pytestmark = [
    pytest.mark.real_time,
    pytest.mark.usefixtures("all_enabled"),
    pytest.mark.timeouts(
        BrokerTimeouts, first_probe=0.2, first_probe_after_check_in=0.2, last_probe=0.2, first_retry=0.1
    ),
    pytest.mark.timeouts(McpTimeouts, answer=1),
    pytest.mark.timeouts(SessionTimeouts, poll=0.2, starting=0.3, tools_at_end=1),
    pytest.mark.timeouts(VoiceTimeouts, no_speech=2, reading=0.3),
]

COMMAND = "turn on the kitchen light"


@pytest.fixture
async def broker(socket_enabled: None) -> AsyncGenerator[PushingBroker]:
    broker = await PushingBroker().start()
    yield broker
    await broker.stop()


@pytest.fixture
def link_data(broker: PushingBroker, mqtt_data: dict[str, Any]) -> dict[str, Any]:
    """The settings of a gateway that goes through the broker."""
    broker = {CONF_HOST: "127.0.0.1", CONF_PORT: broker.port, CONF_TLS: False}
    return {**mqtt_data, CONF_LINK: OfferedLink.BROKER.value, CONF_BROKER: broker}


@pytest.fixture
async def linked_entry(linked_entry: MockConfigEntry) -> MockConfigEntry:
    """A running gateway that the broker has let in: what a device says before that is lost."""
    await until(lambda: linked_entry.runtime_data.ports.counters()["broker"]["connected"])
    return linked_entry


async def test_a_device_that_two_gateways_know_is_answered_by_one_and_without_a_status_it_is_pinged(
    hass: HomeAssistant, boot: Boot, broker: PushingBroker, linked_entry: MockConfigEntry
) -> None:
    """Of two Home Assistants on one broker, the one that answered its last check-in."""
    device = await boot()
    await wait_for_state(hass, VOLUME, "70")
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
    await asyncio.sleep(1)
    assert hass.states.is_state(CONNECTED, "on")
    await device.lose_power()
    await wait_for_state(hass, CONNECTED, "off", 60)


async def test_a_conversation_goes_through_the_broker_its_audio_past_it_and_a_broker_that_goes_is_an_issue(
    hass: HomeAssistant, speech: Speech, boot: Boot, broker: PushingBroker
) -> None:
    device = await boot()
    await wait_for_state(hass, VOLUME, "70")
    await set_volume(hass, device, 35)
    await wait_for_state(hass, VOLUME, "35")
    speech.recognizer.lines = [COMMAND]
    pcm, _ = synthesize(COMMAND, sample_rate=16000)
    talk = await converse(device, pcm)
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


async def test_a_device_that_does_not_answer_any_more_is_unavailable_until_it_does(
    hass: HomeAssistant, speech: Speech, boot: Boot
) -> None:
    """The broker would not tell that it lost its power in a conversation."""
    device = await boot()
    await wait_for_state(hass, VOLUME, "70")
    await device.wake()
    await wait_for_state(hass, SATELLITE, "listening")
    await device.lose_power()
    # Its status is asked for when it has been silent for so long that the conversation ends.
    await wait_for_state(hass, VOLUME, "unavailable", 40)
    assert hass.states.is_state(SATELLITE, "unavailable")
    assert hass.states.is_state(CONNECTED, "off")
    await device.boot()
    await wait_for_state(hass, VOLUME, "70", 10)
    await set_volume(hass, device, 20)


@pytest.mark.timeouts(McpTimeouts, answer=0.1)
async def test_a_device_without_tools_that_is_silent_for_long_is_not_connected(
    hass: HomeAssistant, speech: Speech, boot: Boot
) -> None:
    device = await boot(get_profile("s3", "1.6.2"))
    await device.wake()
    await wait_for_state(hass, CONNECTED, "on", 60)
    await device.lose_power()
    await wait_for_state(hass, CONNECTED, "off", 60)


@pytest.mark.timeouts(SessionTimeouts, poll=60)
@pytest.mark.timeouts(BrokerTimeouts, first_probe=600, last_probe=600)
async def test_a_device_is_known_soon_after_its_check_in_and_shaken_hands_with_again_after_a_restart(
    hass: HomeAssistant, boot: Boot, linked_entry: MockConfigEntry
) -> None:
    """It says nothing by itself, and has forgotten where its photos go."""
    device = await boot()
    await wait_for_state(hass, CONNECTED, "on", 30)
    await device.wait_for(lambda: handshakes(device) == 1, 30)
    await device.lose_power()
    await device.boot()
    await device.wait_for(lambda: handshakes(device) == 2, 30)
    assert hass.states.is_state(CONNECTED, "on")


def handshakes(device: SimulatedDevice) -> int:
    payloads = [event["message"].get("payload") or {} for event in device.events("received")]
    return sum(payload.get("method") == "initialize" for payload in payloads)


async def test_a_broker_that_hands_nothing_on_connects_no_device(
    hass: HomeAssistant, speech: Speech, boot: Boot, broker: PushingBroker, linked_entry: MockConfigEntry
) -> None:
    """What the device says arrives, but nothing that it is told."""
    broker.pushes = False
    device = await boot()
    known = linked_entry.runtime_data.devices[device.mac]
    waking = asyncio.create_task(device.wake())
    await until(lambda: known.describe()["linked_over"] is not None)
    assert hass.states.is_state(CONNECTED, "off")
    with pytest.raises(HomeAssistantError) as failure:
        await known.commands.send(messages.reboot())
    assert failure.value.translation_key == "not_connected"
    await until(lambda: known.describe()["linked_over"] is None)
    assert hass.states.is_state(CONNECTED, "off")
    waking.cancel()
    await asyncio.wait((waking,))


@pytest.fixture
def stored(make_entry: MakeEntry, mqtt_data: dict[str, Any]) -> MockConfigEntry:
    """A gateway that would go through a broker, not set up."""
    broker = {CONF_HOST: "127.0.0.1", CONF_PORT: 1883, CONF_TLS: False}
    return make_entry(**mqtt_data | {CONF_LINK: OfferedLink.BROKER.value, CONF_BROKER: broker})


async def test_each_problem_of_the_broker_has_a_sentence_of_its_own(
    hass: HomeAssistant, stored: MockConfigEntry
) -> None:
    texts = await async_get_translations(hass, "en", "issues", [DOMAIN])
    for problem in set(BrokerProblem) - {BrokerProblem.REFUSED}:
        async_broker_changed(hass, stored, BrokerError(problem, "[code:135] The words of a library"))
        (issue,) = open_issues(hass)
        assert (issue.domain, issue.translation_key) == (DOMAIN, f"broker_{problem}")
        sentence = texts[f"component.{DOMAIN}.issues.broker_{problem}.description"]
        assert sentence.endswith(".")
        assert "{" not in sentence
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

    monkeypatch.setattr(library_versions, "version", installed)
    assert not await hass.config_entries.async_setup(stored.entry_id)
    assert stored.state is ConfigEntryState.SETUP_ERROR
    assert stored.reason is not None
    assert library in stored.reason
    assert (found or "–") in stored.reason
    report = await async_get_config_entry_diagnostics(hass, stored)
    assert report["libraries"][library] == found
