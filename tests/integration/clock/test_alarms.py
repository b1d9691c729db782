"""Alarms ring on their device, once, as well as its firmware can."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from unittest.mock import AsyncMock

from homeassistant.components.media_player import MediaPlayerState
from homeassistant.const import EVENT_HOMEASSISTANT_STARTED
from homeassistant.core import Context, CoreState, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import area_registry as ar, entity_registry as er, issue_registry as ir
from homeassistant.helpers.dispatcher import async_dispatcher_connect
from homeassistant.helpers.storage import Store
from homeassistant.util import dt as dt_util
from homeassistant.util.file import WriteError
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.device.events import EVENT_SIGNAL, AlarmEvent, DeviceEvent
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.timeouts import TimerTimeouts
from simulator import State, converse
from simulator.application.announcement import Outcome
from tests.integration.announcements.big_speaker import SELECT, BigSpeaker
from tests.integration.boxes import TWO_DEVICES, Speech, act, alerts, choose, state_of, wait_for_state
from tests.integration.clock.alarms import (
    CALENDAR,
    calendar,
    events,
    has_rung,
    rings_no_more,
    set_alarm,
    soon,
    told,
)
from tests.integration.clock.conftest import Handle
from tests.integration.names import COMMAND, MAC, NEW, OTHER_MAC, Boot

LINK = LinkKind.MQTT
BEDROOM_CALENDAR = "calendar.bedroom_box_alarms"
NEXT_ALARM = "sensor.kitchen_box_next_alarm"
SNOOZE = "button.kitchen_box_alarm_snooze"
STOP = "button.kitchen_box_alarm_stop"

pytestmark = pytest.mark.usefixtures("wall_clock")


async def delete_next(hass: HomeAssistant) -> None:
    following = calendar(hass).event
    assert following is not None
    await calendar(hass).async_delete_event(following.uid or "")


def hidden_by(hass: HomeAssistant) -> er.RegistryEntryHider | None:
    entry = er.async_get(hass).async_get(NEXT_ALARM)
    assert entry is not None
    return entry.hidden_by


def happened(hass: HomeAssistant) -> Any:
    return state_of(hass, "event.kitchen_box_alarm_event").attributes["event_type"]


@pytest.mark.timeouts(TimerTimeouts, alarm=100)
async def test_it_rings_louder_and_louder_and_the_owner_reads_that_nobody_came(
    hass: HomeAssistant, boot: Boot, speech: Speech, notes: list[str]
) -> None:
    """Not for its ten minutes here, which would be 10,000 packets."""
    device = await boot(NEW)
    assert hass.states.get(NEXT_ALARM) is None
    await set_alarm(hass, 60)
    assert dt_util.parse_datetime(state_of(hass, NEXT_ALARM).state) == soon(60)
    assert hidden_by(hass) is None
    announced = await device.wait_announced(timeout=200)
    assert announced.outcome is Outcome.PLAYED
    rate = device.speaker.rate
    assert len(announced.pcm) / 2 / rate == pytest.approx(100, abs=1)
    loudness = [
        max(memoryview(announced.pcm[2 * rate * at :][: 3 * rate]).cast("h")) for at in (0, 20, 35, 50, 80)
    ]
    assert loudness[:4] == sorted(set(loudness[:4]))
    assert loudness[4] == pytest.approx(loudness[3], rel=0.2)
    assert [text for _, text in announced.shown] == ["Alarm: Wake up"]
    assert "Nobody stopped these alarms on Kitchen box: Wake up" in await told(notes)
    await wait_for_state(hass, NEXT_ALARM, "unknown")
    assert hidden_by(hass) is er.RegistryEntryHider.INTEGRATION
    assert happened(hass) == "alarm_stopped"
    assert not await events(hass)
    assert not speech.recognizer.streams


@pytest.mark.parametrize("by", ["wake word", "button", "deleted"])
async def test_it_is_stopped_and_does_not_ring_again(
    hass: HomeAssistant, boot: Boot, notes: list[str], hass_storage: dict[str, Any], by: str
) -> None:
    """Nor does a kill lose or double it: it is on the disk when it is set, while it rings and when it has."""

    def stored() -> list[str]:
        alarms = hass_storage[f"{DOMAIN}.{boot.entry.entry_id}.owned"]["data"][MAC]["alarms"]
        return [alarm["name"] for alarm in alarms.values()]

    device = await boot()
    await set_alarm(hass, 10)
    assert stored() == ["Wake up"]
    await has_rung(device, 3)
    assert happened(hass) == "alarm_ringing"
    assert stored() == ["Wake up"]
    match by:
        case "wake word":
            await device.wake()
            await device.wait_state(State.IDLE, 10)
        case "button":
            await act(hass, "button", "press", STOP)
            assert not stored()
        case _:
            (uid,) = boot.known.state.alarms
            await calendar(hass).async_delete_event(uid)
    await asyncio.sleep(5)
    assert not stored()
    rung = len(alerts(device))
    assert happened(hass) == "alarm_stopped" or by == "deleted"
    assert await hass.config_entries.async_reload(boot.entry.entry_id)
    await asyncio.sleep(120)
    assert len(alerts(device)) == rung <= 5
    assert not notes


async def test_it_is_snoozed_by_the_button_or_by_voice_after_waking_the_device(
    hass: HomeAssistant, boot: Boot, handle: Handle, linked_entry: MockConfigEntry
) -> None:
    device = await boot()
    await set_alarm(hass, 10)
    await has_rung(device, 3)
    assert (device.screen.system_text, device.screen.emotion) == ("Alarm: Wake up", "happy")
    await act(hass, "button", "press", SNOOZE)
    assert happened(hass) == "alarm_snoozed"
    await device.wait_for(lambda: (device.screen.system_text, device.screen.emotion) == ("", "neutral"))
    # It is stored.
    assert await hass.config_entries.async_reload(linked_entry.entry_id)
    until = dt_util.parse_datetime(state_of(hass, NEXT_ALARM).state)
    assert until == pytest.approx(soon(540), abs=timedelta(seconds=5))
    await has_rung(device, len(alerts(device)) + 2, 600)
    await device.wake()
    await device.wait_state(State.IDLE, 10)
    await asyncio.sleep(5)
    assert "It rings again at" in await handle("XiaozhiSnoozeAlarm")
    await rings_no_more(device, 500)
    # Stop ends a snooze, too.
    await act(hass, "button", "press", STOP)
    await rings_no_more(device, 130)
    for button in (STOP, SNOOZE):
        with pytest.raises(HomeAssistantError, match="No alarm rings"):
            await act(hass, "button", "press", button)


async def test_the_next_alarm_is_shown_while_there_is_one_unless_hidden(
    hass: HomeAssistant, boot: Boot, linked_entry: MockConfigEntry
) -> None:
    await boot()
    for hider in (None, er.RegistryEntryHider.USER):
        await set_alarm(hass, 3600)
        er.async_get(hass).async_update_entity(NEXT_ALARM, hidden_by=hider)
        await delete_next(hass)
        await hass.async_block_till_done()
        assert hidden_by(hass) is (hider or er.RegistryEntryHider.INTEGRATION)
        assert await hass.config_entries.async_reload(linked_entry.entry_id)
        await set_alarm(hass, 3600)
        assert hidden_by(hass) is hider
        await delete_next(hass)


async def test_a_reminder_is_spoken_three_times(hass: HomeAssistant, boot: Boot, speech: Speech) -> None:
    device = await boot(NEW)
    await set_alarm(hass, 10, description="Take the bins out.")
    announced = await device.wait_announced(timeout=200)
    # The speech engine is asked once.
    assert speech.voice.spoken == ["Take the bins out."]
    assert announced.outcome is Outcome.PLAYED
    assert len(announced.pcm) / 2 / device.speaker.rate > 3 * 1.5 + 2 * 12


async def test_in_a_conversation_it_is_said_before_the_next_question(
    hass: HomeAssistant, boot: Boot, speech: Speech, notes: list[str]
) -> None:
    device = await boot()
    speech.recognizer.lines = [COMMAND]
    await set_alarm(hass, 1, "Bread")
    talk = await converse(device, speech.command, patience=60)
    assert talk.answers[-1] == "Alarm: Bread"
    await asyncio.sleep(60)
    assert not alerts(device)
    assert not notes
    assert happened(hass) == "alarm_stopped"


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
        told_of = await told(notes)
        assert "did not ring, because Home Assistant was off or Kitchen box" in told_of
        assert happened(hass) == "alarm_stopped"
        assert state_of(hass, "event.kitchen_box_alarm_event").attributes["unanswered"] is True
        assert not {"**", "](", "://"} & {
            told_of[at : at + size] for at in range(len(told_of)) for size in (2, 3)
        }
    await rings_no_more(device, 60)


async def test_the_clock_is_set_forward_and_back_and_no_alarm_is_lost_or_doubled(
    hass: HomeAssistant, boot: Boot, wall_clock: Callable[[timedelta], None], notes: list[str]
) -> None:
    device = await boot()
    await calendar(hass).async_create_event(dtstart=soon(3600), summary="Up", rrule="FREQ=DAILY")
    # As on a computer without a clock of its own, which gets the time from the network.
    wall_clock(timedelta(seconds=3600))
    await has_rung(device, 2, 100)
    await act(hass, "button", "press", STOP)
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


@pytest.mark.parametrize("is_off", [False, True])
async def test_a_clock_that_was_wrong_by_days_and_is_set_back_costs_no_morning(
    hass: HomeAssistant, boot: Boot, wall_clock: Callable[[timedelta], None], notes: list[str], is_off: bool
) -> None:
    device = await boot()
    await calendar(hass).async_create_event(dtstart=soon(3600), summary="Up", rrule="FREQ=DAILY")
    wall_clock(timedelta(seconds=3600))
    await has_rung(device, 2, 100)
    await act(hass, "button", "press", STOP)
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


async def test_a_snoozed_alarm_rings_no_more_when_its_time_is_deleted(
    hass: HomeAssistant, boot: Boot, known: Device
) -> None:
    device = await boot()
    first = soon(10)
    await calendar(hass).async_create_event(dtstart=first, summary="Up", rrule="FREQ=DAILY")
    await has_rung(device, 2)
    await act(hass, "button", "press", SNOOZE)
    (uid,) = known.state.alarms
    await calendar(hass).async_delete_event(uid, recurrence_id=f"{first:%Y%m%dT%H%M%S}")
    await rings_no_more(device, 700)
    assert dt_util.parse_datetime(state_of(hass, NEXT_ALARM).state) == first + timedelta(days=1)


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


@pytest.mark.parametrize("link", [LinkKind.MQTT, LinkKind.WEBSOCKET])
@pytest.mark.usefixtures("chosen")
async def test_another_loudspeaker_rings_on_either_link_until_it_is_woken(
    hass: HomeAssistant, boot: Boot, player: BigSpeaker, notes: list[str]
) -> None:
    """On WebSocket, nothing else can ring, and the player may be there only later."""
    device = await boot()
    on_websocket = device.link == LinkKind.WEBSOCKET
    await set_alarm(hass, 10)
    player.show(MediaPlayerState.IDLE, there=not on_websocket)
    await asyncio.sleep(60)
    assert bool(player.began) != on_websocket
    if on_websocket:
        player.show(MediaPlayerState.IDLE)
        await asyncio.sleep(60)
    assert (happened(hass), state_of(hass, player.entity_id).state) == ("alarm_ringing", "playing")
    await device.wake()
    await device.wait_state(State.IDLE, 10)
    await asyncio.sleep(5)
    assert (happened(hass), state_of(hass, player.entity_id).state) == ("alarm_stopped", "idle")
    await asyncio.sleep(700)
    assert len(player.began) == 1
    assert not notes


@pytest.mark.parametrize("target", ["entity_id", "area_id", "fault"])
@pytest.mark.usefixtures("chosen")
async def test_stopping_the_other_loudspeaker_stops_the_alarm_a_fault_does_not(
    boot: Boot, player: BigSpeaker, notes: list[str], hass_admin_user: MockUser, target: str
) -> None:
    area = ar.async_get(boot.hass).async_create("Hall").id
    er.async_get(boot.hass).async_update_entity(player.entity_id, area_id=area)
    device = await boot()
    await set_alarm(boot.hass, 10)
    await asyncio.sleep(60)
    assert (happened(boot.hass), state_of(boot.hass, player.entity_id).state) == ("alarm_ringing", "playing")
    if target == "fault":
        await player.async_media_stop()
        # Within five seconds, the device rings itself.
        await has_rung(device, 1, 5)
        await asyncio.sleep(700)
        assert "Nobody stopped these alarms" in await told(notes)
        return
    where = {"entity_id": player.entity_id, "area_id": area}
    by = Context(user_id=hass_admin_user.id)
    await boot.hass.services.async_call(
        "media_player", "media_stop", {target: where[target]}, blocking=True, context=by
    )
    await asyncio.sleep(5)
    assert (happened(boot.hass), state_of(boot.hass, player.entity_id).state) == ("alarm_stopped", "idle")
    await asyncio.sleep(700)
    assert len(player.began) == 1
    assert not notes


@pytest.mark.parametrize("link", [LinkKind.WEBSOCKET])
@pytest.mark.usefixtures("chosen")
async def test_none_can_be_set_without_a_ring_and_an_earlier_one_is_reported(
    hass: HomeAssistant, boot: Boot, handle: Handle, notes: list[str]
) -> None:
    await boot()
    await set_alarm(hass, 60)
    await choose(hass, SELECT, "this_device")
    words = "Choose MQTT as its connection, or a loudspeaker that rings in its place"
    with pytest.raises(HomeAssistantError, match=words):
        await set_alarm(hass, 60)
    assert words in await handle("XiaozhiSetAlarm", hours=7)
    assert "did not ring" in await told(notes)
    assert not await events(hass)


@TWO_DEVICES
async def test_an_alarm_is_stopped_and_snoozed_by_voice_also_at_another_device(
    hass: HomeAssistant, boot: Boot, handle: Handle, device_ids: list[str]
) -> None:
    device = await boot()
    for at in (*device_ids, None):
        await set_alarm(hass, 10)
        rung = len(alerts(device))
        await has_rung(device, rung + 3)
        assert "It rings again" in await handle("XiaozhiSnoozeAlarm", at)
        await has_rung(device, rung + 6, 600)
        assert await handle("XiaozhiStopAlarm", at) == "Alarm stopped."
        assert happened(hass) == "alarm_stopped"
        assert await handle("XiaozhiStopAlarm", at) == "No alarm rings."
        await asyncio.sleep(5)
        assert len(alerts(device)) <= rung + 8
    await rings_no_more(device, 700)
    assert "unknown_device" not in await handle("XiaozhiListAlarms", None)


@TWO_DEVICES
async def test_words_end_a_ring_here_then_elsewhere_and_then_a_snooze(
    hass: HomeAssistant, boot: Boot, handle: Handle, device_ids: list[str]
) -> None:
    kitchen, bedroom = device_ids
    device, other = await boot(), await boot(mac=OTHER_MAC)
    await set_alarm(hass, 10)
    await has_rung(device, 3)
    await handle("XiaozhiSnoozeAlarm", kitchen)
    for words in ("XiaozhiSnoozeAlarm", "XiaozhiStopAlarm"):
        await set_alarm(hass, 10, at=BEDROOM_CALENDAR)
        await has_rung(other, len(alerts(other)) + 3)
        await handle(words, kitchen)
        await rings_no_more(other, 60)
        assert happened(hass) == "alarm_snoozed"
    (snoozed,) = boot.known.state.alarms.values()
    assert snoozed.snoozed
    assert await handle("XiaozhiStopAlarm", bedroom) == "Alarm stopped."
    assert happened(hass) == "alarm_snoozed"
    assert await handle("XiaozhiStopAlarm", bedroom) == "No alarm rings."
    assert await handle("XiaozhiStopAlarm", kitchen) == "Alarm stopped."
    assert not boot.known.state.alarms
    assert await handle("XiaozhiStopAlarm", kitchen) == "No alarm rings."


async def test_a_device_that_is_deleted_has_no_alarms_any_more(
    hass: HomeAssistant, linked_entry: MockConfigEntry, notes: list[str]
) -> None:
    """Its owner reads which they were: Home Assistant's question before says nothing of them."""
    await set_alarm(hass, 60)
    (subentry,) = linked_entry.subentries
    form = await linked_entry.start_subentry_reconfigure_flow(hass, subentry)
    assert "Alarms set on Kitchen box: 1." in form["description_placeholders"]["notes"]
    hass.config_entries.async_remove_subentry(linked_entry, subentry)
    await hass.async_block_till_done()
    await asyncio.sleep(120)
    assert hass.states.get(CALENDAR) is None
    assert "Deleted with Kitchen box: Wake up" in await told(notes)
    assert not linked_entry.runtime_data.devices
