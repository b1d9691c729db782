"""The firmware of a device: what is found for it, and how it is installed, or not."""

import asyncio
import os
from pathlib import Path
import re
import shutil
from typing import Any

from homeassistant.core import Event, EventStateChangedData, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
from homeassistant.helpers.event import async_track_state_change_event
from homeassistant.helpers.json import json_bytes
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.typing import WebSocketGenerator

from custom_components.xiaozhi.device_http import transfers
from custom_components.xiaozhi.guests.firmware import available_firmware
from custom_components.xiaozhi.guests.firmware.firmware_image import FirmwareImage
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.timeouts import CallTimeouts
from simulator import SimulatedDevice, build_image, get_profile
from tests.integration.boxes import open_issues, state_of, wait_for_state
from tests.integration.firmware.conftest import (
    BOARD,
    CONNECTED,
    FIRMWARE,
    QUICK,
    SIZE,
    boot_linked,
    fetches,
    install,
    look,
    release_notes,
    versions,
)
from tests.integration.names import Boot


def put(folder: Path, version: str = "2.4.2", *, name: str | None = None, **options: Any) -> None:
    image = build_image(version=version, **{"size": SIZE, **options})
    (folder / (name or f"{BOARD}_{version}.bin")).write_bytes(image)


async def restart(device: SimulatedDevice) -> None:
    await device.power_off()
    await device.boot()


async def restart_linked(hass: HomeAssistant, device: SimulatedDevice) -> None:
    await restart(device)
    await wait_for_state(hass, CONNECTED, "on")


async def test_a_device_gets_a_new_firmware_from_a_file(
    hass: HomeAssistant, box: SimulatedDevice, folder: Path, hass_ws_client: WebSocketGenerator
) -> None:
    """Nothing happens before its owner wants it; then it is fetched once, and the progress seen."""
    assert versions(hass) == ("unknown", "2.4.1", None)
    assert "folder xiaozhi/firmware" in await release_notes(hass, hass_ws_client)
    put(folder)
    put(folder, "2.4.0")
    put(folder, "2.5.0", name="another-board_2.5.0.bin")
    await look(hass)
    assert versions(hass) == ("on", "2.4.1", "2.4.2")
    await restart_linked(hass, box)
    assert fetches(box) == 0

    seen: list[int] = []

    @callback
    def note(event: Event[EventStateChangedData]) -> None:
        state = event.data["new_state"]
        assert state is not None
        if (percentage := state.attributes["update_percentage"]) is not None:
            assert state.attributes["in_progress"]
            seen.append(percentage)

    stop = async_track_state_change_event(hass, [FIRMWARE], note)
    await install(hass)
    await hass.async_block_till_done()
    stop()
    assert versions(hass) == ("off", "2.4.2", "2.4.2")
    assert (box.profile.version, fetches(box)) == ("2.4.2", 1)
    assert seen == sorted(seen)
    assert len(set(seen)) > 4
    assert seen[-1] == 100
    # Back to normal: linked, and offered nothing.
    await wait_for_state(hass, CONNECTED, "on")
    await restart_linked(hass, box)
    assert fetches(box) == 1


async def test_an_older_firmware_is_installed_if_named_an_unsuitable_one_refused(
    hass: HomeAssistant, box: SimulatedDevice, folder: Path
) -> None:
    """The newest stays what it is. A device would not take an older one unless it is made to, once."""
    put(folder, "2.3.0")
    await look(hass)
    assert versions(hass) == ("off", "2.4.1", "2.3.0")
    await install(hass, version="2.3.0")
    assert (box.profile.version, fetches(box)) == ("2.3.0", 1)
    await restart_linked(hass, box)
    assert fetches(box) == 1
    unsuitable: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("2.4.3", {"chip": "esp32c3"}, "is for the chip esp32c3, and the device has esp32s3"),
        ("2.4.4", {"size": 5 * 1024 * 1024}, "and the device has room for"),
        ("1.9.4", {}, "only be installed over a cable"),
    )
    for version, options, _ in unsuitable:
        put(folder, version, **options)
    await look(hass)
    assert versions(hass) == ("off", "2.3.0", "2.3.0")
    for version, _, reason in unsuitable:
        with pytest.raises(ServiceValidationError, match=reason):
            await install(hass, version=version)
    # What is not there is named with the file that is needed.
    with pytest.raises(HomeAssistantError, match=re.escape(f"{BOARD}_2.5.0.bin")):
        await install(hass, version="2.5.0")
    assert fetches(box) == 1


@pytest.mark.parametrize("link", [LinkKind.WEBSOCKET])
async def test_an_unreachable_device_gets_it_when_it_is_started_in_time(
    hass: HomeAssistant, boot: Boot, folder: Path, linked_entry: MockConfigEntry
) -> None:
    device = await boot(get_profile(version="2.4.1"), pace=QUICK)
    put(folder)
    await look(hass)
    with pytest.raises(HomeAssistantError, match="has not been started within 15 minutes"):
        await install(hass)
    await restart(device)
    assert (fetches(device), device.profile.version) == (0, "2.4.1")
    assert versions(hass) == ("on", "2.4.1", "2.4.2")
    task = asyncio.create_task(install(hass))
    await asyncio.sleep(0.1)
    assert state_of(hass, FIRMWARE).attributes["in_progress"] is True
    assert fetches(device) == 0
    with pytest.raises(HomeAssistantError, match="already in progress"):
        await install(hass)
    await restart(device)
    await task
    assert versions(hass) == ("off", "2.4.2", "2.4.2")
    # Removing the device ends it.
    put(folder, "2.4.3")
    await look(hass)
    task = asyncio.create_task(install(hass))
    await asyncio.sleep(0.1)
    (subentry_id,) = linked_entry.subentries
    hass.config_entries.async_remove_subentry(linked_entry, subentry_id)
    with pytest.raises(HomeAssistantError, match="was stopped, because"):
        await task


async def test_unusable_files_are_told_until_they_are_gone_whatever_their_names(
    hass: HomeAssistant, box: SimulatedDevice, folder: Path
) -> None:
    """Each with its reason; what is no firmware by its name is nobody's business."""
    put(folder, "2.4.2")
    put(folder, "v2.4.3", name=f"{BOARD}_2.4.3.bin")
    put(folder, "2.4.4", name="firmware.bin")
    put(folder, "2.4.5", name=f"{BOARD}_2.4.6.bin")
    put(folder, "2.4.7", name=f"{BOARD}_latest.bin")
    (folder / f"{BOARD}_2.4.8.bin").write_bytes(b"<html>")
    (folder / f"{BOARD}_2.4.9.zip").write_bytes(b"PK\3\4")
    (folder / "notes.txt").write_text("remember the milk")
    (folder / "more.bin").mkdir()
    # Names are bytes, and what is told must be text.
    (folder / os.fsdecode(b"\xff_2.4.2.bin")).write_bytes(b"?")
    (folder / "lost_2.4.2.bin").symlink_to(folder / "nowhere")
    (folder / "evil\n\x1b[31m\u202e.bin").write_bytes(b"?")
    await look(hass)
    assert versions(hass)[2] == "2.4.2"

    def told() -> dict[str, str]:
        found = (issue.translation_placeholders for issue in open_issues(hass))
        return {texts["file"]: texts["reason"] for texts in found if texts}

    assert told() == {
        f"{BOARD}_2.4.3.bin": "The file has version v2.4.3, with which a device cannot start.",
        "firmware.bin": "The name of the file must be board and version, such as xmini-c3_2.4.2.bin.",
        f"{BOARD}_2.4.6.bin": "The name of the file says version 2.4.6, but it holds version 2.4.5.",
        f"{BOARD}_latest.bin": "The name of the file must be board and version, such as xmini-c3_2.4.2.bin.",
        f"{BOARD}_2.4.8.bin": "The file is not a firmware for an ESP32.",
        f"{BOARD}_2.4.9.zip": "The archive is damaged.",
        "\ufffd_2.4.2.bin": "The name of the file must be board and version, such as xmini-c3_2.4.2.bin.",
        "lost_2.4.2.bin": "The file cannot be read. Copy it again.",
        "evil [31m.bin": "The name of the file must be board and version, such as xmini-c3_2.4.2.bin.",
    }
    issues = open_issues(hass)
    assert json_bytes([issue.to_json() for issue in issues])
    await asyncio.to_thread(shutil.rmtree, folder)
    await asyncio.to_thread(folder.mkdir)
    put(folder, "2.4.8")
    await look(hass)
    assert told() == {}
    assert versions(hass)[2] == "2.4.8"
    # A file where the folder should be.
    await asyncio.to_thread(shutil.rmtree, folder)
    await asyncio.to_thread(folder.touch)
    await look(hass)
    assert told() == {"firmware": "The file cannot be read. Copy it again."}


@pytest.mark.timeouts(CallTimeouts, stall=0.02)
async def test_a_download_that_breaks_off_is_told_and_the_device_goes_on(
    hass: HomeAssistant, boot: Boot, folder: Path
) -> None:
    """Here because it writes slower than anybody waits. It gives up, too, and goes on with what it had."""
    box = await boot_linked(hass, boot, flash=0.5)
    put(folder, size=1024 * 1024)
    await look(hass)
    with pytest.raises(HomeAssistantError, match=r"stopped fetching firmware 2\.4\.2 at [0-9]{1,2} %"):
        await install(hass)
    await wait_for_state(hass, CONNECTED, "on")
    assert box.profile.version == "2.4.1"
    assert versions(hass) == ("on", "2.4.1", "2.4.2")


@pytest.fixture
async def refused(
    hass: HomeAssistant, box: SimulatedDevice, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> SimulatedDevice:
    """A device that is offered a damaged firmware, as if that had passed here."""
    put(folder)
    await look(hass)
    image = bytearray(build_image(version="2.4.2", size=SIZE))
    image[-1] ^= 1
    broken = FirmwareImage(version="2.4.2", chip="esp32s3", content=bytes(image))
    monkeypatch.setattr(available_firmware, "read_firmware", lambda data: broken)
    return box


async def test_a_device_that_ignores_or_refuses_the_firmware_keeps_its_own(
    hass: HomeAssistant, refused: SimulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as unreachable:
        # It cannot fetch from the address that it is given.
        unreachable.setattr(transfers.Transfers, "take", lambda _transfers, _kind, _token: None)
        with pytest.raises(HomeAssistantError, match="did not fetch it"):
            await install(hass)
    await wait_for_state(hass, CONNECTED, "on")
    assert refused.profile.version == "2.4.1"
    # It goes on where it was, at once and without another check-in.
    async with asyncio.timeout(10):
        with pytest.raises(HomeAssistantError, match="runs its old firmware"):
            await install(hass)
    await wait_for_state(hass, CONNECTED, "on")
    assert refused.profile.version == "2.4.1"
    assert versions(hass) == ("on", "2.4.1", "2.4.2")


async def test_a_restart_before_the_last_link_ends_goes_on_with_its_own(
    hass: HomeAssistant, refused: SimulatedDevice
) -> None:
    """Without power, it seems to be connected until it is."""
    await refused.lose_power()
    task = asyncio.create_task(install(hass))
    await asyncio.sleep(0.1)
    async with asyncio.timeout(30):
        await refused.boot()
        with pytest.raises(HomeAssistantError, match="runs its old firmware"):
            await task
