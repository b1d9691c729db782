"""One wake word that several devices hear, and one that is said again."""

import asyncio
import time
from typing import Any

from homeassistant.components.assist_pipeline.const import DATA_LAST_WAKE_UP
from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.voice.wake_word_arbitration import (
    Claim,
    WakeWordArbitration,
    hears_silently,
)
from simulator import SimulatedDevice, State, converse, get_profile
from tests.integration.boxes import COMMAND, LIGHT, OTHER_MAC, Boot, Speech, paired_boxes


@pytest.fixture
def paired() -> tuple[ConfigSubentryData, ...]:
    return paired_boxes(2)


@pytest.fixture(params=list(LinkKind))
def link(request: pytest.FixtureRequest) -> LinkKind:
    """The same over both links."""
    kind: LinkKind = request.param
    return kind


def put_into_one_room(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """All devices of a gateway are in the kitchen."""
    kitchen = ar.async_get(hass).async_get_or_create("Kitchen")
    registry = dr.async_get(hass)
    for device in dr.async_entries_for_config_entry(registry, entry.entry_id):
        registry.async_update_device(device.id, area_id=kitchen.id)


async def until_idle(device: SimulatedDevice) -> float:
    """Return how many seconds a device listened."""
    loop = asyncio.get_running_loop()
    await device.wait_state(State.LISTENING, 10)
    began = loop.time()
    await device.wait_state(State.IDLE, 20)
    return loop.time() - began


async def test_a_word_that_the_same_device_hears_again_is_not_dropped(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes
) -> None:
    """With a click in between, as when the first one came to nothing."""
    device = await boot()
    await device.wake("hi")
    await device.wait_state(State.LISTENING, 10)
    await device.click()
    await device.wait_state(State.IDLE, 10)
    speech.recognizer.lines = [COMMAND]
    began = asyncio.get_running_loop().time()
    talk = await converse(device, command, word="hi")
    assert asyncio.get_running_loop().time() - began < 6
    assert talk.answers == ["Turned on the switch"]
    assert hass.states.is_state(LIGHT, "on")


@pytest.mark.parametrize("boards", [("s3", "s3"), ("c3", "c3"), ("s3", "c3"), ("c3", "s3")], ids="-".join)
async def test_of_two_devices_that_hear_the_same_word_one_answers_and_the_other_is_idle_at_once(
    hass: HomeAssistant,
    linked_entry: MockConfigEntry,
    speech: Speech,
    boot: Boot,
    command: bytes,
    boards: tuple[str, str],
) -> None:
    """Boards of the kind C3 do not tell of the word: what counts is when they begin to listen, and where."""
    put_into_one_room(hass, linked_entry)
    near = await boot(get_profile(boards[0]))
    far = await boot(get_profile(boards[1]), mac=OTHER_MAC)
    speech.recognizer.lines = [COMMAND]
    talking = asyncio.create_task(converse(near, command, word="hi"))
    await near.wait_state(State.LISTENING, 10)
    await far.wake("hi")
    assert await until_idle(far) < 0.5
    talk = await talking
    assert talk.answers == ["Turned on the switch"]
    assert not far.screen.captions
    assert len(speech.recognizer.streams) == 1


async def test_two_buttons_are_two_people(
    hass: HomeAssistant, linked_entry: MockConfigEntry, speech: Speech, boot: Boot, command: bytes
) -> None:
    """Boards that tell of a wake word, and tell of none: their buttons were pressed."""
    put_into_one_room(hass, linked_entry)
    one, other = await boot(), await boot(mac=OTHER_MAC)
    speech.recognizer.lines = [COMMAND] * 2

    async def press(device: SimulatedDevice) -> list[str]:
        await device.click()
        device.say(command)
        await device.wait_state(State.IDLE, 20)
        return device.screen.captions

    answers = await asyncio.gather(press(one), press(other))
    assert [*answers] == [["Turned on the switch"]] * 2


async def test_different_words_are_two_people(speech: Speech, boot: Boot, command: bytes) -> None:
    one, other = await boot(), await boot(mac=OTHER_MAC)
    speech.recognizer.lines = [COMMAND] * 2
    talks = await asyncio.gather(converse(one, command, word="hi"), converse(other, command, word="hello"))
    assert all(talk.answers for talk in talks)


async def test_a_word_that_another_satellite_of_home_assistant_has_heard_is_left_to_it(
    hass: HomeAssistant, speech: Speech, boot: Boot
) -> None:
    """Also when it is said again."""
    device = await boot()
    # For as long as the test takes: Home Assistant goes by the clock of the system.
    hass.data[DATA_LAST_WAKE_UP]["hi"] = time.monotonic() + 600
    for _ in range(2):
        await device.wake("hi")
        assert await until_idle(device) < 0.5
    assert not speech.recognizer.streams
    assert not device.screen.captions


NEW, AGAIN, ELSEWHERE = Claim.NEW, Claim.AGAIN, Claim.ELSEWHERE
KITCHEN = {"area": "kitchen"}
SILENT_IN_KITCHEN = {"area": "kitchen", "silent": True}


@pytest.mark.parametrize(
    "starts",
    [
        # Device, word, seconds, where it is and whether it hears silently, what becomes of it.
        [
            ("a", "hi", 0, {}, NEW),
            ("b", "hi", 0.3, {}, ELSEWHERE),
            ("a", "hi", 1.2, {}, AGAIN),
            ("b", "hi", 2.5, {}, ELSEWHERE),
        ],
        [("a", "hi", 0, {}, NEW), ("a", "hi", 2.1, {}, AGAIN), ("a", "hi", 5.2, {}, NEW)],
        [("a", "hi", 0, {}, NEW), ("b", "hi", 2.1, {}, NEW)],
        [("a", "hi", 0, {}, NEW), ("b", "hello", 0.1, {}, NEW), ("b", "hi", 0.2, {}, ELSEWHERE)],
        [
            ("a", None, 0, SILENT_IN_KITCHEN, NEW),
            ("b", None, 0.5, SILENT_IN_KITCHEN, ELSEWHERE),
            ("b", None, 1.5, SILENT_IN_KITCHEN, NEW),
        ],
        [("a", "hi", 0, KITCHEN, NEW), ("b", None, 0.5, SILENT_IN_KITCHEN, ELSEWHERE)],
        [("a", None, 0, SILENT_IN_KITCHEN, NEW), ("b", "hi", 0.5, KITCHEN, ELSEWHERE)],
        # Two presses are two people: of devices that would tell of a word, in two rooms, and in none.
        [("a", None, 0, KITCHEN, NEW), ("b", None, 0.1, KITCHEN, NEW)],
        [("a", "hi", 0, KITCHEN, NEW), ("b", None, 0.1, KITCHEN, NEW)],
        [("a", None, 0, SILENT_IN_KITCHEN, NEW), ("b", None, 0.1, {"area": "hall", "silent": True}, NEW)],
        [("a", None, 0, {"silent": True}, NEW), ("b", None, 0.1, {"silent": True}, NEW)],
    ],
)
async def test_who_answers(starts: list[tuple[str, str | None, float, dict[str, Any], Claim]]) -> None:
    words = WakeWordArbitration()
    assert [words.claim(mac, word, 1000 + at, **place) for mac, word, at, place, _ in starts] == [
        claim for *_, claim in starts
    ]


async def test_which_devices_hear_a_wake_word_without_telling() -> None:
    assert hears_silently("esp32c3", ())
    assert not hears_silently("esp32c3", ("hi",)), "one that has told of a word"
    assert not hears_silently("esp32s3", ())
    assert not hears_silently(None, ()), "one that nothing is known of"


async def test_one_that_does_not_answer_after_all_leaves_the_word_to_others() -> None:
    words = WakeWordArbitration()
    assert words.claim("a", "hi", 0) is Claim.NEW
    words.withdraw("a")
    assert words.claim("a", "hi", 1) is Claim.NEW
