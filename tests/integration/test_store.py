"""What is known of devices is on disk in time for a crash."""

import asyncio
from typing import Any

from homeassistant.core import HomeAssistant
import pytest

from custom_components.xiaozhi import store as store_module
from custom_components.xiaozhi.store import DeviceStore

MAC = "24:6f:28:aa:bb:01"
KEY = "xiaozhi.an_entry"


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
