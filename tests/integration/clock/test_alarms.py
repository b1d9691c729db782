"""Alarms ring on their device, once, as well as its firmware can; the calendar page edits them."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

from homeassistant.components.calendar import CalendarEntity
from homeassistant.components.calendar.const import DATA_COMPONENT
from homeassistant.components.media_player import MediaPlayerState
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import intent, llm
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import State, converse, get_profile
from simulator.application.announcement import Outcome
from tests.integration.announcements.test_room_player import SELECT, TWO_DEVICES, BigSpeaker
from tests.integration.boxes import Speech, act, choose, state_of, wait_for_state
from tests.integration.clock.test_timers import alerts, told
from tests.integration.names import MAC, Boot

LINK = LinkKind.MQTT
CALENDAR = "calendar.kitchen_box_alarms"
NEXT_ALARM = "sensor.kitchen_box_next_alarm"
SNOOZE = "button.kitchen_box_snooze_alarm"
STOP = "button.kitchen_box_stop_alarm"
EVENT = "event.kitchen_box_alarm_event"

NEW = get_profile(version="2.5.0")

type SetClock = Callable[[timedelta], None]
type Say = Callable[..., Awaitable[intent.IntentResponse]]


@pytest.fixture
def handle(hass: HomeAssistant, device_id: str) -> Say:
    async def handle(kind: str, **slots: Any) -> intent.IntentResponse:
        values = {name: {"value": value} for name, value in slots.items()}
        return await intent.async_handle(hass, "test", kind, values, device_id=device_id, language="en")

    return handle


def soon(seconds: float) -> datetime:
    return dt_util.as_local(dt_util.utcnow() + timedelta(seconds=seconds)).replace(microsecond=0)


async def set_alarm(hass: HomeAssistant, seconds: float, name: str = "Wake up", **fields: Any) -> None:
    start = soon(seconds)
    end = start + timedelta(hours=1)
    await act(
        hass,
        "calendar",
        "create_event",
        CALENDAR,
        **{"summary": name, "start_date_time": start, "end_date_time": end, **fields},
    )
    await hass.async_block_till_done()


def calendar(hass: HomeAssistant) -> CalendarEntity:
    entity = hass.data[DATA_COMPONENT].get_entity(CALENDAR)
    assert entity is not None
    return entity


async def events(hass: HomeAssistant) -> list[dict[str, Any]]:
    found = await act(hass, "calendar", "get_events", CALENDAR, returns=True, duration=timedelta(days=30))
    listed: list[dict[str, Any]] = found[CALENDAR]["events"]
    return listed


def happened(hass: HomeAssistant) -> Any:
    return state_of(hass, EVENT).attributes["event_type"]


pytestmark = pytest.mark.usefixtures("wall_clock")


async def test_it_rings_ten_minutes_louder_and_louder_and_the_owner_reads_that_nobody_stopped_it(
    hass: HomeAssistant, boot: Boot, speech: Speech, notes: list[str]
) -> None:
    device = await boot(NEW)
    assert hass.states.get(NEXT_ALARM) is None
    await set_alarm(hass, 60)
    assert dt_util.parse_datetime(state_of(hass, NEXT_ALARM).state) == soon(60)
    announced = await device.wait_announced(timeout=800)
    assert announced.outcome is Outcome.PLAYED
    rate = device.speaker.rate
    assert len(announced.pcm) / 2 / rate == pytest.approx(600, abs=1)
    loudness = [
        max(memoryview(announced.pcm[2 * rate * at :][: 3 * rate]).cast("h")) for at in (0, 20, 35, 50, 80)
    ]
    assert loudness[:4] == sorted(set(loudness[:4]))
    assert loudness[4] == pytest.approx(loudness[3], rel=0.2)
    assert [text for _, text in announced.shown] == ["Alarm: Wake up"]
    assert "Nobody stopped these alarms on Kitchen box: Wake up" in await told(notes)
    await wait_for_state(hass, NEXT_ALARM, "unknown")
    assert happened(hass) == "alarm_stopped"
    assert not await events(hass)
    assert not speech.recognizer.streams


@pytest.mark.parametrize("by", ["wake word", "button", "deleted"])
async def test_it_is_stopped_and_does_not_ring_again(
    hass: HomeAssistant,
    boot: Boot,
    notes: list[str],
    linked_entry: MockConfigEntry,
    hass_storage: dict[str, Any],
    by: str,
) -> None:
    """Nor does a kill lose or double it: it is on the disk when it is set, while it rings and when it has."""

    def stored() -> list[str]:
        alarms = hass_storage[f"{DOMAIN}.{linked_entry.entry_id}"]["data"][MAC]["alarms"]
        return [alarm["name"] for alarm in alarms.values()]

    device = await boot()
    await set_alarm(hass, 10)
    assert stored() == ["Wake up"]
    await device.wait_for(lambda: len(alerts(device)) == 3)
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
            (alarm,) = linked_entry.runtime_data.devices.values()
            (uid,) = alarm.state.alarms
            await calendar(hass).async_delete_event(uid)
    await asyncio.sleep(5)
    assert not stored()
    rung = len(alerts(device))
    assert happened(hass) == "alarm_stopped" or by == "deleted"
    assert await hass.config_entries.async_reload(linked_entry.entry_id)
    await asyncio.sleep(120)
    assert len(alerts(device)) == rung <= 5
    assert not notes


async def test_it_is_snoozed_by_the_button_or_by_voice_after_waking_the_device(
    hass: HomeAssistant, boot: Boot, handle: Say, linked_entry: MockConfigEntry
) -> None:
    device = await boot()
    await set_alarm(hass, 10)
    await device.wait_for(lambda: len(alerts(device)) == 3)
    assert (device.screen.system_text, device.screen.emotion) == ("Alarm: Wake up", "happy")
    await act(hass, "button", "press", SNOOZE)
    assert happened(hass) == "alarm_snoozed"
    await device.wait_for(lambda: (device.screen.system_text, device.screen.emotion) == ("", "neutral"))
    # It is stored.
    assert await hass.config_entries.async_reload(linked_entry.entry_id)
    until = dt_util.parse_datetime(state_of(hass, NEXT_ALARM).state)
    assert until == pytest.approx(soon(540), abs=timedelta(seconds=5))
    rung = len(alerts(device))
    await device.wait_for(lambda: len(alerts(device)) == rung + 2, 600)
    await device.wake()
    await device.wait_state(State.IDLE, 10)
    await asyncio.sleep(5)
    assert "It rings again at" in (await handle("XiaozhiSnoozeAlarm")).speech["plain"]["speech"]
    rung = len(alerts(device))
    await asyncio.sleep(500)
    assert len(alerts(device)) == rung
    # Stop ends a snooze, too.
    await act(hass, "button", "press", STOP)
    await asyncio.sleep(130)
    assert len(alerts(device)) == rung
    for button in (STOP, SNOOZE):
        with pytest.raises(HomeAssistantError, match="No alarm rings"):
            await act(hass, "button", "press", button)


async def test_a_reminder_is_spoken_three_times(hass: HomeAssistant, boot: Boot, speech: Speech) -> None:
    device = await boot(NEW)
    await set_alarm(hass, 10, description="Take the bins out.")
    announced = await device.wait_announced(timeout=200)
    # The speech engine is asked once.
    assert speech.voice.spoken == ["Take the bins out."]
    assert announced.outcome is Outcome.PLAYED
    assert len(announced.pcm) / 2 / device.speaker.rate > 3 * 1.5 + 2 * 12


async def test_in_a_conversation_it_is_said_before_the_next_question(
    hass: HomeAssistant, boot: Boot, speech: Speech, command: bytes, notes: list[str]
) -> None:
    device = await boot()
    speech.recognizer.lines = ["turn on the kitchen light"]
    await set_alarm(hass, 1, "Bread")
    talk = await converse(device, command, patience=60)
    assert talk.answers[-1] == "Alarm: Bread"
    await asyncio.sleep(60)
    assert not alerts(device)
    assert not notes
    assert happened(hass) == "alarm_stopped"


@pytest.mark.parametrize(("minutes", "rings"), [(9, True), (11, False)])
@pytest.mark.parametrize("off", ["device", "gateway"])
async def test_a_device_or_home_assistant_that_is_away_rings_up_to_ten_minutes_late(
    hass: HomeAssistant,
    boot: Boot,
    notes: list[str],
    linked_entry: MockConfigEntry,
    off: str,
    minutes: int,
    rings: bool,
) -> None:
    device = await boot()
    await device.wait_for(lambda: bool(device.events("tool")))
    await set_alarm(hass, 10)
    if off == "device":
        await device.power_off()
        await asyncio.sleep(10 + 60 * minutes)
        await device.boot()
    else:
        assert await hass.config_entries.async_unload(linked_entry.entry_id)
        await asyncio.sleep(10 + 60 * minutes)
        assert await hass.config_entries.async_setup(linked_entry.entry_id)
    if rings:
        await device.wait_for(lambda: len(alerts(device)) == 3, 60)
        assert not notes
        # A reload in mid-ring: it goes on, and what is stopped stays so.
        assert await hass.config_entries.async_reload(linked_entry.entry_id)
        await device.wait_for(lambda: len(alerts(device)) == 6, 60)
        await act(hass, "button", "press", STOP)
    else:
        assert "did not ring, because Home Assistant was off or Kitchen box" in await told(notes)
    rung = len(alerts(device))
    await asyncio.sleep(60)
    assert len(alerts(device)) == rung


async def test_the_clock_is_set_forward_and_back_and_no_alarm_is_lost_or_doubled(
    hass: HomeAssistant, boot: Boot, wall_clock: SetClock, notes: list[str]
) -> None:
    device = await boot()
    await calendar(hass).async_create_event(dtstart=soon(3600), summary="Up", rrule="FREQ=DAILY")
    # As on a computer without a clock of its own, which gets the time from the network.
    wall_clock(timedelta(seconds=3600))
    await device.wait_for(lambda: len(alerts(device)) == 2, 100)
    await act(hass, "button", "press", STOP)
    rung = len(alerts(device))
    wall_clock(timedelta(minutes=-10))
    await asyncio.sleep(700)
    assert len(alerts(device)) == rung
    for years in (-20, 20):
        wall_clock(timedelta(days=365 * years))
        await asyncio.sleep(120)
    assert len(alerts(device)) == rung
    wall_clock(timedelta(hours=23.5))
    await asyncio.sleep(1800)
    assert len(alerts(device)) > rung
    assert not notes


async def test_another_time_zone_moves_the_next_alarm(hass: HomeAssistant, boot: Boot) -> None:
    await boot()
    await set_alarm(hass, 7200)
    before = dt_util.parse_datetime(state_of(hass, NEXT_ALARM).state)
    zone = hass.config.time_zone
    try:
        await hass.config.async_set_time_zone("Pacific/Honolulu")
        await asyncio.sleep(100)
        after = dt_util.parse_datetime(state_of(hass, NEXT_ALARM).state)
    finally:
        await hass.config.async_set_time_zone(zone)
    assert before is not None
    assert after is not None
    assert after - before in {timedelta(hours=2), timedelta(hours=3)}


@pytest.mark.parametrize(
    ("start", "rule", "words"),
    [
        ("2020-01-01T07:00", "", "is over"),
        ("2039-01-01T07:00", "", "more than a year away"),
        ("2039-01-01T07:00", "FREQ=DAILY;BYHOUR=1,2,3", "cannot be repeated like this"),
        ("2039-01-01T07:00", "FREQ=DAILY;" + "BYDAY=MO," * 1200, "cannot be repeated like this"),
    ],
)
@pytest.mark.usefixtures("linked_entry")
async def test_bad_input_is_refused_with_words(
    hass: HomeAssistant, start: str, rule: str, words: str
) -> None:
    with pytest.raises(HomeAssistantError, match=words):
        await calendar(hass).async_create_event(
            dtstart=dt_util.as_local(datetime.fromisoformat(start)), rrule=rule
        )
    assert not await events(hass)


async def test_there_are_a_hundred_alarms_at_most_and_none_for_a_whole_day(
    hass: HomeAssistant, linked_entry: MockConfigEntry
) -> None:
    for _ in range(100):
        await set_alarm(hass, 3600)
    with pytest.raises(HomeAssistantError, match="100 alarms already"):
        await set_alarm(hass, 3600)
    with pytest.raises(HomeAssistantError, match="needs a time of day"):
        await act(
            hass,
            "calendar",
            "create_event",
            CALENDAR,
            summary="x",
            start_date="2027-01-01",
            end_date="2027-01-02",
        )
    assert len(await events(hass)) == 100


async def test_the_calendar_page_edits_one_time_of_a_repetition_or_all_that_follow(
    hass: HomeAssistant, linked_entry: MockConfigEntry
) -> None:
    page, first = calendar(hass), soon(3600)

    def event(days: int, name: str, **more: Any) -> dict[str, Any]:
        return {"summary": name, "dtstart": first + timedelta(days=days), **more}

    def at(days: int) -> str:
        return f"{first + timedelta(days=days):%Y%m%dT%H%M%S}"

    async def shown() -> list[tuple[str, int]]:
        starts = [(each["summary"], datetime.fromisoformat(each["start"])) for each in await events(hass)]
        return [(name, (start.date() - first.date()).days) for name, start in starts]

    await page.async_create_event(**event(0, "Up", rrule="FREQ=DAILY;COUNT=6"))
    (device,) = linked_entry.runtime_data.devices.values()
    (uid,) = device.state.alarms
    await page.async_delete_event(uid, recurrence_id=at(1))
    stored: set[str] = set()
    stop = device.record.listen(["alarms"], lambda: stored.add(str(device.state.alarms)))
    await page.async_update_event(uid, event(2, "Late"), recurrence_id=at(2))
    stop()
    assert len(stored) == 1, "a power cut between two steps would leave both times, or none"
    assert await shown() == [("Up", 0), ("Late", 2), ("Up", 3), ("Up", 4), ("Up", 5)]
    await page.async_update_event(uid, event(4, "New", rrule="FREQ=DAILY;COUNT=2"), at(4), "THISANDFUTURE")
    assert await shown() == [("Up", 0), ("Late", 2), ("Up", 3), ("New", 4), ("New", 5)]
    await page.async_delete_event(uid, recurrence_id=at(3), recurrence_range="THISANDFUTURE")
    await page.async_update_event(uid, event(1, "Once"))
    assert await shown() == [("Once", 1), ("Late", 2), ("New", 4), ("New", 5)]
    repeated = next(uid for uid, stored in device.state.alarms.items() if stored["rule"])
    for unknown in (("nothing", None), (repeated, "nonsense")):
        with pytest.raises(HomeAssistantError, match="no such alarm"):
            await page.async_delete_event(*unknown)


@pytest.mark.parametrize("link", [LinkKind.MQTT, LinkKind.WEBSOCKET])
@pytest.mark.usefixtures("chosen")
async def test_another_loudspeaker_rings_for_a_device_on_either_link_until_that_is_woken(
    hass: HomeAssistant, boot: Boot, player: BigSpeaker, notes: list[str]
) -> None:
    """On WebSocket, nothing else can ring, and the player may be there only later."""
    device = await boot()
    on_websocket = device.link == LinkKind.WEBSOCKET
    await set_alarm(hass, 10)
    player.show(MediaPlayerState.IDLE, there=not on_websocket)
    await asyncio.sleep(60)
    assert bool(player.began) != on_websocket
    player.show(MediaPlayerState.IDLE)
    await asyncio.sleep(60)
    assert happened(hass) == "alarm_ringing"
    await device.wake()
    await device.wait_state(State.IDLE, 10)
    await asyncio.sleep(5)
    assert happened(hass) == "alarm_stopped"
    await asyncio.sleep(700)
    assert len(player.began) == 1
    assert not notes


@pytest.mark.parametrize("link", [LinkKind.WEBSOCKET])
@pytest.mark.usefixtures("chosen")
async def test_none_can_be_set_where_nothing_can_ring_and_one_that_was_set_before_is_reported(
    hass: HomeAssistant, boot: Boot, handle: Say, notes: list[str]
) -> None:
    await boot()
    await set_alarm(hass, 60)
    await choose(hass, SELECT, "this_device")
    words = "Choose MQTT as its connection, or a loudspeaker that rings in its place"
    with pytest.raises(HomeAssistantError, match=words):
        await set_alarm(hass, 60)
    assert words in (await handle("XiaozhiSetAlarm", hours=7)).speech["plain"]["speech"]
    assert "did not ring" in await told(notes)
    assert not await events(hass)


@TWO_DEVICES
async def test_an_alarm_is_stopped_and_snoozed_by_voice_also_at_another_device(
    hass: HomeAssistant, boot: Boot, device_ids: list[str]
) -> None:
    device = await boot()

    async def say(kind: str, device_id: str | None) -> str:
        response = await intent.async_handle(hass, "test", kind, {}, device_id=device_id, language="en")
        return str(response.speech["plain"]["speech"])

    for spoken_to in (*device_ids, None):
        await set_alarm(hass, 10)
        rung = len(alerts(device))
        await device.wait_for(lambda rung=rung: len(alerts(device)) == rung + 3)
        assert "It rings again" in await say("XiaozhiSnoozeAlarm", spoken_to)
        await device.wait_for(lambda rung=rung: len(alerts(device)) == rung + 6, 600)
        assert await say("XiaozhiStopAlarm", spoken_to) == "Alarm stopped."
        assert happened(hass) == "alarm_stopped"
        await asyncio.sleep(700)
        assert len(alerts(device)) <= rung + 8
        assert await say("XiaozhiStopAlarm", spoken_to) == "No alarm rings."
    assert "unknown_device" not in await say("XiaozhiListAlarms", None)


async def test_an_assistant_and_sentences_set_list_and_delete_alarms(
    hass: HomeAssistant, boot: Boot, handle: Say, device_id: str
) -> None:
    await boot()
    context = llm.LLMContext(
        platform="test", context=None, language="en", assistant="conversation", device_id=device_id
    )
    api = await llm.async_get_api(hass, llm.LLM_API_ASSIST, context)

    async def use(tool: str, /, **arguments: Any) -> str:
        result = await api.async_call_tool(llm.ToolInput(f"{DOMAIN}__{tool}", arguments))
        answer: Any = result.data if isinstance(result, llm.ToolResult) else result
        return str(answer["speech"]["plain"]["speech"])

    day = (soon(0) + timedelta(days=40)).date().isoformat()
    week = "MO,TU,WE,TH,FR,SA,SU"
    told = await use("set_alarm", hours=7, minutes=5, day=day, name="Run", repeat=week, text=None)
    assert told == f"Alarm set for {day} 07:05."
    for wrong, words in (
        ({"day": "someday"}, "is not a day"),
        ({"day": "2020-01-01"}, "is over"),
        ({"day": "2039-01-01"}, "more than a year away"),
        ({"repeat": "FREQ=SECONDLY"}, "cannot be repeated"),
    ):
        assert words in await use("set_alarm", hours=7, **wrong)
    assert await use("list_alarms") == f"These alarms are set: {day} 07:05 Run."
    assert await use("delete_alarm", day="tomorrow") == "There is no such alarm."
    assert "Run" in await use("delete_alarm", name="run", day=day)
    assert await use("list_alarms") == "No alarm is set."

    async def say(kind: str, **slots: Any) -> str:
        return str((await handle(kind, **slots)).speech["plain"]["speech"])

    assert (await say("XiaozhiSetAlarm", hours=7, period="pm")).startswith("Alarm set for 19:00")
    assert await say("XiaozhiSetAlarm", hours=6, minutes=30, day="Monday", repeat="weekdays", name="School")
    assert "Several alarms are set" in await say("XiaozhiDeleteAlarm")
    # Language models fill in what they are to leave out.
    assert "Several alarms are set" in await say("XiaozhiDeleteAlarm", all="no")
    assert "School" in await say("XiaozhiListAlarms")
    assert (await say("XiaozhiDeleteAlarm", hours=7, period="pm")).startswith("Deleted: 19:00")
    assert "06:30 School" in await say("XiaozhiDeleteAlarm", name="school")
    assert await say("XiaozhiDeleteAlarm") == "There is no such alarm."
    for hours in (1, 2):
        await say("XiaozhiSetAlarm", hours=hours)
    assert "02:00" in await say("XiaozhiDeleteAlarm", all="yes")
    assert await say("XiaozhiListAlarms") == "No alarm is set."


async def test_a_device_that_is_deleted_has_no_alarms_any_more(
    hass: HomeAssistant, linked_entry: MockConfigEntry
) -> None:
    await set_alarm(hass, 60)
    (subentry,) = linked_entry.subentries
    form = await linked_entry.start_subentry_reconfigure_flow(hass, subentry)
    assert "Alarms set on Kitchen box: 1." in form["description_placeholders"]["notes"]
    hass.config_entries.async_remove_subentry(linked_entry, subentry)
    await hass.async_block_till_done()
    await asyncio.sleep(120)
    assert hass.states.get(CALENDAR) is None
    assert not linked_entry.runtime_data.devices
