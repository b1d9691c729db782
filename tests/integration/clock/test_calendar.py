"""Alarms are set, listed, changed and deleted: on the calendar page, by an assistant, and in sentences."""

from collections.abc import Iterator
from datetime import datetime, timedelta
import re
import threading
from typing import Any

from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.guests.alarms.alarm import Alarm
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from tests.integration.boxes import act
from tests.integration.clock.alarms import CALENDAR, calendar, events, set_alarm, soon
from tests.integration.clock.conftest import Handle
from tests.integration.names import Boot

LINK = LinkKind.MQTT

pytestmark = pytest.mark.usefixtures("linked_entry")


@pytest.mark.parametrize(
    ("start", "rule", "words"),
    [
        ("2020-01-01T07:00", "", "is over"),
        ("2039-01-01T07:00", "", "more than a year away"),
        ("2039-01-01T07:00", "FREQ=DAILY;BYHOUR=1,2,3", "cannot be repeated like this"),
        ("2039-01-01T07:00", "FREQ=DAILY;" + "BYDAY=MO," * 1200, "cannot be repeated like this"),
    ],
)
async def test_bad_input_is_refused_with_words(
    hass: HomeAssistant, start: str, rule: str, words: str
) -> None:
    with pytest.raises(HomeAssistantError, match=words):
        await calendar(hass).async_create_event(
            dtstart=dt_util.as_local(datetime.fromisoformat(start)), rrule=rule
        )
    assert not await events(hass)


async def test_any_part_of_the_calendar_can_be_asked_for(
    hass: HomeAssistant, hass_client: ClientSessionGenerator
) -> None:
    """As far as Home Assistant itself can convert the times to those here."""
    await set_alarm(hass, 3600)
    client = await hass_client()
    for start, end, count in (
        ("0001-01-01T08:00:00Z", "9999-12-31T23:59:59Z", 1),
        ("9999-12-31T00:00:00Z", "9999-12-31T23:59:59Z", 0),
        ("0001-01-01T08:00:00Z", "0001-01-01T08:10:00Z", 0),
    ):
        answer = await client.get(f"/api/calendars/{CALENDAR}", params={"start": start, "end": end})
        assert answer.status == 200, start
        assert len(await answer.json()) == count


async def test_there_are_a_hundred_alarms_at_most_and_none_for_a_whole_day(hass: HomeAssistant) -> None:
    first = soon(3600)
    # An equal one is confirmed, not added.
    for number in (1, *range(100)):
        await calendar(hass).async_create_event(dtstart=first, summary=f"Alarm {number}")
    with pytest.raises(HomeAssistantError, match="100 alarms already"):
        await set_alarm(hass, 3600)
    day = {"start_date": "2027-01-01", "end_date": "2027-01-02"}
    with pytest.raises(HomeAssistantError, match="needs a time of day"):
        await act(hass, "calendar", "create_event", CALENDAR, summary="x", **day)
    listed = await events(hass)
    assert len(listed) == 100
    # It is shown as long as it rings.
    start, end = (datetime.fromisoformat(listed[0][at]) for at in ("start", "end"))
    assert end - start == timedelta(minutes=10)


async def test_a_look_at_many_alarms_is_short_and_does_not_stop_the_loop(
    hass: HomeAssistant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first times of all alarms are there, and not all of the first alarm."""
    first, looked_in, listed = soon(3600), set[str](), Alarm.listed
    for number in range(100):
        await calendar(hass).async_create_event(dtstart=first, summary=f"{number}", rrule="FREQ=DAILY")

    def look(alarm: Alarm, start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
        looked_in.add(threading.current_thread().name)
        return listed(alarm, start, end)

    monkeypatch.setattr(Alarm, "listed", look)
    found = await calendar(hass).async_get_events(hass, first, first.replace(year=8999))
    assert len(found) == 2000
    assert {event.summary for event in found} == {str(number) for number in range(100)}
    assert (found[-1].start_datetime_local - first).days == 19
    assert threading.current_thread().name not in looked_in


async def test_the_calendar_page_edits_one_time_or_all_that_follow(
    hass: HomeAssistant, known: Device
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
    (uid,) = known.state.owned["alarms"]
    await page.async_delete_event(uid, recurrence_id=at(1))
    stored = {str(known.state.owned["alarms"])}
    stop = known.record.listen(["alarms"], lambda: stored.add(str(known.state.owned["alarms"])))
    await page.async_update_event(uid, event(2, "Late"), recurrence_id=at(2))
    stop()
    assert len(stored) == 2, "a power cut between two steps would leave both times, or none"
    assert await shown() == [("Up", 0), ("Late", 2), ("Up", 3), ("Up", 4), ("Up", 5)]
    await page.async_update_event(uid, event(4, "New", rrule="FREQ=DAILY;COUNT=2"), at(4), "THISANDFUTURE")
    assert await shown() == [("Up", 0), ("Late", 2), ("Up", 3), ("New", 4), ("New", 5)]
    await page.async_delete_event(uid, recurrence_id=at(3), recurrence_range="THISANDFUTURE")
    await page.async_update_event(uid, event(1, "Once"))
    assert await shown() == [("Once", 1), ("Late", 2), ("New", 4), ("New", 5)]
    repeated = next(uid for uid, stored in known.state.owned["alarms"].items() if stored.rule)
    for unknown in (("nothing", None), (repeated, "nonsense"), (repeated, at(17)), (repeated, at(3))):
        with pytest.raises(HomeAssistantError, match="no such alarm"):
            await page.async_delete_event(*unknown)
    with pytest.raises(HomeAssistantError, match="no such alarm"):
        await page.async_update_event(repeated, event(3, "Gone"), recurrence_id=at(3))


@pytest.mark.parametrize("hours", [0, 1])
async def test_a_changed_repetition_keeps_its_deleted_days(
    hass: HomeAssistant, known: Device, hours: int
) -> None:
    page, first = calendar(hass), soon(86400).replace(hour=12)
    await page.async_create_event(summary="Up", dtstart=first, rrule="FREQ=DAILY;COUNT=5")
    (uid,) = known.state.owned["alarms"]
    await page.async_delete_event(uid, recurrence_id=f"{first + timedelta(days=2):%Y%m%dT%H%M%S}")
    start = first + timedelta(hours=hours)
    for begin in (0, 1):
        day = timedelta(days=begin)
        recurrence = (f"{start + day:%Y%m%dT%H%M%S}", "THISANDFUTURE") if begin else ()
        event = {"summary": f"New {begin}", "dtstart": start + day, "rrule": f"FREQ=DAILY;COUNT={5 - begin}"}
        await page.async_update_event(uid, event, *recurrence)
    shown = [(each["summary"], datetime.fromisoformat(each["start"]) - start) for each in await events(hass)]
    assert [(name, gap.days) for name, gap in shown] == [
        ("New 0", 0),
        ("New 1", 1),
        ("New 1", 3),
        ("New 1", 4),
    ]


async def test_an_assistant_and_sentences_set_list_and_delete_alarms(
    hass: HomeAssistant, boot: Boot, handle: Handle, device_id: str
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

    on = soon(0) + timedelta(days=40)
    day, words = on.date().isoformat(), f"{on:%A, %B} {on.day}"
    set_before = await use("set_alarm", hours=7, minutes=5, day=day, name="Run", text=None)
    assert set_before == f"Alarm set: {words} at 7:05 AM, Run."
    assert await use("set_alarm", hours=7, minutes=5, day=day, name="Run") == (
        f"That alarm is set already: {words} at 7:05 AM, Run."
    )
    for wrong, answer in (
        ({"day": "someday"}, "Say it again with today, tomorrow, a day of the week, or a date"),
        ({"day": "2020-01-01"}, "That time is over."),
        ({"day": "2039-01-01"}, "more than a year away"),
        ({"repeat": "FREQ=SECONDLY"}, "cannot be repeated"),
        ({"repeat": "week"}, "Say it again with daily, weekdays, weekends"),
    ):
        assert answer in await use("set_alarm", hours=7, **wrong)
    assert await use("list_alarms") == f"These alarms and reminders are set: {words} at 7:05 AM, Run."
    assert await use("delete_alarm", day="tomorrow") == "There is no such alarm."
    assert await use("delete_alarm", name="run", day=day) == f"Deleted: {words} at 7:05 AM, Run."
    assert await use("list_alarms") == "No alarm is set."

    assert "day at 7 PM" in await handle(
        "XiaozhiSetAlarm", hours=7, period="pm", day="Thursday", repeat="daily"
    )
    # On a Monday, early, "Monday" is today at first, and then the next one.
    day = "Monday" if dt_util.now().weekday() else "Tuesday"
    school = {"hours": 6, "minutes": 30, "day": day, "repeat": "weekdays", "name": "School"}
    assert (await handle("XiaozhiSetAlarm", **school)).startswith("Alarm set: every weekday at 6:30 AM")
    several = await handle("XiaozhiDeleteAlarm")
    assert several.startswith("Several alarms are set: ")
    assert several.endswith(". Say which one.")
    # They begin on the day that was said.
    described = re.sub(r", from \w+ \d+ on", "", several)
    assert {*described[24:-16].split("; ")} == {"every day at 7 PM", "every weekday at 6:30 AM, School"}
    # Language models fill in what they are to leave out.
    assert await handle("XiaozhiDeleteAlarm", all="no") == several
    # The model has to ask, and the user to answer, which is another turn.
    turn = Context()
    for context in (turn, turn, Context()):
        answer = await handle("XiaozhiDeleteAlarm", hours=7, period="pm", context=context)
        asked = "every day at 7 PM" in answer and answer.startswith("Delete these: ")
        assert asked is (context is turn), answer
    once = await handle("XiaozhiDeleteAlarm", day=day.lower(), name="school")
    assert once.startswith("Off: ")
    assert " at 6:30 AM, School. The rest stays: every weekday at 6:30 AM" in once
    assert await handle("XiaozhiDeleteAlarm", day=day.lower(), name="school") == "There is no such alarm."
    for begin in ("Delete these: ", "Deleted: "):
        assert (await handle("XiaozhiDeleteAlarm", name="school")).startswith(
            f"{begin}every weekday at 6:30 AM"
        )
    for hours in (1, 2):
        await handle("XiaozhiSetAlarm", hours=hours)
    assert (await handle("XiaozhiDeleteAlarm", all="yes")).startswith("Delete these: ")
    # It is asked about what is there now.
    await handle("XiaozhiDeleteAlarm", hours=2, period="am")
    await handle("XiaozhiSetAlarm", hours=3)
    assert (await handle("XiaozhiDeleteAlarm", all="yes")).startswith("Delete these: ")
    assert "at 3 AM" in await handle("XiaozhiDeleteAlarm", all="yes")
    assert await handle("XiaozhiListAlarms") == "No alarm is set."
