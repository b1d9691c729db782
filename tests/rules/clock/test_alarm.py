"""When an alarm rings: repetitions, daylight saving and other time zones; and rules that are refused."""

from collections.abc import Callable, Generator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
import itertools
import sys
from types import FrameType
from typing import Any
from zoneinfo import ZoneInfo

from dateutil import rrule
from homeassistant.util import dt as dt_util
from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.errors import InputError
from custom_components.xiaozhi.guests.alarms.alarm import Alarm, checked_rule, wall_time
from custom_components.xiaozhi.guests.alarms.repetition import next_time

SET = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def berlin() -> Generator[None]:
    before = dt_util.get_default_time_zone()
    dt_util.set_default_time_zone(ZoneInfo("Europe/Berlin"))
    yield
    dt_util.set_default_time_zone(before)


def at(day: int) -> datetime:
    """Return seven o'clock on a day of March."""
    return datetime.fromisoformat(f"2026-03-{day:02}T07:00")


def alarm_of(start: datetime, rule: str = "", **fields: Any) -> Alarm:
    alarm = Alarm(start=start, rule=rule, time=start, found=SET, **fields).renewed(SET)
    assert alarm is not None
    return alarm


def moments(alarm: Alarm, count: int) -> list[str]:
    found = alarm.listed(alarm.found, SET.replace(year=2060))
    return [f"{moment:%m-%d %H:%M}" for _, moment in itertools.islice(found, count)]


@pytest.mark.parametrize(
    ("start", "rule", "expected"),
    [
        ("2026-03-02T07:00", "", ["03-02 06:00"]),
        # Seven o'clock stays seven o'clock.
        ("2026-03-28T07:00", "FREQ=DAILY", ["03-28 06:00", "03-29 05:00", "03-30 05:00"]),
        # The hour that is skipped: it rings as much later as the clocks were put forward.
        ("2026-03-28T02:30", "FREQ=DAILY", ["03-28 01:30", "03-29 01:30", "03-30 00:30"]),
        # The hour that is repeated: it rings once.
        ("2026-10-24T02:30", "FREQ=DAILY", ["10-24 00:30", "10-25 00:30", "10-26 01:30"]),
        (
            "2026-03-02T07:00",
            "FREQ=WEEKLY;BYDAY=MO,FR;COUNT=3",
            ["03-02 06:00", "03-06 06:00", "03-09 06:00"],
        ),
        ("2026-03-02T07:00", "FREQ=DAILY;UNTIL=20260303T060000Z", ["03-02 06:00", "03-03 06:00"]),
        # An end without a time is a day that counts.
        ("2026-03-02T07:00", "FREQ=DAILY;UNTIL=20260303", ["03-02 06:00", "03-03 06:00"]),
        ("2026-03-02T07:00", "FREQ=MONTHLY;BYDAY=+1MO", ["03-02 06:00", "04-06 05:00", "05-04 05:00"]),
        (
            "2026-03-02T07:00",
            "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
            ["03-31 05:00", "04-30 05:00", "05-29 05:00"],
        ),
        # As an assistant may write it.
        ("2026-03-02T07:00", "freq=daily;byday=MO,FR", ["03-02 06:00", "03-06 06:00", "03-09 06:00"]),
        ("2026-01-01T07:00", "FREQ=WEEKLY", ["03-05 06:00", "03-12 06:00", "03-19 06:00"]),
        ("2026-01-31T07:00", "FREQ=MONTHLY", ["03-31 05:00", "05-31 05:00", "07-31 05:00"]),
        ("2026-02-01T07:00", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", ["02-29 06:00"] * 3),
    ],
)
def test_it_rings_by_the_clock_on_the_wall(start: str, rule: str, expected: list[str]) -> None:
    begins = datetime.fromisoformat(start)
    checked = checked_rule(begins, rule) if rule else ""
    alarm = alarm_of(begins, checked)
    assert moments(alarm, 3) == expected
    assert Alarm.from_dict(alarm.as_dict()) == alarm


def test_ten_minutes_are_ten_minutes_in_the_hour_that_comes_twice() -> None:
    """Also after a restart: ten minutes after 2:55 it is 2:05 again."""
    now = datetime(2026, 10, 25, 0, 55, tzinfo=UTC)
    alarm = replace(alarm_of(wall_time(now + timedelta(minutes=10))), found=now)
    stored = Alarm.from_dict(alarm.as_dict())
    assert stored is not None
    assert alarm.next == stored.next == now + timedelta(minutes=10)
    assert stored.start.isoformat() == "2026-10-25T02:05:00"


def test_in_another_time_zone_it_is_seven_o_clock_there() -> None:
    alarm = alarm_of(at(2), "FREQ=DAILY")
    dt_util.set_default_time_zone(ZoneInfo("Asia/Shanghai"))
    assert moments(alarm, 2) == ["03-01 23:00", "03-02 23:00"]


def test_one_time_of_a_repetition_is_left_out_and_all_from_one_on() -> None:
    alarm = alarm_of(at(2), checked_rule(at(2), "FREQ=DAILY;COUNT=9"))
    shorter = alarm.without(at(3))
    assert shorter is not None
    shorter = shorter.until(at(5))
    assert shorter is not None
    assert moments(shorter, 9) == ["03-02 06:00", "03-04 06:00"]
    # One that is over, was deleted or never was cannot be deleted.
    for time in (at(3), at(5), at(4) + timedelta(hours=1), at(2) - timedelta(days=1)):
        for left in (shorter.without, shorter.until):
            with pytest.raises(InputError) as error:
                left(time)
            assert error.value.key == "unknown_alarm"


@pytest.mark.usefixtures("wall")
def test_without_the_time_that_was_snoozed_it_does_not_ring_again() -> None:
    rang = datetime(2026, 3, 2, 6, tzinfo=UTC)
    alarm = replace(alarm_of(at(2), "FREQ=DAILY"), snoozed=rang + timedelta(minutes=9))
    assert f"{alarm.next:%H:%M}" == "06:09"
    other, this, later = alarm.without(at(4)), alarm.without(at(2)), alarm.until(at(2))
    assert other is not None
    assert other.next == alarm.next
    assert this is not None
    assert f"{this.next:%m-%d %H:%M}" == "03-03 06:00"
    assert later is None


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is five past seven on 2 March."""
    monkeypatch.setattr(dt_util, "utcnow", lambda: datetime(2026, 3, 2, 6, 5, tzinfo=UTC))


@pytest.mark.parametrize("snoozed", [None, "2026-03-02T06:09:00+00:00"])
@pytest.mark.parametrize("rule", ["", "FREQ=DAILY;COUNT=3"])
@pytest.mark.usefixtures("wall")
def test_an_alarm_of_0_5_0_rings_as_it_would_have_there(rule: str, snoozed: str | None) -> None:
    stored = {"start": "2026-03-02T07:00:00", "name": "Up", "text": "", "rule": rule, "snoozed": snoozed}
    done = "2026-03-02T06:00:00+00:00" if snoozed or rule else "2026-03-01T12:00:00+00:00"
    alarm = Alarm.from_dict(stored | {"skipped": ["2026-03-03T07:00:00"], "done": done})
    assert alarm is not None
    expected = "03-02 06:09" if snoozed else "03-04 06:00" if rule else "03-02 06:00"
    assert f"{alarm.next:%m-%d %H:%M}" == expected
    assert Alarm.from_dict(alarm.as_dict()) == alarm
    assert alarm.rule == (rule and "FREQ=DAILY;UNTIL=20260304T070000")


@pytest.mark.parametrize(
    "written", ["RRULE:FREQ=WEEKLY;BYDAY=MO", "freq=weekly; byday=mo", "FREQ=WEEKLY;BYDAY=MO;"]
)
def test_a_rule_may_be_written_loosely(written: str) -> None:
    assert checked_rule(at(2), written) == "FREQ=WEEKLY;BYDAY=MO"
    # The end that some calendars write for none.
    assert checked_rule(at(2), f"{written.rstrip(';')};UNTIL=99991231T235959Z") == "FREQ=WEEKLY;BYDAY=MO"


@pytest.mark.parametrize(
    ("field", "moment"), [("time", "8000-01-01T07:00:00"), ("snoozed", "9999-12-31T00:00:00+00:00")]
)
def test_an_alarm_with_a_damaged_moment_rings_at_its_next_time(field: str, moment: str) -> None:
    alarm = alarm_of(at(2), "FREQ=DAILY")
    assert Alarm.from_dict({**alarm.as_dict(), field: moment}) == alarm


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=SECONDLY",
        "FREQ=HOURLY;INTERVAL=2",
        "FREQ=DAILY;BYHOUR=0,1,2,3;BYSECOND=0,1,2",
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=DAILY;COUNT=0",
        "FREQ=DAILY;COUNT=1000000",
        "FREQ=DAILY;INTERVAL=99999999999999999999",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;INTERVAL=7;BYDAY=TU",
        "FREQ=MONTHLY;BYSETPOS=300;BYDAY=MO",
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;UNTIL=20200101T000000Z",
        "FREQ=DAILY;UNTIL=tomorrow",
        "FREQ=DAILY;" + "BYDAY=MO;" * 1200,
        "FREQ=DAILY\nRDATE:20260303T060000",
        "FREQ=DAILY;WKST=MO\nRDATE:20260303T060000",
        "FREQ=WEEKLY;BYDAY=XX",
        "FREQ=MONTHLY;BYMONTHDAY=32",
        "FREQ=MONTHLY;BYSETPOS=0",
        "FREQ=MONTHLY;BYMONTHDAY=0",
        "FREQ=MONTHLY;BYDAY=4SA,8SA",
        "FREQ=YEARLY;BYDAY=20MO",
        "FREQ=DAILY;INTERVAL=1_0",
        "FREQ=DAILY;INTERVAL=٣",
        "FREQ=DAILY;FREQ=WEEKLY",
        "FREQ=DAILY;UNTIL=20261399",
        "FREQ=DAILY;UNTIL=00010101T000000Z",
        "FREQ=YEARLY;INTERVAL=1000;BYMONTH=2;BYMONTHDAY=29",
        "INTERVAL=2",
        ";;;",
    ],
)
def test_a_rule_that_is_damaged_too_frequent_or_never_true_is_refused(rule: str) -> None:
    with pytest.raises(InputError) as error:
        checked_rule(at(2), rule)
    assert error.value.key == "alarm_rule"
    assert len(error.value.placeholders["rule"]) <= 200


@pytest.mark.parametrize(
    "damage", [None, 7, "damaged", [], {}, ["damaged"], "0001-01-01T00:00:00+14:00", "lost"]
)
@pytest.mark.parametrize("field", Alarm.__dataclass_fields__)
def test_an_alarm_that_is_damaged_in_part_still_rings_if_it_is_known_when(field: str, damage: object) -> None:
    alarm = alarm_of(at(2), "FREQ=DAILY", name="Wake up")
    stored = {**alarm.as_dict(), field: damage}
    if damage == "lost":
        del stored[field]
    read = Alarm.from_dict(stored)
    if field in {"start", "rule"}:
        return
    assert read is not None
    assert (read.start, read.rule) == (alarm.start, alarm.rule)
    assert read.next is not None
    assert field == "name" or read.name == alarm.name


@pytest.mark.parametrize(
    "stored",
    [
        *(None, 7, "start", ["start"], {}, {"start": None}),
        {"start": "2026-03-02T07:00", "rule": "INTERVAL=2"},
        {"start": "0001-01-01T07:00", "rule": "FREQ=WEEKLY;WKST=TU"},
    ],
)
def test_what_does_not_say_when_it_rings_is_no_alarm(stored: object) -> None:
    assert Alarm.from_dict(stored) is None


@pytest.mark.parametrize(
    "rule", ["FREQ=DAILY;INTERVAL=0", "FREQ=MONTHLY;INTERVAL=0", "FREQ=SECONDLY", "FREQ=DAILY;BYMONTHDAY=31"]
)
def test_a_stored_rule_whose_search_may_not_end_is_none(rule: str) -> None:
    """Home Assistant would never start again."""
    stored = alarm_of(at(2), "FREQ=DAILY").as_dict()
    assert Alarm.from_dict(stored | {"rule": rule}) is None


def parts(*values: str) -> st.SearchStrategy[str]:
    """Return one to three of these values, as a rule writes them."""
    return st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True).map(",".join)


RULES = st.one_of(
    st.fixed_dictionaries(
        {"FREQ": st.just(frequency)},
        optional={
            "INTERVAL": st.sampled_from(["1", "2", "5", "13"]),
            "WKST": st.sampled_from(["SU", "MO", "TH"]),
            **others,
        },
    )
    for frequency, others in {
        "DAILY": {"COUNT": st.sampled_from(["1", "500"])},
        "WEEKLY": {"BYDAY": parts("MO", "TU", "WE", "SA", "SU"), "UNTIL": st.just("20150101T000000")},
        "MONTHLY": {
            "BYDAY": parts("1MO", "-1FR", "3SU", "5TH") | parts("SA", "TU"),
            "BYSETPOS": parts("-1", "1", "3"),
        },
        "YEARLY": {"BYMONTHDAY": parts("1", "13", "-1"), "BYMONTH": parts("1", "2", "12")},
    }.items()
).map(lambda rule: ";".join(f"{name}={value}" for name, value in rule.items()))
DATES = st.datetimes(datetime.fromisoformat("2000-01-01"), datetime.fromisoformat("2026-12-31"))


@given(RULES, DATES, DATES)
def test_the_times_of_a_rule_are_those_from_its_start_on(rule: str, start: datetime, since: datetime) -> None:
    start = start.replace(microsecond=0, fold=0)
    moment = since.replace(tzinfo=UTC)
    try:
        checked = checked_rule(start, rule)
    except InputError:
        checked = "FREQ=DAILY;UNTIL=20000101"
        assert not [*itertools.islice(rrule.rrulestr(rule, dtstart=start), 1)]
    alarm = Alarm(start=start, rule=checked, time=start, found=SET)
    found = [time for time, _ in itertools.islice(alarm.listed(moment, SET.replace(year=2100)), 5)]
    expected = (
        time
        for time in rrule.rrulestr(rule, dtstart=start)
        if time.replace(tzinfo=ZoneInfo("Europe/Berlin")) > moment
    )
    assert found == [*itertools.islice(expected, 5)]


def steps_of(work: Callable[[], object]) -> int:
    """Return how many lines were run."""
    steps = 0

    def trace(_frame: FrameType, event: str, _: object) -> Any:
        nonlocal steps
        steps += event == "line"
        return trace

    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(None)
    return steps


@pytest.mark.parametrize(
    "rule",
    [
        *(
            "FREQ=DAILY",
            "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR",
            "FREQ=DAILY;INTERVAL=3",
            "FREQ=MONTHLY;BYDAY=-1FR",
        ),
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=YEARLY;BYMONTH=1,2,3,4,5,6,7,8,9,10,11,12;BYDAY=1MO;BYMONTHDAY=31",
    ],
)
def test_the_search_is_short_for_an_old_alarm_and_an_impossible_day(rule: str) -> None:
    for year in (2026, 1900):
        assert 0 < steps_of(lambda year=year: next_time(at(4).replace(year=year), rule, at(5))) < 40_000
