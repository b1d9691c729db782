"""A device runs a tool, which keeps its main task busy, when it is to be answered: nothing is lost."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress

from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
import pytest

from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import Misbehaviour, SimulatedDevice, State, get_profile
from tests.integration.boxes import Boot, Speech, assert_nothing_lost

LINK = LinkKind.MQTT

VOLUME = "self.audio_speaker.set_volume"
STATUS = "self.get_device_status"
# The simulated device's own time runs fifty times as fast: 1.5 s.
SLOW = 75
ANSWER = "This is what you wanted to know."

type Run = Callable[[Device, SimulatedDevice], Awaitable[None]]


@pytest.fixture
async def device(boot: Boot) -> SimulatedDevice:
    """A device with camera and lights."""
    device = await boot(get_profile("rover"))
    # Its status is read as soon as it is connected.
    await asyncio.sleep(1)
    return device


@pytest.fixture
async def assistant(speech: Speech) -> AsyncGenerator[Speech]:
    """A language model answers, as soon as speech recognition may go on."""
    await speech.answer_with(ANSWER)
    speech.recognizer.may_go_on.clear()
    yield speech
    speech.recognizer.may_go_on.set()


def tools_run(device: SimulatedDevice, state: State | None = None) -> list[str]:
    """Return the tools that the device began to run, all or those in a state."""
    now, names = State.UNKNOWN.value, []
    for event in device.transcript:
        if event.kind == "state":
            now = event.data["state"]
        elif event.kind == "tool" and state in {None, now}:
            names.append(event.data["name"])
    return names


async def act(known: Device, device: SimulatedDevice) -> None:
    """Have an automation call a slow tool."""

    async def run() -> None:
        with suppress(HomeAssistantError):
            await known.commands.call_tool(VOLUME, {"volume": 40})

    device.tool_seconds[VOLUME] = SLOW
    known.create_task(run(), "slow call")
    await device.wait_for(lambda: VOLUME in tools_run(device), 10)


async def use_tool(_known: Device, device: SimulatedDevice) -> None:
    """Slow down a tool that the assistant calls in this very turn."""
    device.tool_seconds[VOLUME] = SLOW


async def give_up(known: Device, device: SimulatedDevice) -> None:
    """Cancel a call, as when an automation is started again: the device runs the tool to its end."""
    device.tool_seconds[VOLUME] = SLOW
    running = asyncio.create_task(known.commands.call_tool(VOLUME, {"volume": 40}))
    await device.wait_for(lambda: VOLUME in tools_run(device), 10)
    running.cancel()


async def ask(
    assistant: Speech,
    known: Device,
    device: SimulatedDevice,
    command: bytes,
    run: Run,
    *,
    early: bool = False,
) -> None:
    """Say something, and have something run on the device when it is about to answer.

    It has been told to speak then, but not if it is `early`: before the end of speech has been found.
    """
    if run is use_tool:
        assistant.agent.uses = [
            llm.ToolInput(tool_name="xiaozhi__audio_speaker_set_volume", tool_args={"volume": 40})
        ]
    await device.wake()
    device.say(command)
    await device.wait_said()
    if early:
        await run(known, device)
    await assistant.recognizer.ended.get()
    if not early:
        await run(known, device)
    assistant.recognizer.may_go_on.set()


@pytest.mark.parametrize(("run", "early"), [(act, False), (use_tool, False), (give_up, False), (act, True)])
async def test_a_spoken_answer_waits_for_what_runs(
    assistant: Speech, device: SimulatedDevice, known: Device, command: bytes, run: Run, early: bool
) -> None:
    await ask(assistant, known, device, command, run, early=early)
    await device.wait_state(State.IDLE, 20)
    await device.wait_played()
    assert_nothing_lost(device)
    assert len(ANSWER) / 20 <= device.played_seconds < len(ANSWER) / 20 + 0.2
    assert not [name for name in tools_run(device, State.LISTENING) if ".get_" in name]


async def test_a_question_back_waits_for_what_runs_and_the_device_listens_again(
    assistant: Speech, device: SimulatedDevice, known: Device, command: bytes
) -> None:
    assistant.agent.lines = [f"{ANSWER} Which one?"]
    await ask(assistant, known, device, command, use_tool)
    await device.wait_for(lambda: device.played_seconds > len(ANSWER) / 20, 20)
    await device.wait_for(lambda: device.listening, 20)
    assert_nothing_lost(device)


async def test_a_text_stays_to_be_read_after_what_runs(
    assistant: Speech, device: SimulatedDevice, known: Device, command: bytes
) -> None:
    assistant.recognizer.lines = [None]
    text = "Something went wrong. See the voice assistant's debug page in Home Assistant."
    await ask(assistant, known, device, command, act)
    await device.wait_state(State.IDLE, 20)
    assert device.screen.captions == [text]
    shown = next(event.time for event in device.transcript if event.data.get("text") == text)
    idle = next(
        event.time
        for event in device.transcript
        if event.time >= shown and event.kind == "state" and event.data["state"] == State.IDLE.value
    )
    assert idle - shown > 0.25


async def test_a_tool_that_never_answers_delays_an_answer_only_until_its_call_is_given_up(
    assistant: Speech, device: SimulatedDevice, known: Device, command: bytes
) -> None:
    given_up = 0.0

    async def call_in_vain(known: Device, device: SimulatedDevice) -> None:
        async def run() -> None:
            nonlocal given_up
            with pytest.raises(HomeAssistantError):
                await known.commands.call_tool(VOLUME, {"volume": 40})
            given_up = asyncio.get_running_loop().time()

        device.misbehaviours.add(Misbehaviour.NEVER_ANSWER_MCP)
        known.create_task(run(), "call in vain")

    await ask(assistant, known, device, command, call_in_vain, early=True)
    await device.wait_state(State.IDLE, 20)
    await device.wait_played()
    assert_nothing_lost(device)
    assert device.played_seconds >= len(ANSWER) / 20
    assert given_up <= device.speaker.answers[-1][0] < given_up + 6
