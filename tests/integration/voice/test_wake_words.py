"""One wake word that several devices hear."""

import asyncio
from collections import deque
from dataclasses import replace
import time
from unittest.mock import patch

from homeassistant.components.assist_pipeline.const import DATA_LAST_WAKE_UP
from homeassistant.config_entries import ConfigSubentryData
from homeassistant.const import EVENT_STATE_CHANGED
from homeassistant.core import HomeAssistant
import numpy as np
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events

from custom_components.xiaozhi.const import EVENT_UNANSWERED_WAKE_WORD
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.device.state import DeviceState
from custom_components.xiaozhi.protocol.audio.loudness import Loudness, likeness
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.voice import wake_word_arbitration
from custom_components.xiaozhi.voice.wake_word_arbitration import Claim, WakeWordArbitration, hears_silently
from simulator import SimulatedDevice, State, get_profile
from simulator.audio.espeak import synthesize
from tests.integration.boxes import Speech, call_action, paired_boxes
from tests.integration.names import COMMAND, MAC, OTHER_MAC, Boot


@pytest.fixture
def paired() -> tuple[ConfigSubentryData, ...]:
    return paired_boxes(2)


async def until_idle(device: SimulatedDevice) -> float:
    """Return how many seconds a device listened."""
    loop = asyncio.get_running_loop()
    await device.wait_state(State.LISTENING, 10)
    began = loop.time()
    await device.wait_state(State.IDLE, 20)
    return loop.time() - began


def in_a_room(sound: bytes, share: float) -> bytes:
    """Return what a device with a noise of its own hears of a sound, after a second without it."""
    heard = np.concatenate([np.zeros(16000), share * np.frombuffer(sound, "<i2")])
    noise = np.random.default_rng(1).normal(0, 60, len(heard))
    return (heard + noise).astype("<i2").tobytes()


@pytest.mark.parametrize("louder", ["the first", "the second", "neither"])
async def test_of_two_devices_that_hear_the_same_word_the_nearer_one_answers(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes, louder: str
) -> None:
    """The other one is idle at once, has said and shown nothing, and can be woken again."""
    one, other = await boot(), await boot(mac=OTHER_MAC)
    near, far = (other, one) if louder == "the second" else (one, other)
    speech.recognizer.lines = [COMMAND]
    events = async_capture_events(hass, EVENT_STATE_CHANGED)
    for device in (one, other):
        share = 0.7 if device is near or louder == "neither" else 0.2
        await device.wake("hi", in_a_room(command, share))
        device.say(command)
    assert await until_idle(far) < 0.5
    await near.wait_state(State.IDLE, 20)
    assert near.screen.captions == ["Turned on the switch"]
    assert not far.screen.captions
    assert not far.speaker.played
    assert speech.recognizer.ended.qsize() == 1
    assert not [event for event in events if event.data["new_state"].attributes.get("event_type") == "failed"]
    await far.click()
    await far.wait_state(State.LISTENING, 10)


@pytest.mark.parametrize("link", [LinkKind.MQTT])
async def test_a_device_that_has_asked_goes_first_and_keeps_its_question(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes
) -> None:
    new = get_profile(version="2.5.0")
    asked, near = await boot(new), await boot(new, mac=OTHER_MAC)
    asking = hass.async_create_task(
        call_action(hass, "ask", boot.device_id, question="Shall I close the garage?")
    )
    await asked.wait_announced()
    await asyncio.sleep(5)
    speech.recognizer.lines = [COMMAND, "yes"]
    # Somebody else, in another room.
    await near.wake("hello", in_a_room(command, 0.7))
    near.say(command)
    await near.wait_state(State.IDLE, 30)
    for device, share in ((near, 0.7), (asked, 0.2)):
        await device.wake("hi", in_a_room(command, share))
        device.say(command)
    assert await until_idle(near) < 0.5
    assert await asking == {"id": None, "sentence": "yes", "slots": {}}


@pytest.mark.parametrize("boards", [("c3", "c3"), ("s3", "c3"), ("c3", "s3")], ids="-".join)
async def test_a_board_that_reports_no_wake_word_is_known_by_what_it_hears(
    speech: Speech, boot: Boot, command: bytes, boards: tuple[str, str]
) -> None:
    """Its room is never quite silent."""
    one, other = [
        await boot(get_profile(board), mac=mac) for board, mac in zip(boards, (MAC, OTHER_MAC), strict=True)
    ]
    speech.recognizer.lines = [COMMAND] * 2
    await asyncio.gather(one.wake("hi"), other.wake("hi"))
    for device, share in ((one, 0.2), (other, 0.7)):
        device.say(in_a_room(command + bytes(64000), share)[16000:])
    await asyncio.gather(*(device.wait_state(State.IDLE, 20) for device in (one, other)))
    assert other.screen.captions == ["Turned on the switch"]
    assert not one.screen.captions
    assert not one.speaker.played


@pytest.mark.parametrize("board", ["s3", "c3"])
async def test_two_buttons_are_two_people(speech: Speech, boot: Boot, command: bytes, board: str) -> None:
    """Of boards that report a wake word, also if both hear the same; of others, what is said counts."""
    one, other = await boot(get_profile(board)), await boot(get_profile(board), mac=OTHER_MAC)
    speech.recognizer.lines = [COMMAND] * 2
    # Somebody else speaks half a second later.
    others_words = bytes(16000) + synthesize("Make it warmer", sample_rate=16000)[0]
    if board == "s3":
        others_words = command

    async def press(device: SimulatedDevice, words: bytes) -> list[str]:
        await device.click()
        device.say(words)
        await device.wait_state(State.IDLE, 20)
        return device.screen.captions

    answers = await asyncio.gather(press(one, command), press(other, others_words))
    assert [*answers] == [["Turned on the switch"]] * 2


async def test_a_word_heard_by_another_satellite_is_left_to_it(
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


NOISE = 30.0


class Room:
    """Devices that begin to listen at certain times."""

    def __init__(self) -> None:
        self.words = WakeWordArbitration()
        self.lost: dict[str, asyncio.Future[None]] = {}
        self.loudness: dict[str, Loudness] = {}

    def claim(
        self, mac: str, word: str | None, now: float, level: float = 0, *, silent: bool = False
    ) -> Claim:
        """Let a device hear a word so many dB above its noise, or speech after a press of its button."""
        loudness = self.loudness[mac] = Loudness(deque(), 60)
        loudness.wake_word = [NOISE] * 50 + [NOISE + level] * 50 if word else []
        loudness.began = now
        loudness.turn = [NOISE + level * (number // 7 % 3) for number in range(175)]
        self.lost[mac] = asyncio.get_running_loop().create_future()
        return self.words.claim(mac, word, now, loudness, self.lost[mac], silent=silent)

    @property
    def listening(self) -> str:
        """The devices that have not been let go."""
        return "".join(mac for mac, lost in self.lost.items() if not lost.done())


async def test_who_listens() -> None:
    for starts in (
        # Device, word, seconds, what becomes of it.
        [("a", "hi", 0, NEW), ("b", "hi", 0.3, AGAIN), ("c", "hi", 0.6, ELSEWHERE)],
        [("a", "hi", 0, NEW), ("a", "hi", 2.1, AGAIN), ("a", "hi", 5.2, NEW)],
        [("a", "hi", 0, NEW), ("b", "hi", 2.1, NEW)],
        [("a", "hi", 0, NEW), ("b", "hello", 0.1, NEW), ("b", "hi", 0.2, AGAIN)],
        [("a", None, 0, NEW), ("b", None, 0.2, NEW), ("c", "hi", 0.3, NEW)],
    ):
        room = Room()
        assert [room.claim(mac, word, at) for mac, word, at, _ in starts] == [claim for *_, claim in starts]


async def test_the_one_that_hears_it_best_is_the_nearest() -> None:
    for starts, nearest in (
        # Device, word, seconds, dB above its noise.
        ([("a", "hi", 0, 20), ("b", "hi", 0.4, 22)], "b"),
        ([("a", "hi", 0, 20), ("b", "hi", 0.4, 20)], "a"),
        ([("a", "hi", 0, 20), ("b", "hi", 0.3, 22), ("c", "hi", 0.4, 30)], "c"),
        ([("a", "hi", 0, 20), ("b", "hello", 0.1, 30)], "ab"),
        # The first one of those that do not report a word presses its button, or hears it.
        ([("a", None, 0, 20), ("b", None, 0, 30)], "b"),
        ([("a", None, 0, 20), ("b", "hi", 0.2, 30)], "ab"),
        ([("a", None, 0, 20), ("b", None, 0.6, 30)], "ab"),
    ):
        room = Room()
        for mac, word, at, level in starts:
            room.claim(mac, word, at, level, silent=word is None)
        room.words.compare(0.5)
        room.words.compare(1)
        assert room.listening == nearest, starts


@pytest.mark.parametrize("frame_duration", [5, 10, 20, 60])
async def test_short_packets_sound_as_loud_for_as_long(command: bytes, frame_duration: int) -> None:
    whole, pieces = Loudness(deque(), 60), Loudness(deque(), frame_duration)
    whole.heard(command[:32000], 1)
    size = 32 * frame_duration
    for start in range(0, 32000, size):
        pieces.heard(command[start : start + size], start / 32000)
    assert pieces.turn == whole.turn[: len(pieces.turn)]
    assert len(pieces.turn) >= len(whole.turn) - 1


SAID = [NOISE + 20.0 * (number // 7 % 3) for number in range(175)]
SAID_BY_OTHER = [NOISE + 20.0 * (number // 5 % 2) for number in range(175)]
NO_PAUSE = [NOISE] * 20 + [NOISE + 20 + number % 9 for number in range(155)]


async def test_the_same_speech_is_answered_by_one() -> None:
    for heard, understood, nearest in (
        # What each hears, in dB; which understands it, if one does; which may answer.
        ([SAID, SAID], None, "a"),
        ([SAID, [level - 15 for level in SAID]], None, "a"),
        ([SAID, SAID_BY_OTHER], None, "ab"),
        ([SAID[:100], SAID[:100]], None, "ab"),
        ([SAID[:100], SAID[:100]], "b", "a"),
        ([SAID[:45], SAID[:45]], "b", "ab"),
        # The noise is known from before the speech, and is not what stands in for lost packets.
        ([NO_PAUSE, [max(NOISE, level + 9) if level > NOISE else NOISE for level in NO_PAUSE]], None, "b"),
        ([[0.0] * 15 + NO_PAUSE[15:], [NOISE] * 20 + [level + 9 for level in NO_PAUSE[20:]]], None, "b"),
        # Far away, there is mostly noise; with nothing else, somebody may still be going to speak.
        ([SAID, [NOISE + number % 5 + 10 * (level > 60) for number, level in enumerate(SAID)]], None, "a"),
        ([SAID, [NOISE + number % 5 for number in range(175)]], None, "ab"),
    ):
        room = Room()
        for mac, levels in zip("ab", heard, strict=True):
            room.claim(mac, None, 0, silent=True)
            room.loudness[mac].turn = levels
        if understood is None:
            room.words.compare(4)
        else:
            room.words.answer(understood, 4)
        assert room.listening == nearest


async def test_many_devices_that_hear_different_people_do_not_block_the_loop() -> None:
    room = Room()
    for number in range(8):
        room.claim(str(number), None, 0, silent=True)
        room.loudness[str(number)].turn = [NOISE + 25.0 * (at // (3 + number) % 2) for at in range(175)]
    with patch(f"{wake_word_arbitration.__name__}.likeness", wraps=likeness) as compared:
        for step in range(80):
            room.words.compare(4 + step / 80)
    assert 28 <= compared.call_count <= 6 * 28


async def test_one_that_has_understood_is_kept_and_a_refusal_counts_for_all() -> None:
    room = Room()
    room.claim("a", "hi", 0, 10)
    room.words.answer("a", 0.4)
    room.claim("b", "hi", 0.4, 30)
    room.words.compare(0.7)
    assert room.listening == "a"
    room = Room()
    room.claim("c", "hello", 0)
    room.claim("a", "hi", 0)
    assert room.claim("b", "hi", 0.2) is AGAIN
    room.words.withdraw("a")
    assert room.listening == "c"
    assert room.claim("b", "hi", 1) is NEW


async def test_which_devices_hear_a_wake_word_without_telling(boot: Boot, known: Device) -> None:
    assert hears_silently("esp32c3", (), 0)
    assert not hears_silently("esp32c3", ("hi",), 0), "one that has told of a word"
    assert not hears_silently("esp32s3", (), 9)
    assert not hears_silently(None, (), 0), "one that nothing is known of"
    # One that was built without.
    silent = get_profile("s3")
    device = await boot(replace(silent, board=replace(silent.board, sends_wake_audio=False)))
    for _ in range(11):
        await device.wake()
        await device.wait_state(State.LISTENING)
        await asyncio.sleep(1)
        await device.click()
        await device.wait_state(State.IDLE)
    state = DeviceState.from_dict(known.state.as_dict())
    assert hears_silently(state.chip, state.wake_words, state.silent_wakings)


async def test_one_that_is_answered_while_another_wakes_is_not_woken_in_vain(
    hass: HomeAssistant, known: Device, linked_entry: MockConfigEntry
) -> None:
    events = async_capture_events(hass, EVENT_UNANSWERED_WAKE_WORD)
    room = Room()
    room.words = linked_entry.runtime_data.voice.arbitration
    for at in range(0, 50, 10):
        room.claim(MAC, "hi", at)
        room.claim("a", "hello", at + 4)
        room.words.answer(MAC, at + 5)
        room.words.answer("a", at + 6)
    room.claim(MAC, "hi", 50, 30)
    room.claim("a", "hi", 50.4, 10)
    room.words.compare(51)
    assert room.listening == MAC
    assert not events


async def test_one_that_is_woken_in_vain_keeps_no_other_from_being_woken(
    hass: HomeAssistant, known: Device, linked_entry: MockConfigEntry
) -> None:
    events = async_capture_events(hass, EVENT_UNANSWERED_WAKE_WORD)
    room = Room()
    room.words = linked_entry.runtime_data.voice.arbitration
    room.claim(MAC, "hi", 0)
    # It has gone idle.
    room.words.turn_over(room.lost[MAC])
    assert room.claim("a", "hi", 1) is AGAIN
    room.words.answer("a", 2)
    for at, expected in ((10, ELSEWHERE), (20, ELSEWHERE), (30, AGAIN), (40, AGAIN)):
        room.claim(MAC, "hi", at)
        assert room.claim("a", "hi", at + 1) is expected
        room.words.answer("a", at + 2)
    room.claim(MAC, "hi", 50, 30)
    room.claim("a", "hi", 50.4, 10)
    room.words.compare(51)
    assert room.listening == "a"
    assert [event.data["name"] for event in events] == ["Box 1"]
    # One that was removed since is no error.
    for at in (52, 53, 54, 55):
        room.claim("removed", "hello", at)
    # Until it understands somebody, or for ten minutes.
    room.claim(MAC, "hi", 60)
    room.words.answer(MAC, 61)
    room.claim(MAC, "hi", 70)
    assert room.claim("a", "hi", 71) is ELSEWHERE
