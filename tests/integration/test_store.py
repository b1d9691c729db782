"""What is known of devices is on disk in time for a crash."""

import asyncio
from pathlib import Path
from typing import Any

from homeassistant.core import HomeAssistant
import pytest

from custom_components.xiaozhi import store as store_module
from custom_components.xiaozhi.store import DeviceRecord, DeviceStore

MAC = "24:6f:28:aa:bb:01"
KEY = "xiaozhi.an_entry"
PRIVACY = Path(__file__).parent.parent.parent / "docs/security.md"
# What each part of a record is called there.
STORED_AS = {
    "firmware": "firmware",
    "board": "board",
    "chip": "chip",
    "firmware_space": "space for firmware",
    "link": "kind of link",
    "host": "the host under which it called",
    "origin": "the web address at which it reaches Home Assistant",
    "session": "id of the last conversation",
    "tools": "tools",
    "status": "last status",
    "answers": "what they last answered",
    "calls": "arguments of the last calls",
    "last_contact": "last contact",
}


def test_the_owner_can_read_all_that_is_stored() -> None:
    (row,) = [line for line in PRIVACY.read_text().splitlines() if line.startswith("| `xiaozhi.<id")]
    assert DeviceRecord().as_dict().keys() == STORED_AS.keys()
    assert [words for words in STORED_AS.values() if words not in row] == []


async def saved(hass_storage: dict[str, Any], **expected: Any) -> None:
    """Wait until the record on disk has these values."""
    for _ in range(500):
        if expected.items() <= hass_storage.get(KEY, {}).get("data", {}).get(MAC, {}).items():
            return
        await asyncio.sleep(0.01)
    pytest.fail(f"not saved within 5 s: {expected}")


async def test_a_device_that_changes_all_the_time_is_saved(
    hass: HomeAssistant, hass_storage: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "_SAVE_DELAY", 0.2)
    store = DeviceStore(hass, "an_entry")
    for number in range(40):
        store.record(MAC).firmware = f"2.2.{number}"
        store.async_schedule_save()
        await asyncio.sleep(0.02)
        if number and KEY in hass_storage:
            break
    else:
        pytest.fail("not saved within four times the delay")
    store.record(MAC).firmware = "2.3.0"
    store.async_schedule_save()
    await saved(hass_storage, firmware="2.3.0")


async def test_what_a_crash_must_not_lose_is_saved_soon_whatever_changes_before_and_after(
    hass: HomeAssistant, hass_storage: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "_SOON", 0.1)
    store = DeviceStore(hass, "an_entry")
    store.async_schedule_save()
    store.async_schedule_save()
    store.record(MAC).session = "the conversation that goes on"
    store.async_schedule_save(soon=True)
    store.async_schedule_save()
    await saved(hass_storage, session="the conversation that goes on")
