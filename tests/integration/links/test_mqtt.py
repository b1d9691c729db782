"""A device on MQTT can be reached while it is idle, what is shown of it is true, and it comes back."""

import asyncio
from collections import Counter
from datetime import timedelta
import json
import logging
import socket
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.const import EVENT_STATE_CHANGED
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.xiaozhi.const import (
    CONF_LINK,
    CONF_MQTT_PORT,
    CONF_UDP_PORT,
    CONF_WEBSOCKET_PORT,
    DOMAIN,
)
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.protocol.transport.mqtt.mqtt_link import uplink_topic
from custom_components.xiaozhi.settings import DeviceLink
from simulator import Misbehaviour, Pace, State, UdpImpairment, converse, get_profile
from tests.integration.boxes import (
    TWO_DEVICES,
    Speech,
    act,
    change_settings,
    failure_of,
    mac_of,
    mqtt_client_id,
    paired_boxes,
    state_of,
    wait_for_state,
)
from tests.integration.http_device import TOKEN, HttpDevice
from tests.integration.names import CLIENT_ID, COMMAND, CONNECTED, MAC, OTHER_MAC, SATELLITE, VOLUME, Boot
from tests.integration.websocket_client import connected
from tests.protocol.transport.mqtt.device import HELLO, encoded
from tests.protocol.transport.mqtt.wire import WireClient, connect, publish
from tests.protocol.transport.udp.device import until

LINK = LinkKind.MQTT

pytestmark = pytest.mark.usefixtures("all_enabled")


async def test_a_failed_handshake_is_repeated_and_a_websocket_device_let_go(
    hass: HomeAssistant, boot: Boot, linked_entry: MockConfigEntry
) -> None:
    """A new device would have no controls as long as it stays connected."""
    device = await boot(misbehaviours=(Misbehaviour.NEVER_ANSWER_MCP,))
    await wait_for_state(hass, CONNECTED, "on")
    await asyncio.sleep(30)
    device.misbehaviours.clear()
    await wait_for_state(hass, VOLUME, "70", 120)
    # Its old connection, of which nobody has heard that it is gone, would swallow commands.
    change_settings(hass, linked_entry, **{CONF_LINK: DeviceLink.WEBSOCKET.value})
    await hass.async_block_till_done()
    await device.lose_power()
    assert hass.states.is_state(CONNECTED, "on")
    await device.boot()
    assert hass.states.is_state(CONNECTED, "off")
    assert await failure_of(act(hass, "number", "set_value", VOLUME, value=5)) == "only_in_conversation"


async def test_a_device_that_only_is_there_is_not_saved_again_and_again(
    hass: HomeAssistant, hass_storage: dict[str, Any], boot: Boot, freezer: FrozenDateTimeFactory
) -> None:
    await boot()
    await wait_for_state(hass, VOLUME, "70")
    await asyncio.sleep(70)
    known = boot.entry.runtime_data.devices[MAC]

    def stored() -> dict[str, Any]:
        record: dict[str, Any] = hass_storage[f"{DOMAIN}.{boot.entry.entry_id}"]["data"][MAC]
        return record

    before, contact = stored(), known.state.last_contact
    freezer.tick(timedelta(minutes=14))
    await asyncio.sleep(150)
    assert stored() == before
    # Polls do not move it: each would be a row of the database, 1,440 of them a day.
    assert known.state.last_contact == contact
    freezer.tick(timedelta(minutes=1))
    await asyncio.sleep(70)
    assert known.state.last_contact > contact
    await act(hass, "number", "set_value", VOLUME, value=35)
    await asyncio.sleep(70)
    assert stored()["status"]["volume"] == 35


async def test_a_lost_device_is_unavailable_and_one_left_listening_made_idle(
    hass: HomeAssistant, boot: Boot, caplog: pytest.LogCaptureFixture, speech: Speech
) -> None:
    caplog.set_level(logging.INFO, "custom_components.xiaozhi")
    device = await boot()
    await wait_for_state(hass, VOLUME, "70")
    await device.power_off()
    await wait_for_state(hass, VOLUME, "unavailable")
    assert hass.states.is_state(CONNECTED, "off")
    assert hass.states.is_state("sensor.kitchen_box_conversation_state", "unavailable")
    known = boot.entry.runtime_data.devices[MAC]
    with pytest.raises(HomeAssistantError, match="Kitchen box is not connected"):
        await known.commands.call_tool("self.audio_speaker.set_volume", {"volume": 1})
    await device.boot()
    await wait_for_state(hass, VOLUME, "70")
    said = [record.getMessage() for record in caplog.records if "Kitchen box" in record.getMessage()]
    assert len([text for text in said if "is not connected any more" in text]) == 1
    assert len([text for text in said if "is connected over mqtt" in text]) == 2
    await device.wake()
    await device.wait_state(State.LISTENING, 3)
    gateway = boot.entry.runtime_data
    # As after a crash: nothing was said to the device.
    gateway.devices[device.mac].session.link._carrier.publish.__self__.abort()
    await device.wait_state(State.IDLE, 15)
    await wait_for_state(hass, CONNECTED, "on", 10)
    speech.recognizer.lines = [COMMAND]
    assert (await converse(device, speech.command, word="hello again")).heard == [COMMAND]


async def test_old_firmware_that_cannot_answer_after_a_restart_is_asked_nothing(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes
) -> None:
    """It would sound an alarm for each answer, until it begins a conversation or starts again."""
    device = await boot(get_profile("s3", "1.7.5"))
    await wait_for_state(hass, VOLUME, "70")
    # With a conversation of before the restart, which would be ended.
    speech.recognizer.lines = [COMMAND] * 2
    await converse(device, command)
    errors = len(device.events("error"))
    assert await hass.config_entries.async_unload(boot.entry.entry_id)
    links = len(device.events("link"))
    await device.wait_for(lambda: len(device.events("link")) > links or not device.connected)
    assert await hass.config_entries.async_setup(boot.entry.entry_id)
    known = boot.entry.runtime_data.devices[MAC]
    await until(lambda: known.session is not None)
    # Longer than until the goodbye, the questions after the connection and after a change.
    await asyncio.sleep(1.5)
    assert len(device.events("error")) == errors
    assert hass.states.is_state(CONNECTED, "off")
    with pytest.raises(HomeAssistantError, match="is not connected"):
        await known.commands.call_tool("self.audio_speaker.set_volume", {"volume": 1})
    assert (await converse(device, command, word="hello again")).heard == [COMMAND]
    await wait_for_state(hass, CONNECTED, "on")
    await act(hass, "number", "set_value", VOLUME, value=20)
    await device.power_off()
    await wait_for_state(hass, VOLUME, "unavailable")
    await device.boot()
    await wait_for_state(hass, VOLUME, "20")
    assert len(device.events("error")) == errors


async def test_a_device_of_unknown_firmware_is_not_asked_again_without_an_answer(
    hass: HomeAssistant, linked_entry: MockConfigEntry
) -> None:
    """As after Home Assistant has lost what it knew; the hello of a conversation tells that it can answer."""
    client = await WireClient.login(linked_entry.data[CONF_MQTT_PORT], mqtt_client_id(MAC), MAC, TOKEN)
    assert (await next_request(client))["method"] == "initialize"
    # Longer than for an answer and until the next poll.
    await asyncio.sleep(75)
    with pytest.raises(TimeoutError):
        await next_request(client)
    await client.send(publish(uplink_topic(MAC), encoded(HELLO)))
    await asyncio.sleep(75)
    assert (await next_request(client))["method"] == "initialize"
    await client.close()


async def test_a_device_that_comes_and_goes_does_not_fill_the_database(
    hass: HomeAssistant, linked_entry: MockConfigEntry, boot: Boot
) -> None:
    """It may do so sixty times, and then as often as somebody could talk to it: once in three seconds.

    After twenty times within an hour its entities go only when it stays away, and *Connectivity* is on again
    only when it stays.
    """
    device = await boot()
    await wait_for_state(hass, VOLUME, "70")
    await device.power_off()
    changes = async_capture_events(hass, EVENT_STATE_CHANGED)

    async def come_and_go() -> None:
        client = await WireClient.open(linked_entry.data[CONF_MQTT_PORT])
        await client.send(connect(mqtt_client_id(MAC), MAC, TOKEN))
        await client.receive()
        await client.close()

    for _ in range(100):
        await come_and_go()
        await asyncio.sleep(0.1)
    written = Counter(change.data["entity_id"] for change in changes)
    assert 20 <= written[VOLUME] <= 2 * 20 + 1
    for _ in range(40):
        await come_and_go()
        await asyncio.sleep(3)
    written = Counter(change.data["entity_id"] for change in changes)
    assert max(written.values()) <= 2 * 20 + 3, written
    assert hass.states.is_state(VOLUME, "70")
    # What a command would do is shown at once.
    assert hass.states.is_state(CONNECTED, "off")
    assert state_of(hass, SATELLITE).attributes["reachable"] is False
    with pytest.raises(HomeAssistantError, match="not connected"):
        await hass.services.async_call(
            "number", "set_value", {"entity_id": VOLUME, "value": 5}, blocking=True
        )
    await wait_for_state(hass, VOLUME, "unavailable", 35)
    # It is let in again.
    await device.boot()
    await wait_for_state(hass, VOLUME, "70")
    assert hass.states.is_state(CONNECTED, "on")
    await device.power_off()
    await device.boot()
    await wait_for_state(hass, CONNECTED, "on", 35)


async def test_a_device_in_bad_wifi_is_shown_as_gone_at_once(hass: HomeAssistant, boot: Boot) -> None:
    """Every five minutes it loses its link for a moment."""
    device = await boot()
    for _ in range(20):
        await wait_for_state(hass, VOLUME, "70")
        await device.power_off()
        await wait_for_state(hass, VOLUME, "unavailable", 5)
        await asyncio.sleep(290)
        await device.boot()


async def next_request(client: WireClient) -> Any:
    while (message := json.loads((await client.receive_message())[1]))["type"] != "mcp":
        pass
    return message["payload"]


async def test_a_websocket_client_is_told_where_and_firmware_takes_mqtt(
    hass: HomeAssistant,
    linked_entry: MockConfigEntry,
    hass_client_no_auth: ClientSessionGenerator,
    boot: Boot,
) -> None:
    """It would otherwise go on talking to the server of which it has stored the address."""
    http = await hass_client_no_auth()
    client = HttpDevice(client=http, mac=MAC, client_id=CLIENT_ID)
    device = linked_entry.runtime_data.devices[MAC]
    reply = await client.check_in()
    assert reply.keys() == {"mqtt", "websocket", "server_time"}
    assert not device.state.available
    async with connected(http, lambda _method, _params: {}, mac=MAC, client_id=CLIENT_ID) as other:
        await other.hello()
        await wait_for_state(hass, CONNECTED, "on")
        assert (await client.check_in()).keys() == reply.keys()
        assert device.state.linked, "a check-in does not end the link of a client that prefers the other"
    await wait_for_state(hass, CONNECTED, "off")
    await client.check_in()
    assert device.state.available, "as for every device on WebSocket, its last state stands"
    assert device.state.link is LinkKind.WEBSOCKET
    # Firmware takes MQTT, and gets one section when its owner wants WebSocket.
    box = await boot()
    await wait_for_state(hass, CONNECTED, "on")
    assert box.link == "mqtt"
    for wanted, sections in (
        (DeviceLink.WEBSOCKET, {"websocket", "server_time"}),
        (DeviceLink.AUTOMATIC, {"mqtt", "websocket", "server_time"}),
    ):
        change_settings(hass, linked_entry, **{CONF_LINK: wanted.value})
        await hass.async_block_till_done()
        assert (await client.check_in()).keys() == sections
        expected = LinkKind.WEBSOCKET if wanted is DeviceLink.WEBSOCKET else LinkKind.MQTT
        assert device.state.link is expected


# Quick to try again; shows every second that it is there.
STEADY = Pace(waits=0.02, timeouts=0.2, main_loop_delay=0.001)


@TWO_DEVICES
async def test_a_network_lost_in_mid_sentence_leaves_nothing_hanging(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes
) -> None:
    speech.recognizer.lines = [COMMAND] * 4
    device = await boot(pace=STEADY)
    other = await boot(mac=OTHER_MAC, pace=STEADY)
    await wait_for_state(hass, VOLUME, "70")
    await device.wake()
    device.say(command)
    # The lead of silence, and half a second of speech.
    await until(lambda: any(len(stream) > 1.3 * 32000 for stream in speech.recognizer.streams))
    device.cut_network()
    assert (await converse(other, command, word="hello")).heard == [COMMAND]
    await wait_for_state(hass, VOLUME, "unavailable", 120)
    assert hass.states.is_state(SATELLITE, "unavailable")
    assert hass.states.is_state("sensor.kitchen_box_conversation_state", "unavailable")
    assert hass.states.is_state("number.bedroom_box_volume", "70")
    device.restore_network()
    await wait_for_state(hass, CONNECTED, "on", 10)
    await device.wait_state(State.IDLE, 10)
    assert (await converse(device, command, word="hello again")).heard == [COMMAND]
    await device.wake("hello once more")
    device.say(command)
    await device.wait_said(10)
    device.cut_network()
    await asyncio.sleep(2)
    # `tts start` reaches it when it is idle. It would go on speaking, without a sound, and hear no wake word.
    await device.click()
    device.restore_network()
    await device.wait_state(State.SPEAKING, 10)
    await device.wait_state(State.IDLE, 10)


# What is lost is silence as long as it was: speech ends when it ends, and the answer is heard.
TROUBLE: dict[str, tuple[dict[str, Any], float]] = {
    "loss": ({"impairment": UdpImpairment(loss=5)}, 0.7),
    "disorder": ({"impairment": UdpImpairment(jitter=80, reorder=10, duplicate=10)}, 0.7),
    "all": ({"impairment": UdpImpairment(loss=10, jitter=80, reorder=10, duplicate=10)}, 0.7),
    **{str(what): ({"misbehaviours": (what,)}, 1) for what in Misbehaviour if what.name.startswith("UDP_")},
}


@pytest.mark.parametrize("paired", [paired_boxes(len(TROUBLE))], ids=["together"])
async def test_audio_over_a_bad_network_stays_on_the_clock_without_strangers(
    speech: Speech, boot: Boot, command: bytes, subtests: pytest.Subtests
) -> None:
    devices = [
        await boot(mac=mac_of(number), **options) for number, (options, _) in enumerate(TROUBLE.values(), 1)
    ]
    speech.recognizer.lines = [COMMAND] * len(devices)
    # The streams that are recognised are in their order.
    for number, device in enumerate(devices, 1):
        await device.wake(f"hello {number}")
        await until(lambda number=number: len(speech.recognizer.streams) == number)
    talks = await asyncio.gather(*(converse(device, command) for device in devices))
    said = len(speech.voice.spoken[0]) / 20
    for (name, (_, least)), talk, stream in zip(
        TROUBLE.items(), talks, speech.recognizer.streams, strict=True
    ):
        with subtests.test(name):
            assert talk.heard == [COMMAND]
            assert not talk.hung_up
            # As long as what was said, with the silence until the person speaks and until the end is noticed.
            around = (len(stream) - len(command)) / 32000
            assert 0.6 < around < 2.4, f"{around:.2f} s of silence around the speech"
            assert least * said <= talk.played_seconds < said + 0.3


async def test_the_ports_are_closed_also_if_the_stop_is_given_up(
    linked_entry: MockConfigEntry, boot: Boot
) -> None:
    await boot()
    ports = linked_entry.runtime_data.ports
    stopping = asyncio.create_task(ports.stop())
    await asyncio.sleep(0)
    stopping.cancel()
    await asyncio.wait([stopping])
    assert stopping.cancelled()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as again:
        again.bind(("127.0.0.1", linked_entry.data[CONF_UDP_PORT]))
    for name in (CONF_WEBSOCKET_PORT, CONF_MQTT_PORT):
        with pytest.raises(ConnectionRefusedError), socket.socket() as client:
            client.connect(("127.0.0.1", linked_entry.data[name]))
