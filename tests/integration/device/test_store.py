"""What is known of devices is on disk in time for a crash."""

import asyncio
from collections.abc import AsyncGenerator, Generator
import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import ConfigEntryError, ConfigEntryNotReady, HomeAssistantError
from homeassistant.helpers import issue_registry as ir, storage
from homeassistant.helpers.storage import Store
from homeassistant.util import json as json_util
from homeassistant.util.file import WriteError
import pytest

from custom_components.xiaozhi.device.state import DeviceState
from custom_components.xiaozhi.device.store import DeviceStore
from custom_components.xiaozhi.errors import UserError
from custom_components.xiaozhi.guests import GUESTS
from custom_components.xiaozhi.guests.alarms.timers import SetTimer
from tests.integration.names import MAC, OTHER_MAC
from tests.paths import ROOT

KEY = "xiaozhi.an_entry"
OWNED_KEY = f"{KEY}.owned"
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
    "lost_pack": "whether it has lost its pack",
    "font": "its font",
    "silent_wakings": "how often it listened without reporting one",
    "pauses": "how long people paused in their last turns",
    "followed": "the resources that are followed",
    "extended": "whether it announces more than stock firmware",
    "tools": "tools",
    "status": "last status",
    "answers": "what they last answered",
    "shapes": "of which members their answers consist",
    "calls": "arguments of the last calls",
    "volume_to_restore": "the usual volume and brightness while they are others",
    "brightness_to_restore": "the usual volume and brightness while they are others",
    "last_contact": "last contact",
}
OWNED_AS = {
    "timers": "timers that run, with their names",
    "alarms": "alarms and reminders, with their names and texts",
    "messages": "voice messages that nobody has heard yet: from which room, and when",
    "microphone": "whether its microphone is switched on",
    "do_not_disturb": "whether it is not to disturb",
    "sent_pack": "wake words that are on their way to it",
    **{name: STORED_AS[name] for name in ("pauses", "volume_to_restore", "brightness_to_restore")},
    "installed_wake_words": "wake words that were put on it",
    "players_to_silence": "media players that are to be silent again after a ring",
}


OWNED = [kind for guest in GUESTS for kind in guest.owned]
NOTHING: dict[str, Any] = {kind.key: kind.of(DeviceState()) for kind in OWNED}
TIMER = {"name": "tea", "seconds": 240, "ends_at": None}
SET_TIMER = SetTimer(name="tea", seconds=240, ends_at=None)
ALARM = {
    "start": "2026-03-02T07:00:00",
    "name": "Wake up",
    "text": "",
    "rule": "FREQ=DAILY",
    "skipped": ["2026-03-03T07:00:00"],
    "done": "2026-03-02T06:00:00+00:00",
    "snoozed": None,
}


async def test_the_owner_can_read_all_that_is_stored(hass: HomeAssistant) -> None:
    record = DeviceStore(hass, "an_entry", OWNED).record(MAC)
    for row_of, stored, described in (
        ("| `xiaozhi.<id of the entry>`", DeviceState().as_dict(), STORED_AS),
        (
            "| `xiaozhi.<id of the entry>.owned`",
            record.owned_as_dict(),
            OWNED_AS,
        ),
    ):
        (row,) = [line for line in PRIVACY.read_text().splitlines() if line.startswith(row_of)]
        assert stored.keys() == described.keys()
        assert [words for words in described.values() if words not in row] == []


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


async def test_a_changing_device_is_saved_and_many_conversations_once_a_second(
    hass: HomeAssistant, hass_storage: dict[str, Any]
) -> None:
    store = await opened(hass)
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


_opened: list[DeviceStore] = []


@pytest.fixture(autouse=True)
async def close_stores() -> AsyncGenerator[None]:
    """Let no store of a test write in the next one, whose files have the same names."""
    yield
    while _opened:
        await _opened.pop().async_close()


async def opened(hass: HomeAssistant) -> DeviceStore:
    store = DeviceStore(hass, "an_entry", OWNED)
    _opened.append(store)
    await store.async_load()
    return store


async def read(file: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(await asyncio.to_thread(file.read_text))["data"]
    return data


def set_aside(hass: HomeAssistant) -> list[str]:
    """Return where the repair issues say that damaged files are, which are there."""
    issues = ir.async_get(hass).issues.values()
    return [
        (issue.translation_placeholders or {})["path"]
        for issue in issues
        if issue.issue_id.startswith("storage_damaged") and issue.is_persistent
    ]


async def test_what_a_crash_must_not_lose_is_saved_soon_whatever_else_changes(
    hass: HomeAssistant, hass_storage: dict[str, Any]
) -> None:
    store = await opened(hass)
    store.record(MAC).update(firmware="2.2.5")
    store.record(MAC).update(timers={"a": SET_TIMER})
    store.record(MAC).update(firmware="2.3.0")
    await asyncio.sleep(2)
    assert hass_storage[OWNED_KEY]["data"][MAC]["timers"].keys() == {"a"}


async def test_what_is_to_be_restored_survives_an_older_version(
    hass: HomeAssistant, hass_storage: dict[str, Any]
) -> None:
    """One that knows nothing of it, and one that had it among the readings."""
    kept = {"volume_to_restore": (70, 30), "brightness_to_restore": (75, 10), "pauses": (0, 40)}
    store = await opened(hass)
    store.record(MAC).update(**kept, timers={"a": SET_TIMER})
    await asyncio.sleep(2)
    store.record(MAC).update(pauses=(0, 40, 20))
    await asyncio.sleep(61)
    owned = hass_storage[OWNED_KEY]["data"][MAC]
    assert owned["pauses"] == [0, 40, 20]
    files = ({"firmware": "2.2.4"}, owned), ({**kept, "pauses": [7]}, {"timers": {"a": TIMER}})
    found = []
    for readings, others in files:
        for key, data in ((KEY, readings), (OWNED_KEY, others)):
            hass_storage[key] = {"version": 1, "data": {MAC: data}}
        state = (await opened(hass)).record(MAC).state
        assert (state.volume_to_restore, state.brightness_to_restore) == ((70, 30), (75, 10))
        assert state.owned["timers"] == {"a": SET_TIMER}
        found.append(state.pauses)
    assert found == [(0, 40, 20), (7,)]


@pytest.mark.parametrize("key", [KEY, OWNED_KEY])
async def test_a_damaged_file_is_set_aside_and_the_gateway_starts(
    hass: HomeAssistant, file: Path, caplog: pytest.LogCaptureFixture, key: str
) -> None:
    path = file.with_name(key)
    for content in ("", '{"version": 1, "da', "[]", '{"version": 1}', '{"version": 1, "data": [7]}'):
        for each in file.parent.iterdir():
            each.unlink()
        await asyncio.to_thread(path.write_text, content)
        store = await opened(hass)
        assert store.record(MAC).state == DeviceState(owned=NOTHING)
        store.record(MAC).update(firmware="2.2.5", timers={"a": SET_TIMER})
        await store.async_close()
        assert (await read(file))[MAC]["firmware"] == "2.2.5", content
        assert (await read(file.with_name(OWNED_KEY)))[MAC]["timers"] == {"a": TIMER}
        (kept,) = [each for each in file.parent.iterdir() if each.name not in {KEY, OWNED_KEY}]
        assert await asyncio.to_thread(kept.read_text) == content
        # Home Assistant itself reports what is no JSON.
        assert str(kept) in set_aside(hass) or "corrupt" in kept.name
        await opened(hass)
        assert len([*file.parent.iterdir()]) == 3, "it is set aside once"
    assert set_aside(hass)
    caplog.clear()


@pytest.mark.parametrize("key", [KEY, OWNED_KEY])
@pytest.mark.parametrize("fault", ["unreadable", "newer", "cancelled"])
async def test_what_could_not_be_read_is_never_written_over(
    hass: HomeAssistant, file: Path, fault: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file.with_name(key)
    content = json.dumps({"version": 99 if fault == "newer" else 1, "data": {MAC: {"alarms": {"a": ALARM}}}})
    await asyncio.to_thread(path.write_text, content)
    store = DeviceStore(hass, "an_entry", OWNED)
    with monkeypatch.context() as patch:
        if fault == "unreadable":
            # Tests may run as root, to whom every file is readable.
            patch.setattr(json_util, "load_json", Mock(side_effect=HomeAssistantError("I/O error")))
        loading = asyncio.create_task(store.async_load())
        if fault == "cancelled":
            await asyncio.sleep(0)
            loading.cancel()
        expected = {"unreadable": ConfigEntryNotReady, "newer": ConfigEntryError}
        with pytest.raises(expected.get(fault, asyncio.CancelledError)):
            await loading
    store.record(MAC).update(firmware="2.2.5", timers={"a": SET_TIMER})
    await store.async_close()
    await asyncio.sleep(70)
    assert await asyncio.to_thread(path.read_text) == content
    if fault != "newer":
        assert (await opened(hass)).record(MAC).state.owned["alarms"].keys() == {"a"}


async def test_alarms_of_0_5_0_are_moved_once_and_what_is_damaged_is_kept(
    hass: HomeAssistant, file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    old = {"version": 1, "data": {MAC: {"firmware": "2.2.4", "alarms": {"a": ALARM, "b": {"start": 7}}}}}
    await asyncio.to_thread(file.write_text, json.dumps(old))
    with monkeypatch.context() as patch:
        patch.setattr(storage, "write_utf8_file_atomic", Mock(side_effect=WriteError("no space")))
        store = await opened(hass)
        store.record(MAC).update(firmware="2.2.5")
        await asyncio.sleep(61)
        # The other file does not have them yet.
        assert (await read(file))[MAC]["alarms"].keys() == {"a", "b"}
    await store.async_close()
    assert (await read(file.with_name(OWNED_KEY)))[MAC]["alarms"].keys() == {"a"}
    assert "alarms" not in (await read(file))[MAC]
    (kept,) = set_aside(hass)
    assert (await read(Path(kept)))[MAC]["alarms"].keys() == {"a", "b"}
    store = await opened(hass)
    store.record(MAC).update(alarms={})
    await store.async_close()
    # What 0.5.0 has set meanwhile is taken too.
    data = await read(file)
    data[MAC]["alarms"] = {"c": ALARM}
    await asyncio.to_thread(file.write_text, json.dumps({"version": 1, "data": data}))
    assert (await opened(hass)).record(MAC).state.owned["alarms"].keys() == {"c"}
    caplog.clear()


async def test_acknowledged_means_stored(
    hass: HomeAssistant, file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """On a full disk, the answer says so, a repair issue stands, and it is tried again each minute."""

    def stands() -> bool:
        return ir.async_get(hass).async_get_issue("xiaozhi", f"not_stored_{OWNED_KEY}") is not None

    store = await opened(hass)
    record = store.record(MAC)
    with monkeypatch.context() as patch:
        patch.setattr(storage, "write_utf8_file_atomic", Mock(side_effect=WriteError("no space")))
        record.update(timers={"a": SET_TIMER})
        with pytest.raises(UserError, match="not_stored"):
            await record.async_save()
        await asyncio.sleep(70)
        assert stands()
    await asyncio.sleep(61)
    assert not stands()
    assert (await read(file.with_name(OWNED_KEY)))[MAC]["timers"] == {"a": TIMER}
    record.update(timers={"b": SET_TIMER})
    await asyncio.gather(*(record.async_save() for _ in range(5)))
    assert (await read(file.with_name(OWNED_KEY)))[MAC]["timers"] == {"b": TIMER}
    await store.async_close()
    caplog.clear()


async def test_switches_are_kept_and_a_damaged_one_is_as_at_first(
    hass: HomeAssistant, hass_storage: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    store = await opened(hass)
    store.record(MAC).update(microphone=False, do_not_disturb=True)
    await store.async_close()
    for stored, expected in (
        ({}, (False, True)),
        # As 0.6.0 had it at first, and damaged.
        ({"do_not_disturb": None}, (False, False)),
        ({"microphone": 7}, (True, True)),
        ({"do_not_disturb": 7}, (False, False)),
    ):
        switches = hass_storage[OWNED_KEY]["data"][MAC]
        data = {key: each for key, each in (switches | stored).items() if each is not None}
        hass_storage[OWNED_KEY] = {"version": 1, "data": {MAC: data}}
        store = await opened(hass)
        state = store.record(MAC).state
        assert (state.microphone, state.owned["do_not_disturb"]) == expected
        store.record(MAC).update(microphone=False, do_not_disturb=True)
        await store.async_close()
    assert "Damaged data of a device are left out: microphone" in caplog.text
    caplog.clear()


async def test_a_damaged_record_costs_no_other_device_its_own(
    hass: HomeAssistant, hass_storage: dict[str, Any]
) -> None:
    good = DeviceState(firmware="2.2.4", session_id="the last one", owned=NOTHING)
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
        store = DeviceStore(hass, "an_entry", OWNED)
        await store.async_load()
        assert store.record(MAC).state == good
        bad = store.record(OTHER_MAC).state
        assert (bad.firmware, bad.board, bad.firmware_space, bad.host, bad.session_id) == (None,) * 5
        assert (bad.link, bad.last_contact, bad.tools.tools, bad.calls) == (None, None, (), {}), record
        # Nor does what is damaged in a record cost the rest of it, such as alarms.
        if isinstance(record, dict):
            rest = {"timers": {"a": TIMER, "b": None}, "alarms": {"a": ALARM, "b": None, "c": {"start": 7}}}
            hass_storage.pop(OWNED_KEY, None)
            hass_storage[KEY]["data"][OTHER_MAC] = record | rest
            store = DeviceStore(hass, "an_entry", OWNED)
            await store.async_load()
            assert store.record(OTHER_MAC).state.owned["timers"] == {"a": SET_TIMER}, record
            assert store.record(OTHER_MAC).state.owned["alarms"].keys() == {"a"}, record
        await store.async_close()
