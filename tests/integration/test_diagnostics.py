"""Diagnostics help to find a fault and hold nothing private."""

import json

from homeassistant.components.diagnostics import REDACTED
from homeassistant.core import HomeAssistant
from homeassistant.helpers import device_registry as dr
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.diagnostics import (
    async_get_config_entry_diagnostics,
    async_get_device_diagnostics,
)
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import converse
from simulator.audio.espeak import synthesize
from tests.integration.boxes import CLIENT_ID, MAC, Boot, Speech, wait_for_state
from tests.integration.http_device import TOKEN, paired_device


@pytest.fixture(params=list(LinkKind))
def link(request: pytest.FixtureRequest) -> LinkKind:
    """Both links have counters."""
    kind: LinkKind = request.param
    return kind


async def test_diagnostics_tell_what_happened_and_nothing_private(
    hass: HomeAssistant, speech: Speech, boot: Boot, linked_entry: MockConfigEntry
) -> None:
    device = await boot()
    speech.recognizer.lines = ["turn on the kitchen light"]
    pcm, _ = synthesize("turn on the kitchen light", sample_rate=16000)
    await converse(device, pcm)
    await wait_for_state(hass, "number.kitchen_box_volume", "70")
    report = await async_get_config_entry_diagnostics(hass, linked_entry)
    text = json.dumps(report)
    for secret in (
        TOKEN,
        CLIENT_ID,
        MAC,
        MAC.replace(":", ""),
        "Home",
        "Kitchen box",
        "127.0.0.1",
        "192.168.1.77",
    ):
        assert f'"{secret}' not in text, secret
        assert f"{secret}/" not in text, secret
    described = report["devices"][0]
    assert described["firmware"] == "2.4.2"
    assert described["status"]["ssid"] == REDACTED
    assert described["ip"] == REDACTED
    assert described["statistics"]["packets_in"] > 20
    assert {"tool": "self.reboot", "user_only": True, "arguments": []} in described["tools"]
    entry = dr.async_get(hass).async_get_device_by_identifier((DOMAIN, MAC), linked_entry.entry_id)
    assert entry is not None
    assert await async_get_device_diagnostics(hass, linked_entry, entry) == described


@pytest.mark.parametrize("gateway_entry", [[paired_device()]], indirect=True)
async def test_diagnostics_of_a_gateway_that_does_not_run_tell_its_settings(
    hass: HomeAssistant, gateway_entry: MockConfigEntry
) -> None:
    """They are wanted most when it cannot start, such as with a port in use."""
    assert await hass.config_entries.async_unload(gateway_entry.entry_id)
    report = await async_get_config_entry_diagnostics(hass, gateway_entry)
    assert report == {"settings": dict(gateway_entry.data), "running": False}
    (device,) = dr.async_entries_for_config_entry(dr.async_get(hass), gateway_entry.entry_id)
    assert await async_get_device_diagnostics(hass, gateway_entry, device) == {}
