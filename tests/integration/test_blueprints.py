"""The blueprints: Home Assistant takes them, and what they promise is seen at the devices."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import datetime, timedelta
import json
import logging
from pathlib import Path
from typing import Any, Final

from homeassistant.components.automation.helpers import async_get_blueprints
from homeassistant.components.blueprint.models import Blueprint
from homeassistant.components.blueprint.schemas import BLUEPRINT_SCHEMA
from homeassistant.components.local_file.const import DOMAIN as LOCAL_FILE
from homeassistant.config_entries import ConfigSubentryData
from homeassistant.const import CONF_FILE_PATH, CONF_NAME, EVENT_HOMEASSISTANT_STARTED
from homeassistant.core import CoreState, HomeAssistant, ServiceCall, callback
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er
from homeassistant.helpers.selector import selector
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
from homeassistant.util.yaml import parse_yaml
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events

from custom_components.xiaozhi.const import CONF_LINK
from custom_components.xiaozhi.protocol.faces import Face
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import SimulatedDevice, get_profile
from simulator.application.announcement import Outcome
from tests.integration.boxes import Speech, act, introduce, wait_for_state
from tests.integration.clock.alarms import calendar, set_alarm
from tests.integration.http_device import paired_device, running
from tests.integration.names import CLIENT_ID, LIGHT, MAC, OTHER_MAC, VOLUME, Boot
from tests.integration.pictures.eyes import png, shown_on
from tests.paths import ROOT

LINK = LinkKind.MQTT

pytestmark = [pytest.mark.usefixtures("all_enabled"), pytest.mark.own_home]

_FOLDER: Final = "blueprints/automation/xiaozhi"
_FILES: Final = sorted((ROOT / _FOLDER).glob("**/*"))
_ASK, _DOORBELL, _QUIETER, _SUNRISE, _VOLUME, _WAKE = (
    f"{name}.yaml" for name in ("ask", "doorbell", "quieter", "sunrise", "volume", "wake")
)

# As an owner chooses them now, and as an automation of version 0.4 has them.
VOLUMES: Final = ["media_player.kitchen_box_speaker", "number.hall_box_volume"]
RANG: Final = {"event_type": "ring", "event_types": ["ring", "motion"], "device_class": "doorbell"}


@pytest.fixture
def paired() -> tuple[ConfigSubentryData, ...]:
    """A device on MQTT, and one on WebSocket, which cannot be reached while it is idle."""
    hall = paired_device(OTHER_MAC, CLIENT_ID, title="Hall box")
    return paired_device(MAC, CLIENT_ID), {**hall, "data": {**hall["data"], CONF_LINK: "websocket"}}


@pytest.fixture
async def front_door(hass: HomeAssistant, core: None, tmp_path: Path) -> str:
    """A camera whose picture is a file; there before the web server starts."""
    path = tmp_path / "door.png"
    await asyncio.to_thread(path.write_bytes, png(320, 240))
    # Before 2026.11 its name was an option.
    options = {CONF_NAME: "Front door", CONF_FILE_PATH: str(path)}
    entry = MockConfigEntry(domain=LOCAL_FILE, title="Front door", options=options)
    entry.add_to_hass(hass)
    await running(hass, entry)
    return "camera.front_door"


@pytest.fixture
async def installed(hass: HomeAssistant) -> AsyncGenerator[None]:
    """Import them, which writes them again, and in the end switch off what was made of one."""
    for path in _FILES:
        data: Any = parse_yaml(await asyncio.to_thread(path.read_text))
        blueprint = Blueprint(data, expected_domain="automation", schema=BLUEPRINT_SCHEMA)
        await async_get_blueprints(hass).async_add_blueprint(blueprint, f"xiaozhi/{path.name}")
    # As after a restart: what was written is read back.
    await async_get_blueprints(hass).async_reset_cache()
    yield
    if hass.states.get("automation.one"):
        await act(hass, "automation", "turn_off", "automation.one")


async def use(hass: HomeAssistant, blueprint: str, **inputs: Any) -> None:
    config = {"id": "one", "alias": "One", "use_blueprint": {"path": f"xiaozhi/{blueprint}", "input": inputs}}
    assert await async_setup_component(hass, "automation", {"automation": [config]})
    await hass.async_block_till_done()
    assert hass.states.is_state("automation.one", "on")


async def ring(hass: HomeAssistant, entity_id: str, state: str, **attributes: Any) -> None:
    """Let the doorbell tell something, and wait for what is done about it."""
    hass.states.async_set(entity_id, state, attributes)
    await hass.async_block_till_done()


def texts_on(device: SimulatedDevice) -> list[str]:
    shown = (event["text"] for event in device.events("screen") if event.get("role") == "system")
    return [text for text in shown if text]


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what automations and scripts have logged as errors."""
    names = ("homeassistant.components.automation", "homeassistant.helpers.script")
    return [
        record.getMessage()
        for record in caplog.records
        if record.name.startswith(names) and record.levelno >= logging.WARNING
    ]


@pytest.mark.usefixtures("installed")
async def test_an_imported_blueprint_has_what_the_editor_shows(hass: HomeAssistant) -> None:
    """By what is read back: its source, what it needs, and inputs whose defaults their selectors take."""
    manifest = json.loads((ROOT / "custom_components/xiaozhi/manifest.json").read_text())
    oldest = json.loads((ROOT / "hacs.json").read_text())["homeassistant"]
    for file in (path.name for path in _FILES):
        blueprint = await async_get_blueprints(hass).async_get_blueprint(f"xiaozhi/{file}")
        about = blueprint.metadata
        assert about["source_url"] == f"{manifest['documentation']}/blob/main/{_FOLDER}/{file}"
        assert about["homeassistant"]["min_version"] == oldest
        assert about["author"]
        assert len(about["description"]) > 100
        for name, asked in blueprint.inputs.items():
            assert asked["name"], name
            if "default" in asked:
                selector(asked["selector"])(asked["default"])
        if file == _DOORBELL:
            faces = blueprint.inputs["face"]["selector"]["select"]["options"]
            assert {face["value"] for face in faces} <= set(Face)


@pytest.mark.usefixtures("installed", "speech")
async def test_who_rings_is_shown_although_one_device_is_out_of_reach(
    hass: HomeAssistant, front_door: str, boot: Boot, caplog: pytest.LogCaptureFixture
) -> None:
    device = await boot(get_profile("camera"))
    await wait_for_state(hass, "button.kitchen_box_take_photo", "unknown")
    hass.states.async_set("input_boolean.party", "off")
    await use(
        hass,
        _DOORBELL,
        doorbell=["event.doorbell", "binary_sensor.doorbell", "input_button.doorbell"],
        picture=front_door,
        devices=boot.device_ids[::-1],
        message="The post is here.",
        only_if=[{"condition": "state", "entity_id": "input_boolean.party", "state": "off"}],
    )
    now = dt_util.utcnow()

    def moment(seconds: int) -> str:
        return (now + timedelta(seconds=seconds)).isoformat()

    # What it was before, and what is no ring.
    await ring(hass, "event.doorbell", "unavailable")
    await ring(hass, "event.doorbell", moment(0), **RANG)
    await ring(hass, "event.doorbell", moment(1), **RANG | {"event_type": "motion"})
    for state in ("unknown", "on", "off"):
        await ring(hass, "binary_sensor.doorbell", state)
    await ring(hass, "input_button.doorbell", "unknown")
    assert not texts_on(device)
    await ring(hass, "event.doorbell", moment(2), **RANG)
    assert texts_on(device) == ["The post is here."]
    assert (device.screen.status, device.screen.emotion) == ("Doorbell", "surprised")
    assert len(shown_on(device)) == 1
    await ring(hass, "binary_sensor.doorbell", "on")
    await ring(hass, "input_button.doorbell", moment(0))
    assert len(shown_on(device)) == len(texts_on(device)) == 3
    hass.states.async_set("input_boolean.party", "on")
    await ring(hass, "binary_sensor.doorbell", "off")
    await ring(hass, "binary_sensor.doorbell", "on")
    assert len(texts_on(device)) == 3
    assert errors(caplog) == []


@pytest.mark.usefixtures("installed", "speech")
async def test_a_device_that_can_speak_says_who_rings_and_makes_no_other_sound(
    hass: HomeAssistant, boot: Boot, device_ids: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Without a camera, and without having been chosen as a voice."""
    device = await boot(get_profile("camera", version="2.5.0"))
    await wait_for_state(hass, "button.kitchen_box_take_photo", "unknown")
    await use(
        hass,
        _DOORBELL,
        doorbell=["binary_sensor.doorbell"],
        devices=device_ids[:1],
        message="The post is here.",
    )
    await ring(hass, "binary_sensor.doorbell", "off")
    await ring(hass, "binary_sensor.doorbell", "on")
    announcement = await device.wait_announced()
    assert announcement.outcome is Outcome.PLAYED
    assert [text for _, text in announcement.shown] == ["The post is here."]
    assert shown_on(device) == texts_on(device) == []
    assert errors(caplog) == []


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("said", ["yes please", "no thanks", None], ids=["yes", "no", "nobody can be asked"])
async def test_what_is_asked_for_is_done_only_after_a_yes(
    hass: HomeAssistant, speech: Speech, boot: Boot, caplog: pytest.LogCaptureFixture, said: str | None
) -> None:
    """Nobody can be asked on WebSocket."""
    speech.recognizer.lines = [said]
    refused = async_capture_events(hass, "refused")
    await use(
        hass,
        _ASK,
        happens=[{"trigger": "event", "event_type": "happens"}],
        satellite=f"assist_satellite.{'kitchen' if said else 'hall'}_box",
        question="Shall I close the door?",
        do_it=[{"action": "input_boolean.turn_on", "target": {"entity_id": LIGHT}}],
        otherwise=[{"event": "refused"}],
        seconds=30,
    )
    if said:
        device = await boot(get_profile(version="2.5.0"))
        hass.bus.async_fire("happens")
        assert (await device.wait_announced()).outcome is Outcome.PLAYED
        await asyncio.sleep(5)
        await device.wake()
        device.say(speech.command)
        await asyncio.sleep(10)
    else:
        await introduce(hass, await boot(mac=OTHER_MAC))
        hass.bus.async_fire("happens")
    await hass.async_block_till_done()
    assert hass.states.is_state(LIGHT, "on" if said == "yes please" else "off")
    assert len(refused) == (said != "yes please")
    assert errors(caplog) == []


async def is_set(device: SimulatedDevice, volume: int) -> None:
    await device.wait_for(lambda: device.values["volume"] == volume, 5)


def clock(moment: datetime) -> str:
    """Return a time of the day as the editor gives it."""
    return f"{dt_util.as_local(moment):%H:%M:%S}"


@pytest.mark.usefixtures("wall_clock", "installed", "speech")
async def test_the_volume_follows_the_clock_and_waits_for_who_is_away(
    hass: HomeAssistant, boot: Boot, device_ids: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    kitchen = await boot()
    hall = await boot(mac=OTHER_MAC)
    await introduce(hass, hall)
    await hall.wake()
    await wait_for_state(hass, VOLUME, "70")
    await wait_for_state(hass, VOLUMES[1], "70")
    now = dt_util.utcnow()
    hass.set_state(CoreState.starting)
    await use(
        hass,
        _VOLUME,
        volumes=VOLUMES,
        websocket_devices=device_ids[1:],
        day_from=clock(now - timedelta(hours=2)),
        day_volume=60,
        evening=True,
        evening_from=clock(now + timedelta(minutes=5)),
        evening_volume=40,
        night_from=clock(now + timedelta(hours=2)),
    )
    hass.set_state(CoreState.running)
    hass.bus.async_fire(EVENT_HOMEASSISTANT_STARTED)
    await is_set(kitchen, 60)
    await is_set(hall, 60)
    await hall.click()
    await wait_for_state(hass, "binary_sensor.hall_box_connectivity", "off")
    # The evening begins. One device cannot be reached, and the other one gets its volume.
    await asyncio.sleep(310)
    await is_set(kitchen, 40)
    await hass.async_block_till_done()
    assert hall.values["volume"] == 60
    # Who comes back gets its volume, and only that one.
    kitchen.values["volume"] = 33
    # Home Assistant ignores a word that it has heard in the last two seconds, of real time.
    await hall.wake("hello again")
    await is_set(hall, 40)
    await hass.async_block_till_done()
    assert kitchen.values["volume"] == 33
    hall.values["volume"] = 34
    await kitchen.power_off()
    await wait_for_state(hass, VOLUMES[0], "unavailable")
    await kitchen.boot()
    await is_set(kitchen, 40)
    await hass.async_block_till_done()
    assert hall.values["volume"] == 34
    assert errors(caplog) == []


async def talk(hass: HomeAssistant, device: SimulatedDevice, box: str) -> None:
    """Wake a device, and say nothing."""
    await device.wake()
    await wait_for_state(hass, f"sensor.{box}_conversation_state", "listening")
    await hass.async_block_till_done()
    await device.click()
    await wait_for_state(hass, f"sensor.{box}_conversation_state", "idle")


@pytest.mark.usefixtures("installed", "speech")
async def test_who_wakes_a_device_is_told_although_one_receiver_is_out_of_reach(
    hass: HomeAssistant, boot: Boot, device_ids: list[str], notes: list[str]
) -> None:
    """The message goes to screens, which take it as phones do."""
    kitchen = await boot()
    hall = await boot(mac=OTHER_MAC)
    now = dt_util.utcnow()
    hass.states.async_set("zone.home", "1")
    await use(
        hass,
        _WAKE,
        devices=device_ids[:1],
        receivers=[f"notify.{box}_screen_message" for box in ("hall_box", "kitchen_box")],
        nobody_home=True,
        after=clock(now - timedelta(hours=1)),
        before=clock(now + timedelta(hours=1)),
        then_do=[{"action": "input_boolean.turn_on", "target": {"entity_id": LIGHT}}],
    )
    # Somebody is at home; then it is another device.
    await talk(hass, kitchen, "kitchen_box")
    hass.states.async_set("zone.home", "0")
    await talk(hass, hall, "hall_box")
    assert not texts_on(kitchen)
    await talk(hass, kitchen, "kitchen_box")
    assert texts_on(kitchen) == notes == ["Somebody talks to Kitchen box."]
    assert not texts_on(hall)
    assert hass.states.is_state(LIGHT, "on")


@pytest.mark.usefixtures("installed", "speech")
@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ({"message": "{{ name }}!", "pause": 1}, ["Kitchen box!"]),
        ({"message": "Hi", "moment": "wake_word"}, ["Hi", "Hi"]),
        ({"after": "before", "before": "now"}, []),
    ],
)
async def test_what_the_owner_wants_to_be_told(
    hass: HomeAssistant,
    boot: Boot,
    device_ids: list[str],
    notes: list[str],
    inputs: dict[str, Any],
    expected: list[str],
) -> None:
    device = await boot()
    now = dt_util.utcnow()
    hours = {"before": clock(now - timedelta(hours=2)), "now": clock(now - timedelta(hours=1))}
    wishes = {name: hours.get(str(wish), wish) for name, wish in inputs.items()}
    await use(hass, _WAKE, devices=device_ids[:1], **wishes)
    for _ in range(2):
        await talk(hass, device, "kitchen_box")
    assert notes == expected


@pytest.fixture
async def volumes(hass: HomeAssistant, device_ids: list[str]) -> dict[str, float]:
    """Volumes of players in the room of the first device, which are set as its owner sets them."""
    room = ar.async_get(hass).async_create("Parlour").id
    dr.async_get(hass).async_update_device(device_ids[0], area_id=room)
    players: dict[str, float] = {}

    @callback
    def set_volume(call: ServiceCall) -> None:
        for player in call.data["entity_id"]:
            players[player] = call.data["volume_level"]
            state = "paused" if player == "media_player.paused" else "playing"
            hass.states.async_set(player, state, {"volume_level": players[player]})

    hass.services.async_register("media_player", "volume_set", set_volume)
    for name, volume in {"radio": 0.5, "spared": 0.5, "paused": 0.5, "loud": 0.8}.items():
        entry = er.async_get(hass).async_get_or_create("media_player", "test", name, suggested_object_id=name)
        er.async_get(hass).async_update_entity(entry.entity_id, area_id=room)
        await act(hass, "media_player", "volume_set", [entry.entity_id], volume_level=volume)
    return players


@pytest.mark.usefixtures("installed")
async def test_music_is_quieter_until_the_last_answer_of_a_conversation(
    speech: Speech, boot: Boot, volumes: dict[str, float], caplog: pytest.LogCaptureFixture
) -> None:
    """Somebody says "louder" meanwhile, which stays, and a talk in another room changes nothing."""
    before = dict(volumes)
    await use(speech.hass, _QUIETER, room="parlour", share=40, not_these=["media_player.spared"])
    device, hall = await boot(), await boot(mac=OTHER_MAC)
    await introduce(speech.hass, hall)
    assert volumes == before
    speech.recognizer.lines = ["is the light on"]
    await device.wake()
    await wait_for_state(speech.hass, "assist_satellite.kitchen_box", "listening")
    await asyncio.sleep(0.5)
    quiet = {**before, "media_player.radio": 0.2, "media_player.loud": 0.32}
    assert volumes == quiet
    device.say(speech.command)
    await wait_for_state(speech.hass, "assist_satellite.kitchen_box", "responding")
    speech.hass.states.async_set("media_player.loud", "playing", {"volume_level": 0.6})
    assert volumes == quiet
    await device.wait_for(lambda: not device.channel_open, 30)
    await asyncio.sleep(3)
    await speech.hass.async_block_till_done()
    assert volumes == {**quiet, "media_player.radio": 0.5}
    assert errors(caplog) == []


@pytest.mark.usefixtures("wall_clock", "installed")
async def test_lights_that_were_at_full_brightness_go_on_when_the_alarm_rings(
    hass: HomeAssistant, boot: Boot, caplog: pytest.LogCaptureFixture
) -> None:
    """The automation is there only when the alarm is close already."""
    shone: list[int] = []
    hass.services.async_register(
        "light", "turn_on", callback(lambda call: shone.append(call.data["brightness_pct"]))
    )
    hass.states.async_set("light.bed", "off")
    await boot()
    await set_alarm(hass, 60)
    await use(hass, _SUNRISE, next_alarm="sensor.kitchen_box_next_alarm", lights=["light.bed"], brightness=80)
    await asyncio.sleep(50)
    assert not shone
    await asyncio.sleep(50)
    assert shone == [80]
    assert errors(caplog) == []


@pytest.mark.usefixtures("wall_clock", "installed", "linked_entry")
@pytest.mark.parametrize("ends", [None, "switched off", "deleted"])
async def test_lights_get_brighter_until_the_alarm(
    hass: HomeAssistant, caplog: pytest.LogCaptureFixture, ends: str | None
) -> None:
    """Only those that were off, and only before the alarm that is close."""
    shone: list[int] = []

    @callback
    def turn_on(call: ServiceCall) -> None:
        assert call.data["entity_id"] == ["light.bed"]
        shone.append(call.data["brightness_pct"])
        hass.states.async_set("light.bed", "on")

    hass.services.async_register("light", "turn_on", turn_on)
    hass.states.async_set("light.bed", "off")
    hass.states.async_set("light.hall", "on")
    await set_alarm(hass, 20 * 60)
    lights = ["light.bed", "light.hall"]
    await use(
        hass, _SUNRISE, next_alarm="sensor.kitchen_box_next_alarm", lights=lights, minutes=15, brightness=80
    )
    await asyncio.sleep(4 * 60)
    assert not shone
    await asyncio.sleep(8 * 60)
    assert len(shone) == pytest.approx(13, abs=2)
    if ends == "switched off":
        hass.states.async_set("light.bed", "off")
    elif ends == "deleted":
        following = calendar(hass).event
        assert following is not None
        await calendar(hass).async_delete_event(following.uid or "")
    await asyncio.sleep(10 * 60)
    assert shone == sorted(shone)
    assert shone[0] == 3
    assert (shone[-1] == 80) == (ends is None)
    assert (len(shone) > 16) == (ends is None)
    assert errors(caplog) == []
