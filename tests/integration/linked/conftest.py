"""A paired, simulated device on a real link, and an Assist pipeline around scripted speech engines."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from homeassistant.components.assist_pipeline import async_get_pipelines, async_update_pipeline
from homeassistant.components.conversation import DOMAIN as CONVERSATION_DOMAIN
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.config_entries import ConfigEntry, ConfigFlow, ConfigSubentryData
from homeassistant.const import Platform
from homeassistant.core import Event, EventStateChangedData, HomeAssistant, callback
from homeassistant.helpers import device_registry as dr
from homeassistant.helpers.entity import Entity
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback
from homeassistant.helpers.event import async_track_state_change_event
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import (
    MockConfigEntry,
    MockModule,
    MockPlatform,
    mock_config_flow,
    mock_integration,
    mock_platform,
)
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.xiaozhi.const import DOMAIN, OTA_PATH
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import Pace, Profile, SimulatedDevice, get_profile
from simulator.espeak import synthesize
from tests.integration.http_device import MakeEntry, paired_device
from tests.integration.linked.speech import (
    ScriptedAgent,
    ScriptedSpeechToText,
    ScriptedTextToSpeech,
    StreamingTextToSpeech,
)

MAC = "24:6f:28:aa:bb:01"
OTHER_MAC = "24:6f:28:aa:bb:02"
CLIENT_ID = "3b0c6e0e-26f5-4b3c-8a4e-6c7d1f2a9b01"
# Polls and back-offs need not be waited for; sound stays as slow as it is.
QUICK = Pace(waits=0.02, timeouts=0.1, main_loop_delay=0.001)

COMMAND = "turn on the kitchen light"
LIGHT = "input_boolean.kitchen_light"
SATELLITE = "assist_satellite.kitchen_box"

type Boot = Callable[..., Awaitable[SimulatedDevice]]


@dataclass
class Speech:
    """The engines of the preferred pipeline, which answers commands by itself until `use` says otherwise."""

    hass: HomeAssistant
    ears: ScriptedSpeechToText
    mouth: ScriptedTextToSpeech
    streaming_mouth: StreamingTextToSpeech
    brain: ScriptedAgent

    async def use(self, **engines: str | None) -> None:
        """Change the pipeline."""
        await async_update_pipeline(self.hass, async_get_pipelines(self.hass)[0], **engines)


def mac_of(number: int) -> str:
    """Return the MAC of one of many devices; that of number 1 is `MAC`."""
    return f"{MAC[:-2]}{number:02x}"


def paired_boxes(count: int) -> tuple[ConfigSubentryData, ...]:
    """Return as many paired devices, for tests in which many talk at the same time."""
    return tuple(
        paired_device(mac_of(number), CLIENT_ID, title=f"Box {number}") for number in range(1, count + 1)
    )


async def wait_for_state(hass: HomeAssistant, entity_id: str, state: str, seconds: float = 5) -> None:
    """Wait until an entity is in a state."""
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


@pytest.fixture
async def core(hass: HomeAssistant) -> None:
    """What Home Assistant always has, and a light."""
    assert await async_setup_component(hass, "homeassistant", {})
    assert await async_setup_component(
        hass, "input_boolean", {"input_boolean": {"kitchen_light": {"name": "Kitchen light"}}}
    )
    async_expose_entity(hass, CONVERSATION_DOMAIN, LIGHT, True)


@pytest.fixture
async def speech(hass: HomeAssistant, core: None) -> Speech:
    """Give the preferred pipeline ears and a mouth."""
    engines = Speech(
        hass, ScriptedSpeechToText(), ScriptedTextToSpeech(), StreamingTextToSpeech(), ScriptedAgent()
    )
    engines.streaming_mouth._attr_unique_id = "streaming_mouth"
    engines.streaming_mouth._attr_name = "Streaming mouth"
    entities: dict[Platform, list[Entity]] = {
        Platform.CONVERSATION: [engines.brain],
        Platform.STT: [engines.ears],
        Platform.TTS: [engines.mouth, engines.streaming_mouth],
    }

    async def set_up(hass: HomeAssistant, entry: ConfigEntry) -> bool:
        await hass.config_entries.async_forward_entry_setups(entry, list(entities))
        return True

    def adder(platform: Platform) -> MockPlatform:
        async def add_all(
            hass: HomeAssistant, entry: ConfigEntry, add: AddConfigEntryEntitiesCallback
        ) -> None:
            add(entities[platform])

        return MockPlatform(async_setup_entry=add_all)

    class SpeechFlow(ConfigFlow):
        """Never runs."""

    mock_integration(hass, MockModule("scripted", async_setup_entry=set_up))
    mock_platform(hass, "scripted.config_flow")
    for platform in entities:
        mock_platform(hass, f"scripted.{platform}", adder(platform))
    entry = MockConfigEntry(domain="scripted")
    entry.add_to_hass(hass)
    with mock_config_flow("scripted", SpeechFlow):
        assert await hass.config_entries.async_setup(entry.entry_id)
    assert await async_setup_component(hass, "assist_pipeline", {})
    await hass.async_block_till_done()
    await engines.use(
        stt_engine=engines.ears.entity_id,
        stt_language="en",
        tts_engine=engines.mouth.entity_id,
        tts_language="en",
    )
    return engines


@pytest.fixture(scope="session")
def command() -> bytes:
    """A sentence, spoken by somebody in a hurry: 0.9 s of 16 kHz mono PCM."""
    pcm, _ = synthesize(COMMAND, speed=250, sample_rate=16000)
    return pcm


@contextmanager
def satellite_states(hass: HomeAssistant, satellite: str) -> Generator[list[str]]:
    """Collect the states that a satellite goes through from the first time that it listens."""
    seen: list[str] = []

    @callback
    def changed(event: Event[EventStateChangedData]) -> None:
        state = event.data["new_state"]
        if state and seen[-1:] != [state.state] and (seen or state.state == "listening"):
            seen.append(state.state)

    stop = async_track_state_change_event(hass, [satellite], changed)
    try:
        yield seen
    finally:
        stop()


@pytest.fixture
async def states(hass: HomeAssistant) -> AsyncGenerator[list[str]]:
    """The states that the satellite goes through from the first time that it listens."""
    with satellite_states(hass, SATELLITE) as seen:
        yield seen


@pytest.fixture
def quick_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said on the screen only need not be there as long as a person needs to read it."""
    monkeypatch.setattr("custom_components.xiaozhi.voice.turn._READING_SECONDS", 0.3)


async def introduce(hass: HomeAssistant, device: SimulatedDevice) -> None:
    """Tap the talk button of a device on WebSocket, say nothing, and wait for the end of the conversation.

    Only then its status is known: while somebody may speak, a device is not asked for it. Use `quick_reader`.
    """
    await device.press()
    await device.release()
    await device.wait_for(lambda: not device.channel_open, 10)
    await hass.async_block_till_done()


@pytest.fixture
def link() -> LinkKind:
    """The link that the gateway offers; modules that hold for both override this with both as parameters."""
    return LinkKind.WEBSOCKET


@pytest.fixture
def device_id(hass: HomeAssistant, linked_entry: MockConfigEntry) -> str:
    """Id in the device registry."""
    entry = dr.async_get(hass).async_get_device_by_identifier((DOMAIN, MAC), linked_entry.entry_id)
    assert entry is not None
    return entry.id


@pytest.fixture
def link_data(link: LinkKind, request: pytest.FixtureRequest) -> dict[str, Any]:
    """The settings of a gateway that offers it."""
    data: dict[str, Any] = request.getfixturevalue("mqtt_data") if link is LinkKind.MQTT else {}
    return data


@pytest.fixture
def paired() -> tuple[ConfigSubentryData, ...]:
    """The devices that are paired; modules that need more than one override this."""
    return (paired_device(MAC, CLIENT_ID),)


@pytest.fixture
async def linked_entry(
    hass: HomeAssistant,
    core: None,
    make_entry: MakeEntry,
    link_data: dict[str, Any],
    paired: tuple[ConfigSubentryData, ...],
    unload_gateway: None,
) -> MockConfigEntry:
    """A running gateway with simulated devices paired."""
    entry = make_entry(*paired, **link_data)
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()
    return entry


@pytest.fixture
async def boot(
    linked_entry: MockConfigEntry, hass_client_no_auth: ClientSessionGenerator
) -> AsyncGenerator[Boot]:
    """Return what switches a simulated device on and lets it check in; the first one is paired."""
    client = await hass_client_no_auth()
    devices: list[SimulatedDevice] = []

    async def start(profile: Profile | None = None, **options: Any) -> SimulatedDevice:
        device = SimulatedDevice(
            profile or get_profile(),
            str(client.make_url(OTA_PATH)),
            **{"mac": MAC, "client_id": CLIENT_ID, "pace": QUICK, **options},
        )
        devices.append(device)
        await device.boot()
        return device

    yield start
    for device in devices:
        await device.power_off()
