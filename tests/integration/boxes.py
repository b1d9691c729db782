"""A paired, simulated device on a real link, and an Assist pipeline around scripted speech engines."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from homeassistant.components.assist_pipeline import async_get_pipelines, async_update_pipeline
from homeassistant.config_entries import ConfigEntry, ConfigSubentryData
from homeassistant.core import (
    Context,
    Event,
    EventStateChangedData,
    HomeAssistant,
    State as EntityState,
    SupportsResponse,
    callback,
)
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import issue_registry as ir
from homeassistant.helpers.entity_platform import async_get_platforms
from homeassistant.helpers.event import async_track_state_change_event
import pytest

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.logbook import async_describe_events
from simulator import SimulatedDevice, State
from tests.integration.http_device import paired_device
from tests.integration.names import CLIENT_ID, COMMAND, MAC, OTHER_MAC, OTHER_SATELLITE, SATELLITE, VOLUME
from tests.integration.provisioning.forms import texts
from tests.integration.speech import (
    ScriptedAgent,
    ScriptedSpeechToText,
    ScriptedTextToSpeech,
    StreamingTextToSpeech,
    spoken_command,
)


@dataclass
class Speech:
    """The engines of the preferred pipeline, which answers commands by itself until `use` says otherwise."""

    hass: HomeAssistant
    recognizer: ScriptedSpeechToText
    voice: ScriptedTextToSpeech
    streaming_voice: StreamingTextToSpeech
    agent: ScriptedAgent

    @property
    def command(self) -> bytes:
        """The usual command, spoken."""
        return spoken_command()

    async def use(self, **engines: str | None) -> None:
        """Change the pipeline."""
        await async_update_pipeline(self.hass, async_get_pipelines(self.hass)[0], **engines)

    async def answer_with(self, *lines: str, heard: Iterable[str | None] = (COMMAND,)) -> None:
        """Let the agent answer with these lines what the recognizer hears."""
        self.recognizer.lines = [*heard]
        self.agent.lines = [*lines]
        await self.use(conversation_engine=self.agent.entity_id)


def entity_of(hass: HomeAssistant, entity_id: str) -> Any:
    """Return the entity with this id, for its methods that no action calls."""
    return next(
        platform.entities[entity_id]
        for platform in async_get_platforms(hass, DOMAIN)
        if entity_id in platform.entities
    )


def mac_of(number: int) -> str:
    """Return the MAC of one of many devices; that of number 1 is `MAC`."""
    return f"{MAC[:-2]}{number:02x}"


def mqtt_client_id(mac: str) -> str:
    """Return the client id that a device has at our own MQTT endpoint."""
    return mac.replace(":", "")


TWO_DEVICES = pytest.mark.parametrize(
    "paired",
    [(paired_device(MAC, CLIENT_ID), paired_device(OTHER_MAC, CLIENT_ID, title="Bedroom box"))],
    ids=["two"],
)


BOTH = [SATELLITE, OTHER_SATELLITE]


def paired_boxes(count: int) -> tuple[ConfigSubentryData, ...]:
    """Return as many paired devices, for tests in which many talk at the same time."""
    return tuple(
        paired_device(mac_of(number), CLIENT_ID, title=f"Box {number}") for number in range(1, count + 1)
    )


async def wait_for_state(hass: HomeAssistant, entity_id: str, state: str, seconds: float = 5) -> None:
    there = asyncio.Event()

    @callback
    def changed(event: Event[EventStateChangedData]) -> None:
        if (new := event.data["new_state"]) and new.state == state:
            there.set()

    stop = async_track_state_change_event(hass, [entity_id], changed)
    try:
        if not hass.states.is_state(entity_id, state):
            async with asyncio.timeout(seconds):
                await there.wait()
    finally:
        stop()


def state_of(hass: HomeAssistant, entity_id: str) -> EntityState:
    state = hass.states.get(entity_id)
    assert state is not None, entity_id
    return state


def alerts(device: SimulatedDevice) -> list[dict[str, Any]]:
    """Return the texts with a sound that a device was sent."""
    received = [event["message"] for event in device.events("received")]
    return [message for message in received if message.get("type") == "alert"]


def activity(hass: HomeAssistant, event_type: str) -> list[str]:
    """Return a list that grows with each line that an event makes in the activity."""
    lines: list[str] = []

    def describe(_domain: str, kind: str, line_of: Callable[[Event], dict[str, str]]) -> None:
        if kind == event_type:
            hass.bus.async_listen(kind, callback(lambda event: lines.append(line_of(event)["message"])))

    async_describe_events(hass, describe)
    return lines


async def failure_of(doing: Awaitable[object]) -> str | None:
    """Wait for something that Home Assistant refuses or cannot do, and return the key of what it says."""
    with pytest.raises(HomeAssistantError) as failure:
        await doing
    return failure.value.translation_key


def change_settings(hass: HomeAssistant, entry: ConfigEntry, **settings: object) -> None:
    for subentry in entry.subentries.values():
        hass.config_entries.async_update_subentry(entry, subentry, data={**subentry.data, **settings})


def open_issues(hass: HomeAssistant) -> list[ir.IssueEntry]:
    """Return the open issues of the integration, except the one about missing speech engines."""
    issues = [
        issue for issue in ir.async_get(hass).issues.values() if issue.domain == DOMAIN and issue.active
    ]
    for issue in issues:
        text = texts("issues")[issue.translation_key or ""]
        for part in ("title", "description"):
            assert text[part].format_map(issue.translation_placeholders or {}), "its texts are complete"
    return [issue for issue in issues if issue.issue_id != "no_speech"]


async def act(
    hass: HomeAssistant,
    domain: str,
    service: str,
    entity_id: str | list[str],
    *,
    returns: bool = False,
    context: Context | None = None,
    **data: Any,
) -> Any:
    """Use an entity, and wait until it is done; return the answer of an action that has one."""
    data = {"entity_id": entity_id, **data}
    return await hass.services.async_call(
        domain, service, data, blocking=True, context=context, return_response=returns
    )


async def announce(
    hass: HomeAssistant,
    message: str | None = "Dinner is ready.",
    at: str | list[str] = SATELLITE,
    **data: Any,
) -> None:
    said = {} if message is None else {"message": message}
    await act(hass, "assist_satellite", "announce", at, **said, **data)


async def set_volume(
    hass: HomeAssistant, device: SimulatedDevice, volume: int, entity_id: str = VOLUME
) -> None:
    """Have a device do something, and see that it has."""
    await act(hass, "number", "set_value", entity_id, value=volume)
    assert device.values["volume"] == volume


async def call_action(
    hass: HomeAssistant, action: str, device_id: str | list[str], context: Context | None = None, **data: Any
) -> Any:
    """Call an action of ours; return its answer, if it has one."""
    answers = hass.services.supports_response(DOMAIN, action) is not SupportsResponse.NONE
    data = {"device_id": device_id, **data}
    return await hass.services.async_call(
        DOMAIN, action, data, blocking=True, context=context, return_response=answers
    )


async def choose(hass: HomeAssistant, entity_id: str, option: str) -> None:
    await act(hass, "select", "select_option", entity_id, option=option)


async def say(device: SimulatedDevice, sound: bytes, word: str = "hello") -> None:
    """Wake a device, say something, and wait for the end of the conversation."""
    await device.wake(word)
    device.say(sound)
    await device.wait_state(State.IDLE, 120)


async def hear_answer(device: SimulatedDevice, sound: bytes, seconds: float = 1) -> None:
    """Wake a device, say something, and wait until so much of the answer has been played."""
    await device.wake()
    device.say(sound)
    await device.wait_for(lambda: device.played_seconds > seconds, 30)


async def push_to_talk(device: SimulatedDevice, sound: bytes) -> None:
    """Hold the talk button of a device while something is said."""
    await device.press()
    device.say(sound)
    await device.wait_said()
    await device.release()


def assert_nothing_lost(device: SimulatedDevice) -> None:
    """Assert that the device has played all that it was sent."""
    speaker = device.speaker
    assert (speaker.ignored, speaker.dropped, speaker.flushed, speaker.failed) == (0, 0, 0, 0)


async def open_conversation(hass: HomeAssistant, device: SimulatedDevice) -> None:
    """Begin a conversation in which a device can be reached over either link, and is known from before."""
    await introduce(hass, device)
    await device.wake()
    await device.wait_state(State.LISTENING, 5)
    await hass.async_block_till_done()


async def introduce(hass: HomeAssistant, device: SimulatedDevice) -> None:
    """Tap the talk button of a device on WebSocket, say nothing, and wait for the end of the conversation.

    Only then its status is known: while somebody may speak, a device is not asked for it.
    """
    await device.press()
    await device.release()
    await device.wait_for(lambda: not device.channel_open, 10)
    await hass.async_block_till_done()
