"""A device that misbehaves gets a clear end or is put up with; other devices go on."""

import logging

from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.gateway import Gateway
from custom_components.xiaozhi.protocol.link import LinkKind
from simulator import Misbehaviour, State, converse
from simulator.espeak import synthesize
from tests.integration.http_device import paired_device
from tests.integration.linked.conftest import CLIENT_ID, MAC, OTHER_MAC, Boot, Speech, wait_for_state

VOLUME = "number.kitchen_box_volume"


@pytest.fixture(params=list(LinkKind))
def link(request: pytest.FixtureRequest) -> LinkKind:
    """What is not said to be about one link holds for both."""
    kind: LinkKind = request.param
    return kind


@pytest.fixture
def paired() -> tuple[ConfigSubentryData, ...]:
    """One that misbehaves, and one that does not."""
    return paired_device(MAC, CLIENT_ID), paired_device(OTHER_MAC, CLIENT_ID, title="Hall box")


ENDED = [Misbehaviour.OVERSIZE_TEXT, Misbehaviour.FLOOD, Misbehaviour.DROP_MID_SENTENCE]
BORNE = [
    Misbehaviour.GARBAGE_JSON,
    Misbehaviour.WRONG_TYPES,
    Misbehaviour.UNKNOWN_TYPES,
    Misbehaviour.NEVER_ANSWER_MCP,
    Misbehaviour.THOUSAND_TOOLS,
    Misbehaviour.LOOPING_CURSOR,
    Misbehaviour.STATUS_NOT_JSON,
    Misbehaviour.NO_AUDIO,
    Misbehaviour.OPUS_GARBAGE,
]
# Over MQTT a hello begins a new conversation, and there is no way to send audio before the first one.
ENDED_ON_WEBSOCKET = [Misbehaviour.SECOND_HELLO, Misbehaviour.BINARY_BEFORE_HELLO]
ENDED_ON_MQTT = [Misbehaviour.FOREIGN_TOPIC, Misbehaviour.MQTT_GARBAGE, Misbehaviour.MQTT_GIANT_LENGTH]
BORNE_ON_MQTT = [
    Misbehaviour.SECOND_HELLO,
    Misbehaviour.UDP_REPLAY,
    Misbehaviour.UDP_FORGERY,
    Misbehaviour.UDP_UNKNOWN,
]


@pytest.mark.parametrize(
    ("link", "misbehaviour", "is_ended"),
    [
        *((link, what, True) for link in LinkKind for what in ENDED),
        *((link, what, False) for link in LinkKind for what in BORNE),
        *((LinkKind.WEBSOCKET, what, True) for what in ENDED_ON_WEBSOCKET),
        *((LinkKind.MQTT, what, True) for what in ENDED_ON_MQTT),
        *((LinkKind.MQTT, what, False) for what in BORNE_ON_MQTT),
    ],
    indirect=["link"],
)
async def test_another_device_goes_on(
    hass: HomeAssistant,
    speech: Speech,
    boot: Boot,
    caplog: pytest.LogCaptureFixture,
    misbehaviour: Misbehaviour,
    is_ended: bool,
) -> None:
    bad = await boot(misbehaviours=(misbehaviour,))
    good = await boot(mac=OTHER_MAC)
    await good.wake("hello")
    await bad.wake()
    bad.say(bytes(2 * 16000 * 2))
    if is_ended:
        await bad.wait_for(lambda: bad.state is State.IDLE or not bad.channel_open, 10)
    else:
        await bad.wait_said(10)
        assert bad.state is State.LISTENING
    assert good.state is State.LISTENING
    speech.ears.lines = ["turn on the kitchen light"] * 2
    pcm, _ = synthesize("turn on the kitchen light", sample_rate=16000)
    assert (await converse(good, pcm)).played_seconds > 0.5
    await bad.power_off()
    await hass.async_block_till_done()
    loud = [
        record.getMessage()
        for record in caplog.records
        if record.name.startswith("custom_components.xiaozhi") and record.levelno >= logging.WARNING
    ]
    assert len(loud) <= 1, loud


async def test_a_thousand_tools_are_cut_and_the_known_ones_work(
    hass: HomeAssistant, speech: Speech, boot: Boot, linked_entry: MockConfigEntry
) -> None:
    device = await boot(misbehaviours=(Misbehaviour.THOUSAND_TOOLS,))
    await device.wake()
    await wait_for_state(hass, VOLUME, "70", 10)
    gateway: Gateway = linked_entry.runtime_data
    assert len(gateway.devices[MAC].tools) == 512


@pytest.mark.parametrize(
    "misbehaviour", [Misbehaviour.NEVER_ANSWER_MCP, Misbehaviour.STATUS_NOT_JSON, Misbehaviour.LOOPING_CURSOR]
)
async def test_what_was_known_stays_when_the_device_stops_making_sense(
    hass: HomeAssistant, speech: Speech, boot: Boot, misbehaviour: Misbehaviour
) -> None:
    device = await boot()
    await device.wake()
    await wait_for_state(hass, VOLUME, "70")
    await device.power_off()
    device.misbehaviours.add(misbehaviour)
    await device.boot()
    await device.wake("hello again")
    await hass.async_block_till_done()
    assert hass.states.is_state(VOLUME, "70")


async def test_a_device_that_does_not_read_is_let_go(
    hass: HomeAssistant, speech: Speech, boot: Boot, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = await boot(misbehaviours=(Misbehaviour.STOP_READING,))
    await device.wake()
    speech.ears.lines = ["turn on the kitchen light"]
    pcm, _ = synthesize("turn on the kitchen light", sample_rate=16000)
    device.say(pcm)
    await device.wait_said(10)
    await wait_for_state(hass, "assist_satellite.kitchen_box", "idle", 30)
    await device.power_off()
