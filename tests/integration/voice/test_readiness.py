"""The device is told to speak as soon as the user has finished, and is spoken to as soon as it speaks."""

import asyncio

import pytest

from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import ListeningMode, Misbehaviour, Pace, SimulatedDevice, State, converse, get_profile
from tests.integration.boxes import COMMAND, Boot, Speech, assert_nothing_lost, mac_of, paired_boxes, say

LINK = LinkKind.MQTT

STATUS = "self.get_device_status"
QUICK = Pace(waits=0.02, timeouts=1, main_loop_delay=0.01)


def time_of(device: SimulatedDevice, **data: object) -> float:
    """Return when the device was last sent a message, in seconds since its start."""
    return next(
        event.time
        for event in reversed(device.transcript)
        if event.kind == "received" and data.items() <= event.data["message"].items()
    )


def first_packet(device: SimulatedDevice) -> float:
    """Return when the device was last begun to be spoken to, in seconds since its start."""
    return device.seconds_at(device.speaker.answers[-1][0])


def spoken_to_after(device: SimulatedDevice) -> float:
    """Return the seconds from the last `tts start` to the first packet."""
    return first_packet(device) - time_of(device, type="tts", state="start")


async def test_a_device_is_waited_for_as_long_as_its_main_task_takes(
    speech: Speech, boot: Boot, command: bytes
) -> None:
    """It takes 0.3 s to enter `speaking`, and as long again to flush its play queue."""
    speech.recognizer.lines = [COMMAND]
    device = await boot(pace=Pace(waits=0.02, timeouts=1, main_loop_delay=0.3))
    await converse(device, command)
    assert 0.55 < spoken_to_after(device) < 1.5
    assert_nothing_lost(device)


VERSIONS = ["1.6.2", "1.6.6", "1.9.4", "2.0.0", "2.2.2", "2.4.2"]
PROFILES = [
    *(get_profile("s3", version) for version in VERSIONS),
    get_profile("s3", mode=ListeningMode.REALTIME),
    # The last, since it does not tell of its wake word, which might be that of the others.
    get_profile("c3"),
]


@pytest.mark.parametrize("paired", [paired_boxes(len(PROFILES))], ids=["together"])
async def test_every_kind_of_device_plays_the_whole_answer(
    speech: Speech, boot: Boot, command: bytes, subtests: pytest.Subtests
) -> None:
    """Also those whose main task is slow, as far as they have a tool that can prove when they speak."""
    speech.recognizer.lines = [COMMAND] * len(PROFILES)
    devices = [
        await boot(
            profile,
            mac=mac_of(number),
            pace=Pace(waits=0.02, timeouts=1, main_loop_delay=0.05 if profile.version == "1.6.2" else 0.15),
        )
        for number, profile in enumerate(PROFILES, 1)
    ]

    async def talk(device: SimulatedDevice) -> float:
        await asyncio.sleep(3 if device.profile.board.sends_wake_audio else 0)
        return (await converse(device, command, word=device.mac)).played_seconds

    played = await asyncio.gather(*(talk(device) for device in devices))
    for device, seconds in zip(devices, played, strict=True):
        with subtests.test(f"{device.profile.board.name} {device.profile.version}"):
            assert_nothing_lost(device)
            assert 0.9 <= seconds < 1.3
            asked = STATUS in [event["name"] for event in device.events("tool")]
            assert asked is (device.profile.version != "1.6.2")


async def test_it_is_told_to_speak_before_the_words_are_understood(
    speech: Speech, boot: Boot, command: bytes
) -> None:
    speech.recognizer.may_go_on.clear()
    speech.recognizer.lines = [COMMAND]
    device = await boot(pace=QUICK)
    await device.wake()
    device.say(command)
    await device.wait_state(State.SPEAKING, 20)
    assert "thinking" in device.screen.emotions
    speech.recognizer.may_go_on.set()
    await device.wait_state(State.IDLE, 20)
    assert first_packet(device) - time_of(device, type="stt") < 0.1
    told = [event["message"].get("state") for event in device.events("received")]
    assert told.count("start") == 1
    assert_nothing_lost(device)


async def test_a_device_that_gives_no_proof_is_spoken_to_after_a_pause(
    speech: Speech, boot: Boot, command: bytes
) -> None:
    await speech.answer_with("Done.")
    device = await boot(pace=QUICK)
    await device.wait_for(lambda: device.connected, 5)
    await asyncio.sleep(1)
    device.misbehaviours.add(Misbehaviour.NEVER_ANSWER_MCP)
    await say(device, command)
    assert 5 <= spoken_to_after(device) < 6
    assert_nothing_lost(device)
