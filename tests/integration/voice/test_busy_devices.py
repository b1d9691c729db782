"""A device runs a tool, which keeps its main task busy, when it is to be answered: nothing is lost."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress

from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.gateway import Gateway
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import Misbehaviour, SimulatedDevice, State, get_profile
from tests.integration.both_links import MACS, paired_on_both, word_for
from tests.integration.boxes import CLIENT_ID, COMMAND, Boot, Speech

VOLUME = "self.audio_speaker.set_volume"
PHOTO = "self.camera.take_photo"
STATUS = "self.get_device_status"
# The simulated device's own time runs fifty times as fast: 1.5 s.
SLOW = 75
ANSWER = "This is what you wanted to know."

type Run = Callable[[Device, SimulatedDevice], Awaitable[None]]


@pytest.fixture
def link() -> LinkKind:
    """The gateway offers MQTT; a device may want the other link."""
    return LinkKind.MQTT


@pytest.fixture
def paired() -> tuple[ConfigSubentryData, ...]:
    """A device on each link."""
    return paired_on_both()


@pytest.fixture
async def devices(boot: Boot) -> dict[LinkKind, SimulatedDevice]:
    """A device with camera and lights on each link."""
    profile = get_profile("rover")
    devices = {kind: await boot(profile, mac=mac, client_id=CLIENT_ID) for kind, mac in MACS.items()}
    # On MQTT, its status is read as soon as it is connected.
    await asyncio.sleep(1)
    return devices


@pytest.fixture
async def assistant(speech: Speech) -> AsyncGenerator[Speech]:
    """A language model answers, as soon as speech recognition may go on."""
    await speech.use(conversation_engine=speech.agent.entity_id)
    speech.recognizer.lines = [COMMAND] * 2
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


async def call(tool: str, known: Device, device: SimulatedDevice) -> None:
    """Have an automation call a slow tool."""

    async def run() -> None:
        with suppress(HomeAssistantError):
            await known.commands.call_tool(
                tool, {"volume": 40} if tool == VOLUME else {"question": "Who is it?"}
            )

    device.tool_seconds[tool] = SLOW
    before = len(tools_run(device))
    known.create_task(run(), "slow call")
    await device.wait_for(lambda: len(tools_run(device)) > before, 10)


async def act(known: Device, device: SimulatedDevice) -> None:
    await call(VOLUME, known, device)


async def take_photo(known: Device, device: SimulatedDevice) -> None:
    await call(PHOTO, known, device)


async def list_tools(_known: Device, device: SimulatedDevice) -> None:
    device.notify("notifications/tools/list_changed")


async def poll(known: Device, device: SimulatedDevice) -> None:
    """Have everything polled that is slow, as soon as it may be."""
    for tool in known.tools:
        if ".get_" in tool:
            device.tool_seconds[tool] = SLOW
    known.commands.read_regularly(STATUS)


async def use_tool(_known: Device, device: SimulatedDevice) -> None:
    """Slow down a tool that the assistant calls in this very turn."""
    device.tool_seconds[VOLUME] = SLOW


RUNS: dict[str, Run] = {
    "action": act,
    "photo": take_photo,
    "list": list_tools,
    "poll": poll,
    "assistant": use_tool,
}


async def ask(
    assistant: Speech,
    gateway: Gateway,
    devices: dict[LinkKind, SimulatedDevice],
    command: bytes,
    run: Run,
    *,
    early: bool = False,
) -> None:
    """Say something to both devices, and have something run on them when they are about to answer.

    They have been told to speak then, but not if it is `early`: before the end of speech has been found.
    """
    if run is use_tool:
        # The first to be asked takes it.
        assistant.agent.uses = [
            llm.ToolInput(tool_name="xiaozhi__audio_speaker_set_volume", tool_args={"volume": 40})
        ]

    async def wake(kind: LinkKind, device: SimulatedDevice) -> None:
        await device.wake(word_for(kind))
        device.say(command)
        await device.wait_said()

    async def run_on_both() -> None:
        await asyncio.gather(*(run(gateway.devices[MACS[kind]], device) for kind, device in devices.items()))

    await asyncio.gather(*(wake(kind, device) for kind, device in devices.items()))
    if early:
        await run_on_both()
    for _ in devices:
        await assistant.recognizer.ended.get()
    if not early:
        await run_on_both()
    assistant.recognizer.may_go_on.set()


def shown_for(device: SimulatedDevice, text: str) -> float:
    """Return how many seconds a caption was there before the device went idle."""
    shown = next(event.time for event in device.transcript if event.data.get("text") == text)
    return next(
        event.time - shown
        for event in device.transcript
        if event.time >= shown and event.kind == "state" and event.data["state"] == State.IDLE.value
    )


def assert_nothing_lost(device: SimulatedDevice) -> None:
    speaker = device.speaker
    assert (speaker.ignored, speaker.dropped, speaker.flushed, speaker.failed) == (0, 0, 0, 0)


@pytest.mark.parametrize("early", [False, True], ids=["late", "early"])
@pytest.mark.parametrize("runs", RUNS)
async def test_a_spoken_answer_waits_for_what_runs(
    assistant: Speech,
    devices: dict[LinkKind, SimulatedDevice],
    linked_entry: MockConfigEntry,
    command: bytes,
    subtests: pytest.Subtests,
    runs: str,
    early: bool,
) -> None:
    assistant.agent.lines = [ANSWER] * 2
    await ask(assistant, linked_entry.runtime_data, devices, command, RUNS[runs], early=early)
    for kind, device in devices.items():
        with subtests.test(str(kind)):
            await device.wait_state(State.IDLE, 20)
            await device.wait_played()
            assert_nothing_lost(device)
            assert len(ANSWER) / 20 <= device.played_seconds < len(ANSWER) / 20 + 0.2
            assert not [name for name in tools_run(device, State.LISTENING) if ".get_" in name]


@pytest.mark.parametrize("runs", RUNS)
async def test_a_question_back_waits_for_what_runs_and_the_device_listens_again(
    assistant: Speech,
    devices: dict[LinkKind, SimulatedDevice],
    linked_entry: MockConfigEntry,
    command: bytes,
    subtests: pytest.Subtests,
    runs: str,
) -> None:
    assistant.agent.lines = [f"{ANSWER} Which one?"] * 2
    await ask(assistant, linked_entry.runtime_data, devices, command, RUNS[runs])
    for kind, device in devices.items():
        with subtests.test(str(kind)):
            await device.wait_for(lambda device=device: device.played_seconds > len(ANSWER) / 20, 20)
            await device.wait_for(lambda device=device: device.listening, 20)
            assert_nothing_lost(device)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("says", ["text only", "error"])
async def test_a_text_stays_to_be_read_after_what_runs(
    assistant: Speech,
    devices: dict[LinkKind, SimulatedDevice],
    linked_entry: MockConfigEntry,
    command: bytes,
    subtests: pytest.Subtests,
    runs: str,
    says: str,
) -> None:
    assistant.agent.lines = [ANSWER] * 2
    text = ANSWER
    if says == "error":
        assistant.recognizer.lines = [None] * 2
        text = "Something went wrong. See the voice assistant's debug page in Home Assistant."
    else:
        await assistant.use(tts_engine=None)
    await ask(assistant, linked_entry.runtime_data, devices, command, RUNS[runs])
    for kind, device in devices.items():
        with subtests.test(str(kind)):
            await device.wait_state(State.IDLE, 20)
            assert device.screen.captions == [text]
            assert shown_for(device, text) > 0.25


async def test_a_call_that_is_given_up_by_its_caller_is_still_waited_for(
    assistant: Speech,
    devices: dict[LinkKind, SimulatedDevice],
    linked_entry: MockConfigEntry,
    command: bytes,
    subtests: pytest.Subtests,
    hass: HomeAssistant,
) -> None:
    """As when an automation is started again: the device runs the tool to its end."""
    assistant.agent.lines = [ANSWER] * 2

    async def give_up(known: Device, device: SimulatedDevice) -> None:
        device.tool_seconds[VOLUME] = SLOW
        running = hass.async_create_task(known.commands.call_tool(VOLUME, {"volume": 40}))
        await device.wait_for(lambda: VOLUME in tools_run(device), 10)
        running.cancel()

    await ask(assistant, linked_entry.runtime_data, devices, command, give_up)
    for kind, device in devices.items():
        with subtests.test(str(kind)):
            await device.wait_state(State.IDLE, 20)
            assert_nothing_lost(device)


async def test_a_tool_that_never_answers_delays_an_answer_only_until_its_call_is_given_up(
    assistant: Speech,
    devices: dict[LinkKind, SimulatedDevice],
    linked_entry: MockConfigEntry,
    command: bytes,
    subtests: pytest.Subtests,
) -> None:
    assistant.agent.lines = [ANSWER] * 2
    given_up: dict[str, float] = {}

    async def call_in_vain(known: Device, device: SimulatedDevice) -> None:
        async def run() -> None:
            with pytest.raises(HomeAssistantError):
                await known.commands.call_tool(VOLUME, {"volume": 40})
            given_up[device.mac] = asyncio.get_running_loop().time()

        device.misbehaviours.add(Misbehaviour.NEVER_ANSWER_MCP)
        known.create_task(run(), "call in vain")

    await ask(assistant, linked_entry.runtime_data, devices, command, call_in_vain, early=True)
    for kind, device in devices.items():
        with subtests.test(str(kind)):
            await device.wait_state(State.IDLE, 20)
            await device.wait_played()
            assert_nothing_lost(device)
            assert device.played_seconds >= len(ANSWER) / 20
            first_packet = device.speaker.answers[-1][0]
            assert given_up[device.mac] <= first_packet < given_up[device.mac] + 6
