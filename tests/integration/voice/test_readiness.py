"""The device is told to speak as soon as the user has finished, and is spoken to as soon as it speaks."""

import asyncio
from collections.abc import Generator

from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import HomeAssistant
import pytest

from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import Misbehaviour, Pace, SimulatedDevice, State, converse, get_profile
from tests.integration.both_links import (
    MACS,
    converse_with_both,
    paired_on_both,
    say_to_both,
    states_of_both,
    word_for,
)
from tests.integration.boxes import COMMAND, Boot, Speech, mac_of, paired_boxes

STATUS = "self.get_device_status"


@pytest.fixture
def link() -> LinkKind:
    """The gateway offers MQTT; a device may want the other link."""
    return LinkKind.MQTT


@pytest.fixture
def paired() -> tuple[ConfigSubentryData, ...]:
    """A device on each link."""
    return paired_on_both()


@pytest.fixture
def both_states(hass: HomeAssistant) -> Generator[dict[LinkKind, list[str]]]:
    """The states of both satellites."""
    with states_of_both(hass) as seen:
        yield seen


async def boot_slow(boot: Boot, seconds: float = 0.3, waits: float = 0.02) -> dict[LinkKind, SimulatedDevice]:
    """Switch on a device on each link whose main task takes so long for each pass."""
    pace = Pace(waits=waits, timeouts=1, main_loop_delay=seconds)
    return {kind: await boot(mac=mac, pace=pace) for kind, mac in MACS.items()}


def time_of(device: SimulatedDevice, **data: object) -> float:
    """Return when the device was last sent a message, in seconds since its start."""
    return next(
        event.time
        for event in reversed(device.transcript)
        if event.kind == "received" and data.items() <= event.data["message"].items()
    )


def spoken_to_after(device: SimulatedDevice) -> float:
    """Return the seconds from the last `tts start` to the first packet."""
    return device.seconds_at(device.speaker.answers[-1][0]) - time_of(device, type="tts", state="start")


def assert_nothing_lost(device: SimulatedDevice) -> None:
    speaker = device.speaker
    assert (speaker.ignored, speaker.dropped, speaker.flushed, speaker.failed) == (0, 0, 0, 0)


async def test_a_quick_device_is_not_waited_for(
    speech: Speech, boot: Boot, command: bytes, subtests: pytest.Subtests
) -> None:
    speech.recognizer.lines = [COMMAND] * 2
    devices = await boot_slow(boot, 0.01)
    await converse_with_both(devices, command)
    for kind, device in devices.items():
        with subtests.test(str(kind)):
            assert spoken_to_after(device) < 0.15
            assert_nothing_lost(device)


async def test_a_slow_device_hears_the_whole_answer(
    speech: Speech, boot: Boot, command: bytes, subtests: pytest.Subtests
) -> None:
    """Its main task takes 0.3 s to enter `speaking`, and as long again to flush its play queue."""
    speech.recognizer.lines = [COMMAND] * 2
    devices = await boot_slow(boot)
    talks = await converse_with_both(devices, command)
    for kind, device in devices.items():
        with subtests.test(str(kind)):
            assert 0.55 < spoken_to_after(device) < 1.5
            assert_nothing_lost(device)
            assert talks[kind].played_seconds >= 0.9


VERSIONS = ["1.6.2", "1.6.6", "1.7.0", "1.9.1", "1.9.4", "2.0.0", "2.0.5", "2.1.0", "2.2.2", "2.3.0", "2.4.2"]


@pytest.mark.parametrize("paired", [paired_boxes(len(VERSIONS))], ids=["together"])
async def test_every_firmware_hears_the_whole_answer(
    speech: Speech, boot: Boot, command: bytes, subtests: pytest.Subtests
) -> None:
    """Also those whose main task is slow, as far as they have a tool that can prove when they speak."""
    speech.recognizer.lines = [COMMAND] * len(VERSIONS)
    devices = [
        await boot(
            get_profile("s3", version),
            mac=mac_of(number),
            pace=Pace(waits=0.02, timeouts=1, main_loop_delay=0.05 if version == "1.6.2" else 0.15),
        )
        for number, version in enumerate(VERSIONS, 1)
    ]
    talks = await asyncio.gather(*(converse(device, command, word=device.mac) for device in devices))
    for version, device, talk in zip(VERSIONS, devices, talks, strict=True):
        with subtests.test(version):
            assert_nothing_lost(device)
            assert 0.9 <= talk.played_seconds < 1.3
            asked = STATUS in [event["name"] for event in device.events("tool")]
            assert asked is (version != "1.6.2")


async def test_it_is_told_to_speak_before_the_words_are_understood(
    speech: Speech, boot: Boot, command: bytes, subtests: pytest.Subtests
) -> None:
    speech.recognizer.may_go_on.clear()
    speech.recognizer.lines = [COMMAND] * 2
    devices = await boot_slow(boot, 0.01)

    async def ask(kind: LinkKind, device: SimulatedDevice) -> None:
        await device.wake(word_for(kind))
        device.say(command)
        await device.wait_state(State.SPEAKING, 20)
        assert "thinking" in device.screen.emotions

    await asyncio.gather(*(ask(kind, device) for kind, device in devices.items()))
    speech.recognizer.may_go_on.set()
    for kind, device in devices.items():
        with subtests.test(str(kind)):
            await device.wait_state(State.IDLE, 20)
            first_packet = device.seconds_at(device.speaker.answers[-1][0])
            assert first_packet - time_of(device, type="stt") < 0.1
            told = [event["message"].get("state") for event in device.events("received")]
            assert told.count("start") == 1
            assert_nothing_lost(device)


async def test_nothing_understood_ends_as_if_it_had_not_been_told_to_speak(
    speech: Speech,
    boot: Boot,
    command: bytes,
    subtests: pytest.Subtests,
    both_states: dict[LinkKind, list[str]],
) -> None:
    speech.recognizer.lines = [""] * 2
    devices = await boot_slow(boot, 0.01)
    await say_to_both(devices, command)
    for kind, device in devices.items():
        with subtests.test(str(kind)):
            assert device.screen.captions == ["Sorry, I did not understand that."]
            assert both_states[kind] == ["listening", "idle"]
            assert not device.listening
            states = [event["state"] for event in device.events("state")]
            assert states[-3:] == ["listening", "speaking", "idle"]


async def test_while_the_talk_button_is_held_the_device_is_not_told_to_speak(
    speech: Speech, boot: Boot, command: bytes, subtests: pytest.Subtests
) -> None:
    """It would stop recording, and would not tell when the button is released."""
    speech.recognizer.may_go_on.clear()
    speech.recognizer.lines = [COMMAND] * 2
    # At a quicker pace the channel would be stale before the button is released.
    devices = await boot_slow(boot, 0.01, waits=1)

    async def hold(device: SimulatedDevice) -> None:
        await device.press()
        device.say(command)
        await device.wait_said()
        await speech.recognizer.ended.get()
        await asyncio.sleep(0.5)
        assert device.state is State.LISTENING
        await device.release()

    # Speech recognition takes no more of it before the button is released.
    await asyncio.gather(*(hold(device) for device in devices.values()))
    speech.recognizer.may_go_on.set()
    for kind, device in devices.items():
        with subtests.test(str(kind)):
            await device.wait_for(lambda device=device: not device.channel_open, 20)
            assert_nothing_lost(device)
            assert device.played_seconds > 0.9


LATE = (3.0, 0.8, 1.5, 2.5)


async def test_a_main_task_that_is_late_once_and_again_loses_nothing(
    speech: Speech, boot: Boot, command: bytes, subtests: pytest.Subtests
) -> None:
    """One slow moment is no reason not to ask again: on MQTT, a link lasts for days."""
    await speech.use(conversation_engine=speech.agent.entity_id)
    answer = "Three seconds are spoken of a long answer such as this one is"
    speech.agent.lines = [*[f"{answer}?"] * 2 * (len(LATE) - 1), *[f"{answer}."] * 2]
    speech.recognizer.lines = [COMMAND] * 2 * len(LATE)
    devices = await boot_slow(boot, 0.01)

    async def ask(kind: LinkKind, device: SimulatedDevice) -> list[int]:
        lost = []
        await device.wake(word_for(kind))
        for number, seconds in enumerate(LATE, 1):
            await device.wait_state(State.LISTENING, 30)
            before = device.speaker.ignored + device.speaker.flushed
            device.late_to_speak = seconds
            device.say(command)
            await device.wait_state(State.SPEAKING, 30)
            await device.wait_state(State.LISTENING if number < len(LATE) else State.IDLE, 30)
            lost.append(device.speaker.ignored + device.speaker.flushed - before)
        return lost

    losses = await asyncio.gather(*(ask(kind, device) for kind, device in devices.items()))
    for lost, (kind, device) in zip(losses, devices.items(), strict=True):
        with subtests.test(str(kind)):
            assert lost == [0] * len(LATE)
            assert_nothing_lost(device)


async def test_a_device_that_gives_no_proof_is_spoken_to_after_a_pause(
    speech: Speech, boot: Boot, command: bytes, subtests: pytest.Subtests
) -> None:
    await speech.use(conversation_engine=speech.agent.entity_id)
    speech.agent.lines = ["Done."] * 2
    speech.recognizer.lines = [COMMAND] * 2
    devices = await boot_slow(boot, 0.01)
    for device in devices.values():
        await device.wait_for(lambda device=device: device.connected or device.link == "websocket", 5)
    await asyncio.sleep(1)

    async def ask(kind: LinkKind, device: SimulatedDevice) -> None:
        await device.wake(word_for(kind))
        await asyncio.sleep(0.5)
        device.misbehaviours.add(Misbehaviour.NEVER_ANSWER_MCP)
        device.say(command)
        await device.wait_state(State.IDLE, 20)

    await asyncio.gather(*(ask(kind, device) for kind, device in devices.items()))
    for kind, device in devices.items():
        with subtests.test(str(kind)):
            assert 5 <= spoken_to_after(device) < 6
            assert_nothing_lost(device)
