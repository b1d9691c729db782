"""A device that misbehaves gets a clear end or is put up with; other devices go on."""

import asyncio
from dataclasses import replace
import logging

from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import Conversation, Misbehaviour, SimulatedDevice, State, converse
from tests.integration.boxes import Speech, introduce, mac_of, wait_for_state
from tests.integration.http_device import paired_device
from tests.integration.names import CLIENT_ID, COMMAND, LIGHT, MAC, QUICK, VOLUME, Boot
from tests.integration.tools.own_tools import announce, listed

pytestmark = pytest.mark.usefixtures("all_enabled", "speech")

# Keeps a channel for 12 s in which it hears nothing, and waits 10 s for an answer to its hello as real ones
# do, so that it is not the device that ends a conversation.
PATIENT = replace(QUICK, waits=0.1, timeouts=1)


@pytest.fixture
def crowd(request: pytest.FixtureRequest) -> list[Misbehaviour]:
    """How others misbehave, one each; nobody does unless a test says so."""
    what: list[Misbehaviour] = getattr(request, "param", [])
    return what


@pytest.fixture
def paired(crowd: list[Misbehaviour]) -> tuple[ConfigSubentryData, ...]:
    """One that is good, and those that misbehave, called after what they do."""
    return paired_device(MAC, CLIENT_ID), *(
        paired_device(mac_of(number), CLIENT_ID, title=f"The {what} box")
        for number, what in enumerate(crowd, 2)
    )


def is_about(what: Misbehaviour, text: str) -> bool:
    """Return whether a log line is about the device that does this."""
    return f"The {what} box" in text or (what in TOLD and TOLD[what] in text)


# Of the lines that an owner sees, those that do not name the device.
TOLD = {Misbehaviour.LOOPING_CURSOR: "list of tools is too long, or has no end: it was cut at 12 items"}
# What has to be ended, and what is put up with. Over MQTT a hello begins a new conversation, and there is no
# way to send audio before the first one.
ENDED = {
    LinkKind.WEBSOCKET: [
        Misbehaviour.FLOOD,
        Misbehaviour.DROP_MID_SENTENCE,
        Misbehaviour.OVERSIZE_TEXT,
        Misbehaviour.SECOND_HELLO,
        Misbehaviour.BINARY_BEFORE_HELLO,
    ],
    LinkKind.MQTT: [
        Misbehaviour.FOREIGN_TOPIC,
        Misbehaviour.MQTT_GARBAGE,
        Misbehaviour.MQTT_GIANT_LENGTH,
        Misbehaviour.OVERSIZE_TEXT,
    ],
}
BORNE = {
    LinkKind.WEBSOCKET: [Misbehaviour.GARBAGE_JSON, Misbehaviour.NEVER_ANSWER_MCP, Misbehaviour.OPUS_GARBAGE],
    LinkKind.MQTT: [
        Misbehaviour.WRONG_TYPES,
        Misbehaviour.UNKNOWN_TYPES,
        Misbehaviour.LOOPING_CURSOR,
        Misbehaviour.STATUS_NOT_JSON,
        Misbehaviour.NO_AUDIO,
        Misbehaviour.SECOND_HELLO,
    ],
}


async def misbehave(device: SimulatedDevice, word: str, *, is_ended: bool) -> None:
    """Have a conversation of two seconds, which the other side has to end or to put up with."""
    await device.wake(word)
    device.say(bytes(2 * 16000 * 2))
    if is_ended:
        await device.wait_for(lambda: device.state is State.IDLE or not device.channel_open, 6)
    else:
        await device.wait_said(10)
        # Random packets that pass for audio may pass for speech, which is answered.
        assert device.state is State.LISTENING or device.played_seconds


# A silent device stays for longer than the gateway waits for speech.
@pytest.mark.parametrize(
    ("link", "crowd"), [(kind, ENDED[kind] + BORNE[kind]) for kind in LinkKind], ids=str, indirect=["crowd"]
)
async def test_another_device_goes_on(
    hass: HomeAssistant,
    speech: Speech,
    boot: Boot,
    caplog: pytest.LogCaptureFixture,
    subtests: pytest.Subtests,
    crowd: list[Misbehaviour],
    link: LinkKind,
) -> None:
    """While all the others do what they do at the same time, and after it."""
    speech.recognizer.lines = [COMMAND] * (len(crowd) + 2)
    good = await boot(pace=PATIENT)
    bad = [
        await boot(mac=mac_of(number), misbehaviours=(what,), pace=PATIENT)
        for number, what in enumerate(crowd, 2)
    ]
    # To Home Assistant, the same word at the same time would be one person whom many devices hear.
    meanwhile, *ends = await asyncio.gather(
        converse(good, speech.command, word="hello"),
        *(
            misbehave(device, f"hi {what}", is_ended=what in ENDED[link])
            for what, device in zip(crowd, bad, strict=True)
        ),
        return_exceptions=True,
    )
    for talk in (meanwhile, await converse(good, speech.command, word="hello again")):
        assert isinstance(talk, Conversation), talk
        assert talk.heard == [COMMAND]
        assert talk.played_seconds > 0.5
    assert hass.states.is_state(LIGHT, "on")
    await asyncio.gather(*(device.power_off() for device in bad))
    await hass.async_block_till_done()
    loud = [
        record.getMessage()
        for record in caplog.records
        if record.name.startswith("custom_components.xiaozhi") and record.levelno >= logging.WARNING
    ]
    for what, end in zip(crowd, ends, strict=True):
        with subtests.test(str(what)):
            if end is not None:
                raise end
            told = [text for text in loud if is_about(what, text)]
            assert len(told) <= 1, told
    assert not [text for text in loud if not any(is_about(what, text) for what in crowd)]


async def test_what_was_known_stays_when_the_device_stops_making_sense(
    hass: HomeAssistant, boot: Boot
) -> None:
    device = await boot()
    await introduce(hass, device)
    await wait_for_state(hass, VOLUME, "70")
    for misbehaviour in (Misbehaviour.NEVER_ANSWER_MCP, Misbehaviour.STATUS_NOT_JSON):
        await device.power_off()
        device.misbehaviours.add(misbehaviour)
        await device.boot()
        await introduce(hass, device)
        assert hass.states.is_state(VOLUME, "70")
        device.misbehaviours.clear()


@pytest.mark.parametrize("link", [LinkKind.MQTT])
async def test_a_missing_list_is_asked_for_once_when_the_device_answers_again(
    boot: Boot, hass: HomeAssistant
) -> None:
    device = await boot()
    await wait_for_state(hass, VOLUME, "70")
    device.misbehaviours.add(Misbehaviour.NEVER_ANSWER_MCP)
    for _ in range(20):
        announce(device)
        await asyncio.sleep(15)
    device.misbehaviours.clear()
    before = listed(device)
    await asyncio.sleep(130)
    assert 1 <= listed(device) - before <= 2


@pytest.mark.parametrize("link", [LinkKind.MQTT])
async def test_calls_faster_than_the_device_are_refused_and_end_with_the_gateway(
    boot: Boot, hass: HomeAssistant, linked_entry: MockConfigEntry, known: Device
) -> None:
    """An automation in a loop would pile up calls without end, and a script stop in one without a word."""
    device = await boot()
    await wait_for_state(hass, VOLUME, "70")
    device.misbehaviours.add(Misbehaviour.NEVER_ANSWER_MCP)
    calls = [asyncio.create_task(known.commands.call_tool("self.get_device_status")) for _ in range(1000)]
    await asyncio.sleep(0)
    waiting, refused = [call for call in calls if not call.done()], [call for call in calls if call.done()]
    assert len(refused) > 900
    with pytest.raises(HomeAssistantError, match=r"too many are waiting, so “Device status” was not"):
        await refused[-1]
    await hass.config_entries.async_reload(linked_entry.entry_id)
    for call in waiting:
        with pytest.raises(HomeAssistantError, match="broke off during"):
            await call
