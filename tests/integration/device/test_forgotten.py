"""What is left of a device that was deleted, in the memory and on the disk."""

import asyncio
import gc
from pathlib import Path
import weakref

from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.guests.firmware.available_firmware import FirmwareFiles
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import get_profile
from tests.integration.boxes import wait_for_state
from tests.integration.http_device import MakeEntry, paired_device, running
from tests.integration.names import BRIGHTNESS, CLIENT_ID, MAC, Boot

LINK = LinkKind.MQTT


@pytest.mark.usefixtures("speech")
async def test_a_deleted_device_is_not_kept_in_memory(hass: HomeAssistant, boot: Boot) -> None:
    device = await boot(get_profile("camera"))
    await wait_for_state(hass, BRIGHTNESS, "75")
    await hass.async_block_till_done()
    known = weakref.ref(boot.known)
    del boot.known
    hass.config_entries.async_remove_subentry(boot.entry, *boot.entry.subentries)
    await device.wait_for(lambda: not device.connected, 30)
    await device.power_off()
    await asyncio.sleep(60)
    await hass.async_block_till_done()
    gc.collect()
    holders = [type(each) for each in gc.get_referrers(known())] if known() else []
    assert known() is None, holders


async def test_a_photo_goes_with_a_device_deleted_while_no_gateway_runs(
    hass: HomeAssistant, make_entry: MakeEntry
) -> None:
    folder = Path(hass.config.path(".storage"))
    left, kept, other = (
        folder / f"xiaozhi.{name}" for name in ("246f28aabb02_photo", "246f28aabb01_screen", "246f28aabb02")
    )
    await asyncio.to_thread(folder.mkdir, exist_ok=True)
    for file in (left, kept, other):
        await asyncio.to_thread(file.write_text, "{}")
    await running(hass, make_entry(paired_device(MAC, CLIENT_ID)))
    assert [file.exists() for file in (left, kept, other)] == [False, True, True]
    for file in (kept, other):
        file.unlink()


async def test_a_file_that_is_no_firmware_is_not_kept_in_memory(hass: HomeAssistant) -> None:
    folder = Path(hass.config.path("xiaozhi", "firmware"))
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    file = folder / "board_2.0.0.bin"
    await asyncio.to_thread(file.write_bytes, bytes(8 * 1024 * 1024))
    files = FirmwareFiles(hass, MockConfigEntry())
    await files.async_refresh()
    gc.collect()
    frames = [each for each in gc.get_objects() if type(each).__name__ == "frame"]
    assert not [frame for frame in frames if len(frame.f_locals.get("data", b"")) == 8 * 1024 * 1024]
    await files.async_stop()
    file.unlink()
