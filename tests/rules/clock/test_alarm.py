"""When an alarm rings: repetitions, daylight saving and other time zones; and rules that are refused."""

from collections.abc import Generator
from datetime import UTC, datetime, timedelta
import itertools
from zoneinfo import ZoneInfo

from homeassistant.util import dt as dt_util
import pytest

from custom_components.xiaozhi.clock.alarm import Alarm, checked_rule
from custom_components.xiaozhi.errors import InputError

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


def moments(alarm: Alarm, count: int) -> list[str]:
    return [f"{moment:%m-%d %H:%M}" for _, moment in itertools.islice(alarm.times(alarm.done), count)]


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
        ("2026-01-01T07:00", "FREQ=WEEKLY", ["03-05 06:00", "03-12 06:00", "03-19 06:00"]),
        ("2026-01-31T07:00", "FREQ=MONTHLY", ["03-31 05:00", "05-31 05:00", "07-31 05:00"]),
        ("2026-02-01T07:00", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", ["02-29 06:00"] * 3),
    ],
)
def test_it_rings_by_the_clock_on_the_wall(start: str, rule: str, expected: list[str]) -> None:
    begins = datetime.fromisoformat(start)
    checked = checked_rule(begins, rule) if rule else ""
    alarm = Alarm(start=begins, rule=checked, done=SET)
    assert moments(alarm, 3) == expected
    assert Alarm.from_dict(alarm.as_dict()) == alarm


def test_in_another_time_zone_it_is_seven_o_clock_there() -> None:
    alarm = Alarm(start=at(2), rule="FREQ=DAILY", done=SET)
    dt_util.set_default_time_zone(ZoneInfo("Asia/Shanghai"))
    assert moments(alarm, 2) == ["03-01 23:00", "03-02 23:00"]


def test_one_time_of_a_repetition_is_left_out_and_all_from_one_on() -> None:
    alarm = Alarm(start=at(2), rule="FREQ=DAILY;COUNT=9", done=SET)
    shorter = alarm.without(at(3)).until(at(5))
    assert moments(shorter, 9) == ["03-02 06:00", "03-04 06:00"]
    assert shorter.last(SET, SET + timedelta(days=2)) == datetime(2026, 3, 2, 6, tzinfo=UTC)


def test_the_calendar_page_lists_a_repetition_in_a_thread_while_the_clock_comes_to_its_end() -> None:
    alarm = Alarm(start=at(2), rule="FREQ=DAILY;COUNT=15", done=SET)
    listed = alarm.listed(SET, SET + timedelta(days=60))
    next(listed)
    assert alarm.last(SET, SET + timedelta(days=60)) == datetime(2026, 3, 16, 6, tzinfo=UTC)
    assert len([*listed]) == 14


@pytest.mark.parametrize(("minutes", "expected"), [(9, "03-02 06:09"), (25 * 60, "03-03 06:00")])
def test_the_next_time_is_that_of_a_snooze_unless_one_of_the_repetition_is_sooner(
    minutes: int, expected: str
) -> None:
    rang = datetime(2026, 3, 2, 6, tzinfo=UTC)
    alarm = Alarm(start=at(2), rule="FREQ=DAILY", done=rang, snoozed=rang + timedelta(minutes=minutes))
    assert f"{alarm.rings_next():%m-%d %H:%M}" == expected


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=SECONDLY",
        "FREQ=HOURLY;INTERVAL=2",
        "FREQ=DAILY;BYHOUR=0,1,2,3;BYSECOND=0,1,2",
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=DAILY;COUNT=0",
        "FREQ=DAILY;INTERVAL=99999999999999999999",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;UNTIL=20200101T000000Z",
        "FREQ=DAILY;UNTIL=tomorrow",
        "FREQ=DAILY;" + "BYDAY=MO;" * 1200,
        "FREQ=DAILY\nRDATE:20260303T060000",
        "INTERVAL=2",
        ";;;",
    ],
)
def test_a_rule_that_is_damaged_too_frequent_or_never_true_is_refused(rule: str) -> None:
    with pytest.raises(InputError) as error:
        checked_rule(at(2), rule)
    assert error.value.key == "alarm_rule"
    assert len(error.value.placeholders["rule"]) <= 200


@pytest.mark.parametrize("field", ["start", "rule", "done", "skipped"])
def test_a_damaged_record_is_no_alarm(field: str) -> None:
    stored = Alarm(start=at(2), rule="FREQ=DAILY", done=SET).as_dict()
    assert Alarm.from_dict(stored)
    assert Alarm.from_dict({**stored, field: "damaged"}) is None
