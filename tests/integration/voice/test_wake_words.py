"""One wake word that several devices hear, and one that is said again."""

import asyncio
import time

from homeassistant.components.assist_pipeline.const import DATA_LAST_WAKE_UP
from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import HomeAssistant
import pytest

from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.voice.wake_word_arbitration import Claim, WakeWords
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
    speech: Speech, boot: Boot, command: bytes, boards: tuple[str, str]
) -> None:
    """Boards of the kind C3 do not tell of the word: what counts is when they begin to listen."""
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


@pytest.mark.parametrize(
    "starts",
    [
        # Device, word, seconds, what becomes of it.
        [
            ("a", "hi", 0, NEW),
            ("b", "hi", 0.3, ELSEWHERE),
            ("a", "hi", 1.2, AGAIN),
            ("b", "hi", 2.5, ELSEWHERE),
        ],
        [("a", "hi", 0, NEW), ("a", "hi", 2.1, AGAIN), ("a", "hi", 5.2, NEW)],
        [("a", "hi", 0, NEW), ("b", "hi", 2.1, NEW)],
        [("a", "hi", 0, NEW), ("b", "hello", 0.1, NEW), ("b", "hi", 0.2, ELSEWHERE)],
        [("a", None, 0, NEW), ("b", None, 0.5, ELSEWHERE), ("b", None, 1.5, NEW)],
        [("a", "hi", 0, NEW), ("b", None, 0.5, ELSEWHERE)],
        [("a", None, 0, NEW), ("b", "hi", 0.5, ELSEWHERE)],
        # One that has told of a word has had its button pressed.
        [("a", "hi", 0, NEW), ("b", "hi", 10, NEW), ("a", None, 10.2, NEW), ("b", None, 10.3, NEW)],
    ],
)
def test_who_answers(starts: list[tuple[str, str | None, float, Claim]]) -> None:
    words = WakeWords()
    assert [words.claim(mac, word, 1000 + at) for mac, word, at, _ in starts] == [
        claim for *_, claim in starts
    ]


def test_one_that_does_not_answer_after_all_leaves_the_word_to_others() -> None:
    words = WakeWords()
    assert words.claim("a", "hi", 0) is Claim.NEW
    words.withdraw("a")
    assert words.claim("a", "hi", 1) is Claim.NEW
