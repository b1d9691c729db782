"""Diagnostics help to find a fault and hold nothing private."""

import json

from homeassistant.components.diagnostics import REDACTED
from homeassistant.core import HomeAssistant
from homeassistant.helpers import device_registry as dr
from homeassistant.helpers.entity_component import async_update_entity
from homeassistant.helpers.json import ExtendedJSONEncoder
from homeassistant.loader import async_get_loaded_integration
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, get_system_health_info

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.diagnostics import (
    async_get_config_entry_diagnostics,
    async_get_device_diagnostics,
)
from custom_components.xiaozhi.guests.alarms.timers import SetTimer
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import converse
from simulator.audio.espeak import synthesize
from tests.integration.boxes import Speech, state_of, wait_for_state
from tests.integration.http_device import TOKEN
from tests.integration.names import BRIGHTNESS, CLIENT_ID, MAC, SATELLITE, Boot
from tests.paths import ROOT

MANIFEST = ROOT / "custom_components/xiaozhi/manifest.json"


async def test_diagnostics_tell_what_happened_and_nothing_private(
    hass: HomeAssistant, speech: Speech, boot: Boot, linked_entry: MockConfigEntry
) -> None:
    device = await boot()
    speech.recognizer.lines = ["turn on the kitchen light"]
    pcm, _ = synthesize("turn on the kitchen light", sample_rate=16000)
    await converse(device, pcm)
    await wait_for_state(hass, BRIGHTNESS, "75")
    await hass.config.async_update(internal_url="http://192.168.1.10:8123")
    (known,) = linked_entry.runtime_data.devices.values()
    known.record.update(timers={"1": SetTimer(name="Hidden", seconds=60, ends_at=dt_util.utcnow())})
    report = await async_get_config_entry_diagnostics(hass, linked_entry)
    text = json.dumps(report, cls=ExtendedJSONEncoder)
    for secret in (
        TOKEN,
        CLIENT_ID,
        MAC,
        MAC.replace(":", ""),
        "Home",
        "Kitchen box",
        "Hidden",
        "127.0.0.1",
        "192.168.1.10",
        "192.168.1.77",
    ):
        assert f'"{secret}' not in text, secret
        assert f"{secret}/" not in text, secret
    assert (report["speech_detector"], report["preferred_pipeline_is_whole"]) == (True, True)
    described = report["devices"][0]
    assert described["pipeline"]["speech_to_text"] == {
        "engine": speech.recognizer.entity_id,
        "integration": "scripted",
        "works": "unknown",
    }
    assert described["pipeline"]["assistant"]["works"] == "local"
    assert described["firmware"] == "2.4.2"
    assert described["status"]["ssid"] == REDACTED
    assert described["ip"] == REDACTED
    assert described["statistics"]["packets_in"] > 20
    reboot = {"tool": "self.reboot", "user_only": True, "arguments": [], "entities": ["button"]}
    assert reboot in described["tools"]
    assert report["address"] == {
        "known": True,
        "set_by_owner": False,
        "scheme": "http",
        "is_ip_address": True,
        "problem": None,
    }
    entry = dr.async_get(hass).async_get_device_by_identifier((DOMAIN, MAC), linked_entry.entry_id)
    assert entry is not None
    assert await async_get_device_diagnostics(hass, linked_entry, entry) == described
    gateway = dr.async_get(hass).async_get_device_by_identifier(
        (DOMAIN, linked_entry.entry_id), linked_entry.entry_id
    )
    assert gateway is not None
    of_gateway = await async_get_device_diagnostics(hass, linked_entry, gateway)
    assert of_gateway == await async_get_config_entry_diagnostics(hass, linked_entry)
    # They are wanted most when it cannot start, such as with a port in use.
    assert await hass.config_entries.async_unload(linked_entry.entry_id)
    report = await async_get_config_entry_diagnostics(hass, linked_entry)
    assert report["settings"] == dict(linked_entry.data)
    assert (report["running"], report["state"]) == (False, "not_loaded")
    assert report["libraries"]["av"]
    assert await async_get_device_diagnostics(hass, linked_entry, entry) == {}


@pytest.mark.parametrize("link", [LinkKind.MQTT])
async def test_the_gateway_is_in_the_system_information(
    hass: HomeAssistant, speech: Speech, boot: Boot, linked_entry: MockConfigEntry
) -> None:
    assert await async_setup_component(hass, "system_health", {})
    device = await boot()
    await wait_for_state(hass, BRIGHTNESS, "75")
    await hass.config.async_update(internal_url="http://192.168.1.10:8123")
    told = await get_system_health_info(hass, DOMAIN)
    data = linked_entry.data
    ports = f"{data['websocket_port']}/tcp, {data['mqtt_port']}/tcp, {data['udp_port']}/udp"
    assert told == {
        "version": json.loads(MANIFEST.read_text())["version"],
        "running": True,
        "link": "mqtt",
        "ports": ports,
        "address": True,
        "devices": "1/1",
        "firmware": "2.4.2 (1)",
        "detector": True,
        "pipelines": True,
        "cloud": False,
        "access_points": "0/0",
    }
    texts = json.loads((MANIFEST.parent / "translations" / "en.json").read_text())["system_health"]["info"]
    assert texts.keys() == told.keys()
    await speech.use(tts_engine=None, tts_language=None)
    assert (await get_system_health_info(hass, DOMAIN))["pipelines"] is False
    await device.power_off()
    assert await hass.config_entries.async_unload(linked_entry.entry_id)
    assert (await get_system_health_info(hass, DOMAIN))["running"] is False


async def test_an_owner_sees_where_the_words_go(hass: HomeAssistant, speech: Speech, boot: Boot) -> None:
    """By the attributes of the Assist satellite; what an integration says of itself decides."""
    integration = async_get_loaded_integration(hass, "scripted")
    await boot()
    await speech.use(tts_engine=None, tts_language=None)
    for iot_class, place in {
        "cloud_push": "cloud",
        "local_polling": "local",
        "calculated": "local",
        None: "unknown",
    }.items():
        integration.manifest["iot_class"] = iot_class
        integration.__dict__.pop("iot_class", None)
        await async_update_entity(hass, SATELLITE)
        attributes = state_of(hass, SATELLITE).attributes
        parts = ("speech_to_text", "assistant", "text_to_speech")
        assert [attributes[part] for part in parts] == [place, "local", "missing"]
