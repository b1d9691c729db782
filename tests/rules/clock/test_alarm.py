"""When an alarm rings: repetitions, daylight saving and other time zones; and rules that are refused."""

from collections.abc import Callable, Generator
from datetime import UTC, datetime, timedelta
import itertools
import sys
from types import FrameType
from zoneinfo import ZoneInfo

from dateutil import rrule
from homeassistant.util import dt as dt_util
from hypothesis import given, strategies as st
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
    alarm = Alarm(start=at(2), rule="FREQ=DAILY", name="Wake up", done=SET)
    stored = {**alarm.as_dict(), field: damage}
    if damage == "lost":
        del stored[field]
    read = Alarm.from_dict(stored)
    if field in {"start", "rule"}:
        return
    assert read is not None
    assert (read.start, read.rule) == (alarm.start, alarm.rule)
    assert read.rings_next() is not None
    assert field == "name" or read.name == alarm.name


@pytest.mark.parametrize(
    "stored",
    [None, 7, "start", ["start"], {}, {"start": None}, {"start": "2026-03-02T07:00", "rule": "INTERVAL=2"}],
)
def test_what_does_not_say_when_it_rings_is_no_alarm(stored: object) -> None:
    assert Alarm.from_dict(stored) is None


@pytest.mark.parametrize(
    "rule", ["FREQ=DAILY;INTERVAL=0", "FREQ=MONTHLY;INTERVAL=0", "FREQ=SECONDLY", "FREQ=DAILY;BYMONTHDAY=31"]
)
def test_a_stored_rule_whose_search_may_not_end_is_none(rule: str) -> None:
    """Home Assistant would never start again."""
    stored = Alarm(start=at(2), rule="FREQ=DAILY", done=SET).as_dict()
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
        "MONTHLY": {"BYDAY": parts("1MO", "-1FR", "3SU"), "BYSETPOS": st.just("-1")},
        "YEARLY": {"BYMONTHDAY": parts("1", "13", "-1"), "BYMONTH": parts("1", "2", "12")},
    }.items()
).map(lambda rule: ";".join(f"{name}={value}" for name, value in rule.items()))
DATES = st.datetimes(datetime.fromisoformat("2000-01-01"), datetime.fromisoformat("2026-12-31"))


@given(RULES, DATES, DATES)
def test_the_times_of_a_rule_are_those_from_its_start_on(rule: str, start: datetime, since: datetime) -> None:
    start = start.replace(microsecond=0, fold=0)
    moment = since.replace(tzinfo=UTC)
    alarm = Alarm(start=start, rule=rule, done=SET)
    found = [time for time, _ in itertools.islice(alarm.times(moment), 5)]
    expected = (
        time
        for time in rrule.rrulestr(rule, dtstart=start)
        if time.replace(tzinfo=ZoneInfo("Europe/Berlin")) > moment
    )
    assert found == [*itertools.islice(expected, 5)]


def calls_of(work: Callable[[], object]) -> int:
    """Return how often functions of the library were called or gone on with."""
    calls = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code.co_filename == rrule.__file__

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("rule", ["FREQ=DAILY", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "FREQ=DAILY;INTERVAL=3"])
def test_an_alarm_of_long_ago_costs_no_more_than_one_of_today_and_nothing_when_it_is_known(rule: str) -> None:
    new, old = (Alarm(start=at(4).replace(year=year), rule=rule, done=SET) for year in (2026, 1900))
    assert 0 < calls_of(old.rings_next) <= calls_of(new.rings_next) + 20
    assert calls_of(old.rings_next) == calls_of(lambda: old.last(SET, SET)) == 0
