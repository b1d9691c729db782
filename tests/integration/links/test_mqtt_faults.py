"""What can happen to a device on MQTT and to its network; it comes back by itself, and others go on."""

import asyncio
from typing import Any

from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import HomeAssistant
import pytest

from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import Misbehaviour, Pace, SimulatedDevice, State, UdpImpairment, converse
from tests.integration.boxes import Speech, mac_of, paired_boxes, wait_for_state
from tests.integration.http_device import paired_device
from tests.integration.names import CLIENT_ID, COMMAND, CONNECTED, MAC, OTHER_MAC, SATELLITE, VOLUME, Boot
from tests.protocol.transport.udp.device import until

LINK = LinkKind.MQTT

pytestmark = pytest.mark.usefixtures("all_enabled")

OTHER_VOLUME = "number.hall_box_volume"
# Quick to try again; shows every second that it is there.
STEADY = Pace(waits=0.02, timeouts=0.2, main_loop_delay=0.001)


@pytest.fixture
def paired() -> tuple[ConfigSubentryData, ...]:
    """One that has trouble, and one that has none."""
    return paired_device(MAC, CLIENT_ID), paired_device(OTHER_MAC, CLIENT_ID, title="Hall box")


async def begin_to_speak(speech: Speech, device: SimulatedDevice, sound: bytes) -> None:
    """Wake a device and speak to it; returns in mid-sentence."""
    before = len(speech.recognizer.streams)
    await device.wake()
    device.say(sound)
    # The lead of silence, and half a second of speech.
    await until(
        lambda: len(speech.recognizer.streams) > before and len(speech.recognizer.streams[-1]) > 1.3 * 32000
    )


# The network


async def test_a_network_that_is_gone_in_mid_sentence_leaves_nothing_hanging(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes
) -> None:
    speech.recognizer.lines = [COMMAND] * 3
    device = await boot(pace=STEADY)
    other = await boot(mac=OTHER_MAC, pace=STEADY)
    await wait_for_state(hass, VOLUME, "70")
    await begin_to_speak(speech, device, command)
    device.cut_network()
    assert (await converse(other, command, word="hello")).heard == [COMMAND]
    await wait_for_state(hass, VOLUME, "unavailable", 120)
    assert hass.states.is_state(SATELLITE, "unavailable")
    assert hass.states.is_state("sensor.kitchen_box_conversation_state", "unavailable")
    assert hass.states.is_state(OTHER_VOLUME, "70")
    device.restore_network()
    await wait_for_state(hass, CONNECTED, "on", 10)
    await device.wait_state(State.IDLE, 10)
    assert (await converse(device, command, word="hello again")).heard == [COMMAND]


# What is lost is silence as long as it was: speech ends when it ends, and the answer is heard.
TROUBLE: dict[str, tuple[dict[str, Any], float]] = {
    "loss": ({"impairment": UdpImpairment(loss=5)}, 0.7),
    "disorder": ({"impairment": UdpImpairment(jitter=80, reorder=10, duplicate=10)}, 0.7),
    "all": ({"impairment": UdpImpairment(loss=10, jitter=80, reorder=10, duplicate=10)}, 0.7),
    **{str(what): ({"misbehaviours": (what,)}, 1) for what in Misbehaviour if what.name.startswith("UDP_")},
}


@pytest.mark.parametrize("paired", [paired_boxes(len(TROUBLE))], ids=["together"])
async def test_audio_over_a_bad_network_stays_on_the_clock_and_that_of_strangers_is_dropped(
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
            assert_on_the_clock(stream, command)
            assert least * said <= talk.played_seconds < said + 0.3


def assert_on_the_clock(stream: bytearray, sound: bytes) -> None:
    """What speech recognition heard is as long as what was said, with the silence before and after."""
    around = (len(stream) - len(sound)) / 32000
    # Some until the person speaks, and 0.6 s until the end of speech is noticed.
    assert 0.6 < around < 2.4, f"{around:.2f} s of silence around the speech"
