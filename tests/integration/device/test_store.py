"""What is known of devices is on disk in time for a crash."""

import asyncio
from collections.abc import Generator
import json
from pathlib import Path
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.helpers.storage import Store
import pytest

from custom_components.xiaozhi.clock.alarm import Alarm
from custom_components.xiaozhi.device.state import DeviceState
from custom_components.xiaozhi.device.store import DeviceStore
from tests.integration.names import MAC, OTHER_MAC
from tests.paths import ROOT

KEY = "xiaozhi.an_entry"
REAL_STORAGE = {name: getattr(Store, name) for name in ("_async_load", "_async_write_data")}
PRIVACY = ROOT / "docs/security.md"
# What each part of a record is called there.
STORED_AS = {
    "firmware": "firmware",
    "board": "board",
    "chip": "chip",
    "firmware_space": "space for firmware",
    "assets": "space for firmware and for wake words, fonts and faces",
    "free_memory": "its free memory",
    "ip": "IP address",
    "link": "kind of link",
    "told": "kind of link",
    "host": "the host under which it called",
    "origin": "the web address at which it reaches Home Assistant",
    "session": "id of the last conversation",
    "listens_while_speaking": "whether it listens while it speaks",
    "wake_words": "the last wake words",
    "installed_wake_words": "those that were put on it",
    "font": "its font",
    "silent_wakings": "how often it listened without reporting one",
    "followed": "the resources that are followed",
    "extended": "whether it announces more than stock firmware",
    "tools": "tools",
    "status": "last status",
    "answers": "what they last answered",
    "shapes": "of which members their answers consist",
    "calls": "arguments of the last calls",
    "volume_to_restore": "a volume to be restored after an announcement",
    "timers": "timers that run, with their names",
    "alarms": "alarms and reminders, with their names and texts",
    "last_contact": "last contact",
}


TIMER = {"name": "tea", "seconds": 240, "ends_at": None}
ALARM = {
    "start": "2026-03-02T07:00:00",
    "name": "Wake up",
    "text": "",
    "rule": "FREQ=DAILY",
    "skipped": ["2026-03-03T07:00:00"],
    "done": "2026-03-02T06:00:00+00:00",
    "snoozed": None,
}


async def test_the_owner_can_read_all_that_is_stored() -> None:
    (row,) = [line for line in PRIVACY.read_text().splitlines() if line.startswith("| `xiaozhi.<id")]
    assert DeviceState().as_dict().keys() == STORED_AS.keys()
    assert [words for words in STORED_AS.values() if words not in row] == []


@pytest.fixture
def file(hass: HomeAssistant, tmp_path: Path) -> Generator[Path]:
    """The file of a store. Tests with it read and write real files, which others of Home Assistant do not."""
    with pytest.MonkeyPatch.context() as patch:
        for name, method in REAL_STORAGE.items():
            patch.setattr(Store, name, method)
        patch.setattr(hass.config, "config_dir", str(tmp_path))
        folder = tmp_path / ".storage"
        folder.mkdir()
        yield folder / KEY


async def test_a_device_that_changes_all_the_time_is_saved_and_a_flood_of_conversations_once_a_second(
    hass: HomeAssistant, hass_storage: dict[str, Any]
) -> None:
    store = DeviceStore(hass, "an_entry", Alarm.from_dict)
    for number in range(40):
        store.record(MAC).update(firmware=f"2.2.{number}")
        await asyncio.sleep(6)
        if number and KEY in hass_storage:
            break
    else:
        pytest.fail("not saved within four times the delay")
    store.record(MAC).update(firmware="2.3.0")
    await asyncio.sleep(65)
    assert hass_storage[KEY]["data"][MAC]["firmware"] == "2.3.0"
    await asyncio.sleep(2)
    written: list[str] = []
    for number in range(30):
        store.record(MAC).update(session_id=f"conversation {number}")
        await asyncio.sleep(0.1)
        if (session := hass_storage[KEY]["data"][MAC]["session"]) not in written:
            written.append(session)
    assert written[0] == "conversation 0", "at once"
    assert len(written) in {3, 4}


async def test_what_a_crash_must_not_lose_is_saved_soon_whatever_changes_before_and_after(
    hass: HomeAssistant, hass_storage: dict[str, Any]
) -> None:
    store = DeviceStore(hass, "an_entry", Alarm.from_dict)
    store.record(MAC).update(firmware="2.2.5")
    store.record(MAC).update(timers={"a": TIMER})
    store.record(MAC).update(firmware="2.3.0")
    await asyncio.sleep(2)
    assert hass_storage[KEY]["data"][MAC]["timers"].keys() == {"a"}


async def test_a_file_that_was_cut_off_or_is_another_does_not_stop_the_gateway(
    hass: HomeAssistant, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for content in (
        "",
        '{"version": 1, "da',
        "[]",
        '{"version": 1}',
        '{"version": 99, "data": {}}',
        '{"version": 1, "data": [7]}',
    ):
        await asyncio.to_thread(file.write_text, content)
        store = DeviceStore(hass, "an_entry", Alarm.from_dict)
        await store.async_load()
        assert store.record(MAC).state == DeviceState()
        store.record(MAC).update(firmware="2.2.5")
        await store.async_save()
        written = json.loads(await asyncio.to_thread(file.read_text))["data"]
        assert written[MAC]["firmware"] == "2.2.5", content
    caplog.clear()


async def test_a_damaged_record_costs_no_other_device_its_own(
    hass: HomeAssistant, hass_storage: dict[str, Any]
) -> None:
    good = DeviceState(firmware="2.2.4", session_id="the last one")
    damaged: tuple[Any, ...] = (
        None,
        "nonsense",
        [1, 2],
        {"link": "pigeon"},
        {"tools": 7},
        {"tools": [{"name": 7}], "status": [], "answers": {"tool": 1}},
        {"answers": [1, 2]},
        {"calls": {"self.lamp.turn_on": 7}},
        {"firmware": 7, "board": [], "firmware_space": "all", "host": {}, "origin": 1, "session": 2},
        {"last_contact": 7},
        {"last_contact": "yesterday"},
        {"last_contact": "2026-02-31T12:00:00+00:00"},
        {"last_contact": "0001-01-01T00:00:00+14:00"},
    )
    for record in damaged:
        hass_storage[KEY] = {"version": 1, "data": {OTHER_MAC: record, MAC: good.as_dict()}}
        store = DeviceStore(hass, "an_entry", Alarm.from_dict)
        await store.async_load()
        assert store.record(MAC).state == good
        bad = store.record(OTHER_MAC).state
        assert (bad.firmware, bad.board, bad.firmware_space, bad.host, bad.session_id) == (None,) * 5
        assert (bad.link, bad.last_contact, bad.tools.tools, bad.calls) == (None, None, (), {}), record
        # Nor does what is damaged in a record cost the rest of it, such as alarms.
        if isinstance(record, dict):
            rest = {"timers": {"a": TIMER, "b": None}, "alarms": {"a": ALARM, "b": None, "c": {"start": 7}}}
            hass_storage[KEY]["data"][OTHER_MAC] = record | rest
            store = DeviceStore(hass, "an_entry", Alarm.from_dict)
            await store.async_load()
            assert store.record(OTHER_MAC).state.timers == {"a": TIMER}, record
            assert store.record(OTHER_MAC).state.as_dict()["alarms"] == {"a": ALARM}, record
        await store.async_save()
