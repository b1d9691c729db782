"""Alarms of an absent device, and of a clock or a disk that fails."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from unittest.mock import AsyncMock

from homeassistant.const import EVENT_HOMEASSISTANT_STARTED
from homeassistant.core import CoreState, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er, issue_registry as ir
from homeassistant.helpers.dispatcher import async_dispatcher_connect
from homeassistant.helpers.storage import Store
from homeassistant.util import dt as dt_util
from homeassistant.util.file import WriteError
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import CONF_LINK, DOMAIN
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.device.events import EVENT_SIGNAL, DeviceEvent
from custom_components.xiaozhi.guests.alarms.alarm_clock import AlarmEvent
from custom_components.xiaozhi.guests.alarms.timers import SetTimer
from custom_components.xiaozhi.guests.messages.voice_message import VoiceMessage
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.settings import DeviceLink
from simulator import SimulatedDevice
from tests.integration.announcements.big_speaker import PLAYER, SELECT
from tests.integration.boxes import act, alerts, change_settings, choose, open_issues, state_of
from tests.integration.clock.alarms import (
    CALENDAR,
    NEXT_ALARM,
    SNOOZE,
    STOP,
    calendar,
    events,
    happened,
    has_rung,
    next_note,
    rings_no_more,
    set_alarm,
    soon,
)
from tests.integration.clock.conftest import Handle
from tests.integration.names import MAC, Boot

LINK = LinkKind.MQTT


pytestmark = pytest.mark.usefixtures("wall_clock")


@pytest.mark.parametrize(("minutes", "rings"), [(9, True), (11, False)])
@pytest.mark.parametrize("off", ["device", "gateway"])
async def test_after_an_absence_it_rings_up_to_ten_minutes_late(
    hass: HomeAssistant,
    boot: Boot,
    wall_clock: Callable[[timedelta], None],
    notes: list[str],
    off: str,
    minutes: int,
    rings: bool,
) -> None:
    """Automations hear of it when they have begun to listen, after a restart of Home Assistant."""
    device = await boot()
    fired: list[DeviceEvent] = []
    async_dispatcher_connect(hass, EVENT_SIGNAL, lambda _, event: fired.append(event))
    await device.wait_for(lambda: bool(device.events("tool")))
    await set_alarm(hass, 10, "**[Up](http://192.168.1.66/)**")
    if off == "device":
        await device.power_off()
        await asyncio.sleep(10 + 60 * minutes)
        await device.boot()
    else:
        assert await hass.config_entries.async_unload(boot.entry.entry_id)
        wall_clock(timedelta(seconds=10, minutes=minutes))
        hass.set_state(CoreState.starting)
        assert await hass.config_entries.async_setup(boot.entry.entry_id)
        await asyncio.sleep(5)
        assert not [event for event in fired if isinstance(event.type, AlarmEvent)]
        hass.set_state(CoreState.running)
        hass.bus.async_fire(EVENT_HOMEASSISTANT_STARTED)
    if rings:
        await has_rung(device, 3)
        assert not notes
        # A reload in mid-ring: it goes on, and what is stopped stays so.
        assert await hass.config_entries.async_reload(boot.entry.entry_id)
        await has_rung(device, 6)
        await act(hass, "button", "press", STOP)
    else:
        text = await next_note(notes)
        assert "did not ring, because Home Assistant was off or Kitchen box" in text
        assert happened(hass) == "alarm_stopped"
        assert state_of(hass, "event.kitchen_box_alarm_event").attributes["unanswered"] is True
        assert not {"**", "](", "://"} & {text[at : at + size] for at in range(len(text)) for size in (2, 3)}
    await rings_no_more(device, 60)


async def stopped_after_a_jump(
    hass: HomeAssistant, boot: Boot, wall_clock: Callable[[timedelta], None]
) -> SimulatedDevice:
    """Set the clock forward to a daily alarm, and stop its ring."""
    device = await boot()
    await calendar(hass).async_create_event(dtstart=soon(3600), summary="Up", rrule="FREQ=DAILY")
    # As on a computer without a clock of its own, which gets the time from the network.
    wall_clock(timedelta(seconds=3600))
    await has_rung(device, 2, 100)
    await act(hass, "button", "press", STOP)
    return device


async def test_the_clock_is_set_forward_and_back_and_no_alarm_is_lost_or_doubled(
    hass: HomeAssistant, boot: Boot, wall_clock: Callable[[timedelta], None], notes: list[str]
) -> None:
    device = await stopped_after_a_jump(hass, boot, wall_clock)
    for minutes, seconds in ((-60, 60), (58, 200)):
        wall_clock(timedelta(minutes=minutes))
        await rings_no_more(device, seconds)
    for years in (-20, 20):
        wall_clock(timedelta(days=365 * years))
        rung = await rings_no_more(device, 120)
    wall_clock(timedelta(hours=23, minutes=58))
    await asyncio.sleep(120)
    assert len(alerts(device)) > rung
    assert not notes


@pytest.mark.parametrize("minutes", [-180, -30, 15, 45])
async def test_a_snooze_lasts_as_long_when_the_clock_is_set(
    hass: HomeAssistant, boot: Boot, wall_clock: Callable[[timedelta], None], notes: list[str], minutes: int
) -> None:
    device = await boot()
    await set_alarm(hass, 10)
    await has_rung(device, 2)
    await act(hass, "button", "press", SNOOZE)
    await asyncio.sleep(30)
    wall_clock(timedelta(minutes=minutes))
    rung = await rings_no_more(device, 480)
    await has_rung(device, rung + 2, 90)
    await act(hass, "button", "press", STOP)
    assert not notes
    assert not await events(hass)


async def test_an_alarm_that_the_clock_is_set_past_rings_now(
    hass: HomeAssistant, boot: Boot, wall_clock: Callable[[timedelta], None], notes: list[str]
) -> None:
    """Home Assistant was not off, and nothing says so."""
    device = await boot()
    await set_alarm(hass, 600)
    wall_clock(timedelta(minutes=45))
    await has_rung(device, 2, 100)
    await act(hass, "button", "press", STOP)
    assert not notes


@pytest.mark.parametrize("is_off", [False, True])
async def test_a_clock_that_was_wrong_by_days_and_is_set_back_costs_no_morning(
    hass: HomeAssistant, boot: Boot, wall_clock: Callable[[timedelta], None], notes: list[str], is_off: bool
) -> None:
    device = await stopped_after_a_jump(hass, boot, wall_clock)
    if is_off:
        assert await hass.config_entries.async_unload(boot.entry.entry_id)
    wall_clock(timedelta(hours=-20))
    if is_off:
        assert await hass.config_entries.async_setup(boot.entry.entry_id)
    await rings_no_more(device, 100)
    shown = dt_util.parse_datetime(state_of(hass, NEXT_ALARM).state)
    assert shown is not None
    assert abs(shown - soon(20 * 3600)) < timedelta(minutes=5)
    rung = len(alerts(device))
    wall_clock(timedelta(hours=20))
    await device.wait_for(lambda: len(alerts(device)) >= rung + 2, 100)
    await act(hass, "button", "press", STOP)
    assert not notes


async def test_on_a_full_disk_the_answers_say_so_and_all_is_stored_later(
    boot: Boot, handle: Handle, hass_storage: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    await boot()
    key, microphone = f"{DOMAIN}.{boot.entry.entry_id}.owned", "switch.kitchen_box_microphone"

    def stands() -> bool:
        return ir.async_get(boot.hass).async_get_issue(DOMAIN, f"not_stored_{key}") is not None

    with monkeypatch.context() as patch:
        patch.setattr(Store, "_async_write_data", AsyncMock(side_effect=WriteError("no space")))
        assert "could not store this" in await handle("XiaozhiSetAlarm", hours=5)
        with pytest.raises(HomeAssistantError, match="could not store this"):
            await act(boot.hass, "switch", "turn_off", microphone)
        assert state_of(boot.hass, microphone).state == "off"
        await asyncio.sleep(61)
        assert stands()
    await asyncio.sleep(61)
    assert not stands()
    stored = hass_storage[key]["data"][MAC]
    assert (len(stored["alarms"]), stored["microphone"]) == (1, False)
    await act(boot.hass, "switch", "turn_on", microphone)
    assert boot.known.microphone


async def test_another_time_zone_moves_the_next_alarm(hass: HomeAssistant, boot: Boot) -> None:
    await boot()
    await set_alarm(hass, 7200)
    before = dt_util.parse_datetime(state_of(hass, NEXT_ALARM).state)
    zone = hass.config.time_zone
    try:
        await hass.config.async_update(time_zone="Pacific/Honolulu")
        await hass.async_block_till_done()
        after = dt_util.parse_datetime(state_of(hass, NEXT_ALARM).state)
    finally:
        await hass.config.async_update(time_zone=zone)
    assert before is not None
    assert after is not None
    assert after - before in {timedelta(hours=2), timedelta(hours=3)}


@pytest.mark.parametrize("link", [LinkKind.WEBSOCKET])
@pytest.mark.parametrize("what", ["this device", "player gone"])
@pytest.mark.usefixtures("chosen")
async def test_none_can_be_set_without_a_ring_and_an_earlier_one_is_reported(
    boot: Boot, handle: Handle, notes: list[str], what: str
) -> None:
    """A repair says so at once."""
    hass = boot.hass
    await boot()
    await set_alarm(hass, 600)
    await asyncio.sleep(61)
    assert not open_issues(hass)
    if what == "this device":
        await choose(hass, SELECT, "this_device")
    else:
        er.async_get(hass).async_remove(PLAYER)
    await asyncio.sleep(2)
    gone = {"loudspeaker_gone"} if what == "player gone" else set()
    assert {issue.translation_key for issue in open_issues(hass)} == {"alarms_cannot_ring", *gone}
    words = "Choose MQTT as its connection, or a loudspeaker that rings in its place"
    with pytest.raises(HomeAssistantError, match=words):
        await set_alarm(hass, 60)
    assert words in await handle("XiaozhiSetAlarm", hours=7)
    assert "could not be reached: Wake up" in await next_note(notes)
    assert not await events(hass)
    await hass.async_block_till_done()
    assert "alarms_cannot_ring" not in {issue.translation_key for issue in open_issues(hass)}


async def test_a_repair_says_so_when_a_device_is_on_websocket_from_now_on(boot: Boot) -> None:
    device = await boot()
    await set_alarm(boot.hass, 600)
    change_settings(boot.hass, boot.entry, **{CONF_LINK: DeviceLink.WEBSOCKET.value})
    await asyncio.sleep(2)
    # Until it starts again, it can still be reached.
    assert not open_issues(boot.hass)
    await device.power_off()
    await device.boot()
    await asyncio.sleep(2)
    assert {issue.translation_key for issue in open_issues(boot.hass)} == {"alarms_cannot_ring"}


async def test_a_device_that_is_deleted_has_no_alarms_any_more(
    hass: HomeAssistant, known: Device, linked_entry: MockConfigEntry, notes: list[str]
) -> None:
    """Its owner reads which they were: Home Assistant's question before says nothing of them."""
    await set_alarm(hass, 60)
    known.record.update(
        timers={"a": SetTimer(name="[Tea](x)", seconds=240, ends_at=soon(240))},
        messages={"b": VoiceMessage(sender="Kitchen", sent=soon(0))},
    )
    (subentry,) = linked_entry.subentries
    form = await linked_entry.start_subentry_reconfigure_flow(hass, subentry)
    assert (
        "If Kitchen box is deleted, its alarms are deleted, too: 1."
        in form["description_placeholders"]["notes"]
    )
    hass.config_entries.async_remove_subentry(linked_entry, subentry)
    await hass.async_block_till_done()
    await asyncio.sleep(120)
    assert hass.states.get(CALENDAR) is None
    note = await next_note(notes)
    assert "Deleted with Kitchen box: Wake up" in note
    assert "Timer: \\[Tea" in note
    assert "voice messages that nobody has heard: 1." in note
    assert not linked_entry.runtime_data.devices
