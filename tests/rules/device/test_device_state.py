"""What is known of a device: what differs between two snapshots, and what was stored."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

from homeassistant.helpers.json import json_bytes
from homeassistant.util.json import json_loads, json_loads_object
import pytest
import voluptuous as vol

from custom_components.xiaozhi.device.state import DeviceState, changed_keys
from custom_components.xiaozhi.guests.alarms.timers import TIMERS, SetTimer
from custom_components.xiaozhi.protocol.boards import cancels_echo
from custom_components.xiaozhi.protocol.checkin import parse_checkin
from custom_components.xiaozhi.protocol.device_status import DeviceStatus
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import ListeningMode, get_profile
from simulator.board.profile import BOARDS
from simulator.board.system_info import Identity, system_info

MAC: Final = "24:6f:28:aa:bb:01"
OLD: Final = DeviceState(
    link=LinkKind.MQTT,
    linked=True,
    status=DeviceStatus(volume=50, battery_level=80),
    answers={"self.lamp.get": True, "self.room.get": {"co2": 600}},
    calls={"self.lamp.on": {}, "self.lamp.off": {}},
)
# As 0.2.0 stored it.
STORED: Final[dict[str, Any]] = {
    "firmware": "2.4.2",
    "board": "bread-compact-wifi",
    "chip": "esp32s3",
    "firmware_space": 4128768,
    "ip": "192.168.1.20",
    "link": "mqtt",
    "told": "mqtt",
    "host": "192.168.1.10",
    "origin": "http://192.168.1.10:8123",
    "session": "1b2c",
    "listens_while_speaking": False,
    "wake_words": ["hi"],
    "capabilities": {"tools": True},
    "offers": {"resources": [], "templates": [], "prompts": []},
    "tools": [{"name": "self.room.get", "description": "", "inputSchema": {}}],
    "status": {"volume": 70},
    "answers": {"self.room.get": {"co2": 600}},
    "calls": {"self.lamp.on": {}},
    "last_contact": "2026-10-01T12:00:00+00:00",
}


def written(state: DeviceState) -> dict[str, Any]:
    """Return what is in the file."""
    return {**json_loads_object(json_bytes(state.as_dict()))}


TIMER: Final = {"name": "Eggs", "seconds": 300, "ends_at": "2026-11-20T08:00:00+00:00"}


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ({}, set()),
        ({"status": DeviceStatus(volume=50, battery_level=80)}, set()),
        ({"status": DeviceStatus(volume=60, battery_level=80)}, {"status", "status.volume"}),
        ({"linked": False}, {"linked", "present", "available"}),
        ({"linked": False, "link": LinkKind.WEBSOCKET}, {"linked", "present", "link"}),
        ({"answers": {"self.lamp.get": True}}, {"answers", "answers.self.room.get"}),
        ({"calls": {"self.lamp.on": {}, "self.lamp.off": {}}}, set()),
        # The order counts: the lamp is on now.
        ({"calls": {"self.lamp.off": {}, "self.lamp.on": {}}}, {"calls", "calls.self.lamp.on"}),
        ({"calls": {**OLD.calls, "self.led.set": {"level": 2}}}, {"calls", "calls.self.led.set"}),
        ({"calls": {}}, {"calls", "calls.self.lamp.on", "calls.self.lamp.off"}),
    ],
)
def test_what_changed_follows_from_comparing(changes: dict[str, Any], keys: set[str]) -> None:
    assert set(changed_keys(OLD, replace(OLD, **changes))) == keys


def test_what_0_2_0_stored_is_read() -> None:
    state = DeviceState.from_dict(STORED)
    assert state.preferred_link is LinkKind.MQTT
    assert state.tools.by_name.keys() == {"self.room.get"}
    # It stored no shapes: they are those of the answers.
    assert [path for path, _ in state.tools.shapes["self.room.get"]] == ["co2"]
    again = written(state)
    kept = STORED.keys() - {"capabilities", "offers", "tools", "status"}
    assert {key: again[key] for key in kept} == {key: STORED[key] for key in kept}
    assert again["status"]["volume"] == 70
    assert DeviceState.from_dict(again) == state


def test_a_moment_without_a_time_zone_can_be_compared() -> None:
    moment = DeviceState.from_dict({"last_contact": "2026-02-01T12:00:00"}).last_contact
    assert moment is not None
    assert moment.tzinfo is not None


def test_a_timer_is_stored_and_read() -> None:
    timer = TIMERS.read(TIMER)
    assert timer == SetTimer(name="Eggs", seconds=300, ends_at=datetime(2026, 11, 20, 8, tzinfo=UTC))
    assert json_loads(json_bytes(TIMERS.write(timer))) == TIMER
    paused = TIMERS.read(TIMER | {"ends_at": None})
    assert paused == SetTimer(name="Eggs", seconds=300, ends_at=None)


@pytest.mark.parametrize(
    "damage",
    [
        {"ends_at": "2026-13-20T08:00:00+00:00"},
        {"ends_at": "tomorrow"},
        {"ends_at": 7},
        {"seconds": "300"},
        {"name": None},
    ],
)
def test_a_damaged_timer_is_left_out(damage: dict[str, Any]) -> None:
    with pytest.raises(vol.Invalid):
        TIMERS.read(TIMER | damage)


def test_a_timer_without_a_length_is_damaged() -> None:
    with pytest.raises(KeyError):
        TIMERS.read({name: value for name, value in TIMER.items() if name != "seconds"})


@pytest.mark.parametrize(
    ("board", "listens", "can_be"),
    [
        (None, None, False),
        ("bread-compact-wifi", None, False),
        ("bread-compact-wifi", True, True),
        ("esp-box-3", None, True),
        ("esp-box-3", False, False),
        ("waveshare-esp32-s3-touch-amoled-1.75", None, True),
        ("esp32-p4x-wifi6-touch-lcd-10.1", None, True),
    ],
)
def test_the_build_counts_until_a_conversation_shows_whether_it_listens(
    board: str | None, listens: bool | None, can_be: bool
) -> None:
    assert DeviceState(board=board, listens_while_speaking=listens).can_be_interrupted is can_be


@pytest.mark.parametrize(
    ("firmware", "extended", "does"),
    [(None, False, True), ("2.5.0", False, True), ("1.9.1", False, False), ("2.5.0", True, False)],
)
def test_what_runs_on_the_main_task_is_known_with_the_last_handshake(
    firmware: str | None, extended: bool, does: bool
) -> None:
    assert DeviceState(firmware=firmware, extended=extended).runs_tools_on_main_task is does


def test_the_table_of_builds_agrees_with_the_simulated_boards() -> None:
    for board in BOARDS.values():
        assert cancels_echo(board.name) is (board.mode is ListeningMode.REALTIME), board.name


@pytest.mark.parametrize("name", DeviceState().as_dict())
def test_damaged_or_missing_parts_of_a_record_cost_nothing_intact(name: str) -> None:
    intact = written(DeviceState.from_dict(STORED))
    # A shape belongs to a tool.
    others = intact.keys() - ({name, "shapes"} if name == "tools" else {name})
    damages: tuple[Any, ...] = (
        None,
        7,
        -1,
        "damaged",
        [],
        [None],
        {},
        {"a": None},
        {"a": {"b": 7}},
        [[1, 2]],
    )
    without = {other: intact[other] for other in intact.keys() - {name}}
    for stored in (without, *({**intact, name: damage} for damage in damages)):
        read = written(DeviceState.from_dict(stored))
        assert {other: read[other] for other in others} == {other: intact[other] for other in others}, stored


def test_a_box_in_a_wifi_with_a_quote_in_its_name_is_no_program() -> None:
    """Its check-in is no JSON."""
    headers = {"Host": "192.168.1.10", "Device-Id": MAC, "Client-Id": str(uuid4()), "User-Agent": "box/2.4.2"}
    identity = Identity(mac=MAC, client_id=headers["Client-Id"])
    body = system_info(get_profile(ssid='Mom"s'), identity, "ota_0").encode()
    new = DeviceState()
    known = new.after_check_in(parse_checkin(headers, body))
    assert (known.chip, known.is_program) == ("esp32s3", False)
    unread = parse_checkin(headers, b"{")
    assert known.after_check_in(unread).chip == "esp32s3"
    assert not new.after_check_in(unread).is_program
    assert new.after_check_in(parse_checkin(headers, b"{}")).is_program
