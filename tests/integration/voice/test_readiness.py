"""The device is told to speak as soon as the user has finished, and is spoken to as soon as it speaks."""

import asyncio

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
import pytest

from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import ListeningMode, Misbehaviour, Pace, SimulatedDevice, State, converse, get_profile
from tests.integration.boxes import Speech, assert_nothing_lost, introduce, mac_of, paired_boxes
from tests.integration.names import COMMAND, Boot

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


@pytest.mark.parametrize("link", LinkKind)
async def test_a_device_without_proof_is_waited_for_three_times_on_either_link(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes
) -> None:
    """On a WebSocket, each conversation is a new link."""
    speech.recognizer.lines = [COMMAND] * 4
    device = await boot(pace=QUICK)
    await introduce(hass, device)
    device.misbehaviours.add(Misbehaviour.NEVER_ANSWER_MCP)
    waits = []
    for number in range(4):
        await converse(device, command, word=f"hello {number}")
        waits.append(first_packet(device) - time_of(device, type="stt"))
        await asyncio.sleep(3)
    assert [wait > 4 for wait in waits] == [True, True, True, False], waits


VOLUME = "self.audio_speaker.set_volume"

# The simulated device's own time runs fifty times as fast: 1.5 s.
SLOW = 75
ANSWER = "This is what you wanted to know."


def tools_run(device: SimulatedDevice, state: State | None = None) -> list[str]:
    """Return the tools that the device began to run, all or those in a state."""
    now, names = State.UNKNOWN.value, []
    for event in device.transcript:
        if event.kind == "state":
            now = event.data["state"]
        elif event.kind == "tool" and state in {None, now}:
            names.append(event.data["name"])
    return names


@pytest.mark.parametrize("call", ["by an automation", "early", "by the assistant", "given up", "in vain"])
async def test_a_spoken_answer_waits_for_what_runs(
    speech: Speech, boot: Boot, known: Device, command: bytes, call: str
) -> None:
    """It begins when the device has been told to speak, or `early`: before the end of speech has been found.

    A tool that never answers delays an answer only until its call is given up.
    """
    await speech.answer_with(ANSWER)
    speech.recognizer.may_go_on.clear()
    device = await boot(get_profile("rover"))
    # Its status is read as soon as it is connected.
    await asyncio.sleep(1)
    device.tool_seconds[VOLUME] = SLOW
    given_up: list[float] = []
    calls: list[asyncio.Task[None]] = []

    async def use() -> None:
        try:
            await known.commands.call_tool(VOLUME, {"volume": 40})
        except HomeAssistantError:
            given_up.append(asyncio.get_running_loop().time())

    async def begin() -> None:
        if call == "by the assistant":
            return
        calls.append(asyncio.create_task(use()))
        if call != "in vain":
            await device.wait_for(lambda: VOLUME in tools_run(device), 10)
        if call == "given up":
            # As when an automation is started again: the device runs the tool to its end.
            calls[0].cancel()

    if call == "in vain":
        device.misbehaviours.add(Misbehaviour.NEVER_ANSWER_MCP)
    if call == "by the assistant":
        name, arguments = "xiaozhi__audio_speaker_set_volume", {"volume": 40}
        speech.agent.uses = [llm.ToolInput(tool_name=name, tool_args=arguments)]
    await device.wake()
    device.say(command)
    await device.wait_said()
    if call in {"early", "in vain"}:
        await begin()
    await speech.recognizer.ended.get()
    if call not in {"early", "in vain"}:
        await begin()
    speech.recognizer.may_go_on.set()
    await device.wait_state(State.IDLE, 20)
    await device.wait_played()
    assert_nothing_lost(device)
    assert device.played_seconds >= len(ANSWER) / 20
    if call == "in vain":
        assert given_up[0] <= device.speaker.answers[-1][0] < given_up[0] + 6
    else:
        assert device.played_seconds < len(ANSWER) / 20 + 0.2
        assert not [name for name in tools_run(device, State.LISTENING) if ".get_" in name]
