"""Alarms and reminders that people set, move, list, delete, snooze and stop in words."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Final, NamedTuple, NoReturn

from homeassistant.util import dt as dt_util
from homeassistant.util.hass_dict import HassKey

from ...const import DOMAIN
from ...errors import InputError
from ...util.event_loop import loop_time
from ..alarms.alarm import Alarm, moment_of, wall_time
from ..alarms.alarm_clock import upcoming
from ..alarms.spoken_alarm import described, find_alarms, wall_now
from ..spoken.descriptions import say_list, say_time
from ..spoken.understanding import Meaning, understand
from .speaker import Answer, AskBackError, Handler, Speaker

type Found = Mapping[str, tuple[Alarm, datetime]]
"""Alarms by their ids, each with the local time that is meant."""


class _Question(NamedTuple):
    """A question that a language model has to ask its user before these alarms are deleted."""

    alarms: Collection[str]
    turn: str
    expires: float


# By the MAC of the device at which it is asked.
_QUESTIONS: Final = HassKey[dict[str, _Question]](f"{DOMAIN}_questions_of_models")
_QUESTION_LASTS: Final = 120.0
_LISTED: Final = {"alarm": "alarms_listed", "reminder": "reminders_listed", "both": "both_listed"}
_NONE: Final = {"alarm": "no_alarms", "reminder": "no_reminders", "both": "no_alarms"}


async def _set(speaker: Speaker, meaning: Meaning, *, moved: str = "") -> Answer:
    language = speaker.language
    if not meaning.has_time:
        if not speaker.is_heard:
            raise InputError("alarm_time_missing")
        raise AskBackError("alarm_what_time", partial(_set_then, speaker, meaning, moved=moved))
    alarms = speaker.clock(meaning.place).alarms
    if meaning.delay:
        # Eight hours are as long in the night in which the clocks change.
        start: datetime | None = wall_time(dt_util.utcnow() + meaning.delay).replace(microsecond=0)
    else:
        start = meaning.start(wall_now(), is_reminder=bool(meaning.text))
    if start is None:
        raise InputError("alarm_over")
    name, text, rule = meaning.name, meaning.text, meaning.rule()
    alarm, existed = await alarms.async_set(start, name, text, rule, instead_of=moved or None)
    time = described(language, alarm.next, replace(alarm, name="", text=""))
    if alarm.text and not (existed or moved):
        return "reminder_set", {"time": time, "text": alarm.text}
    key = "alarm_moved" if moved else "alarm_already_set" if existed else "alarm_set"
    return key, {"alarm": described(language, alarm.next, alarm)}


async def _set_then(speaker: Speaker, meaning: Meaning, words: str, *, moved: str) -> Answer:
    """Set what was to be set, at the time that answers the question."""
    said = understand(speaker.language, words)
    if said is None or not meaning.complete(said):
        raise InputError("alarm_not_understood")
    return await _set(replace(speaker, is_heard=False), meaning, moved=moved)


async def _move(speaker: Speaker, meaning: Meaning, *, among: Collection[str] | None = None) -> Answer:
    """Move the only alarm, or the one that is chosen, to another time, and to another day if one is said."""
    found = _meant(speaker, Meaning(kind="alarm"), among)
    if len(found) > 1:
        _ask_which(speaker, _described(speaker, found), partial(_move, speaker, meaning))
    ((uid, (alarm, _)),) = found.items()
    if meaning.has_time and not (meaning.has_day or meaning.delay or meaning.repeat):
        meaning.day = (alarm.time.date() - wall_now().date()).days
        minutes = (meaning.start(wall_now(), is_reminder=False) or alarm.time).time()
        start = alarm.start.replace(hour=minutes.hour, minute=minutes.minute)
        moved, _ = await speaker.clock().alarms.async_set(start, alarm.name, "", alarm.rule, instead_of=uid)
        return "alarm_moved", {"alarm": described(speaker.language, moved.next, moved)}
    return await _set(speaker, replace(meaning, name=alarm.name), moved=uid)


def _meant(speaker: Speaker, meaning: Meaning, among: Collection[str] | None) -> Found:
    """Return the alarms that are meant, each with its time. Raises `InputError` if there is none."""
    found = find_alarms(meaning, upcoming(speaker.here))
    chosen = {uid: each for uid, each in found.items() if among is None or uid in among}
    if not chosen:
        raise InputError("unknown_reminder" if meaning.kind == "reminder" else "unknown_alarm")
    return chosen


def _described(speaker: Speaker, found: Found, *, once: bool = False) -> dict[str, str]:
    """Return alarms in words, or with `once` the times of these."""
    return {
        uid: described(
            speaker.language,
            alarm.next if time == alarm.time else moment_of(time),
            replace(alarm, rule="" if once else alarm.rule),
        )
        for uid, (alarm, time) in found.items()
    }


def _ask_which(
    speaker: Speaker, alarms: Mapping[str, str], act: Callable[..., Awaitable[Answer]]
) -> NoReturn:
    """Ask which of several alarms is meant. Raises `UserError`."""
    shown = say_list(speaker.language, [*alarms.values()])
    if not speaker.is_heard:
        raise InputError("several_alarms", alarms=shown)

    async def reply(words: str) -> Answer:
        if speaker.language.means_everyone(words):
            return await act(among=alarms)
        meaning = understand(speaker.language, words) or Meaning(name=speaker.language.name(words))
        found = _meant(speaker, meaning, alarms)
        if len(found) > 1:
            _ask_which(speaker, {uid: alarms[uid] for uid in found}, act)
        return await act(among=found)

    raise AskBackError("several_alarms", reply, alarms=shown)


async def _list(speaker: Speaker, meaning: Meaning) -> Answer:
    alarms = upcoming(speaker.here)
    found = find_alarms(meaning, alarms)
    shown = [described(speaker.language, at, alarm) for at, uid, alarm in alarms if uid in found]
    if not shown:
        return _NONE[meaning.kind], {}
    return _LISTED[meaning.kind], {"alarms": say_list(speaker.language, shown)}


async def _next(speaker: Speaker, meaning: Meaning) -> Answer:
    alarms = upcoming(speaker.here)
    for uid in find_alarms(replace(meaning, day=None), alarms):
        at, alarm = next((at, alarm) for at, each, alarm in alarms if each == uid)
        key = "reminder_next" if alarm.text else "alarm_next"
        return key, {"alarm": described(speaker.language, at, replace(alarm, rule=""))}
    return _NONE[meaning.kind], {}


async def _delete(
    speaker: Speaker,
    meaning: Meaning,
    *,
    several: bool = False,
    once: bool = False,
    among: Collection[str] | None = None,
) -> Answer:
    """Delete an alarm, or of a repeated alarm the time on the day that is meant, or with `once` the next."""
    chosen = _meant(speaker, meaning, among)
    if once and not meaning.has_day:
        chosen = dict(islice(chosen.items(), 1))
    once |= meaning.has_day and not meaning.repeat
    gone = _described(speaker, chosen, once=once)
    if len(chosen) > 1 and not several and among is None:
        _ask_which(speaker, gone, partial(_delete, speaker, meaning, once=once))
    shown = {"alarms": say_list(speaker.language, [*gone.values()])}
    is_repeated = any(alarm.rule for alarm, _ in chosen.values())
    if not once and among is None and (len(chosen) > 1 or is_repeated):
        if speaker.is_heard:
            agreed = partial(_delete, speaker, meaning, several=several, among=gone)
            raise AskBackError("alarms_delete", partial(_if_agreed, speaker, agreed), **shown)
        if speaker.model_turn and not _is_answered(speaker, frozenset(gone)):
            return "alarms_delete", shown
    left = {uid: alarm.without(time) if once else None for uid, (alarm, time) in chosen.items()}
    await speaker.clock().alarms.async_store(left)
    stays = [described(speaker.language, alarm.next, alarm) for alarm in left.values() if alarm is not None]
    if stays:
        return "alarm_skipped", {**shown, "rest": say_list(speaker.language, stays)}
    return "alarm_deleted", shown


def _is_answered(speaker: Speaker, alarms: Collection[str]) -> bool:
    """Whether the question about these alarms was asked in an earlier turn; otherwise it is to be asked."""
    questions = speaker.hass.data.setdefault(_QUESTIONS, {})
    last = questions.pop(speaker.here.mac, None)
    if last and last.alarms == alarms and last.turn != speaker.model_turn and loop_time() < last.expires:
        return True
    questions[speaker.here.mac] = _Question(alarms, speaker.model_turn, loop_time() + _QUESTION_LASTS)
    return False


async def _if_agreed(speaker: Speaker, act: Callable[[], Awaitable[Answer]], words: str) -> Answer:
    return await act() if speaker.language.means_yes(words) else ("nothing_changed", {})


async def _snooze(speaker: Speaker, meaning: Meaning) -> Answer:
    delay = meaning.delay or timedelta()
    first, *_ = [await clock.async_snooze(delay) for clock in speaker.to_end()]
    return "alarm_snoozed", {"time": say_time(speaker.language, wall_time(first))}


async def _stop(speaker: Speaker, _meaning: Meaning) -> Answer:
    were_alarms = [await clock.async_stop() for clock in speaker.to_end(also_timers=True)]
    return "alarm_stopped" if any(were_alarms) else "timer_stopped", {}


ALARM_ACTIONS: Final[Mapping[str, Handler]] = {
    "set": _set,
    "remind": _set,
    "move": _move,
    "list": _list,
    "next": _next,
    "delete": _delete,
    "delete_all": partial(_delete, several=True),
    "skip": partial(_delete, once=True),
    "snooze": _snooze,
    "stop": _stop,
    "turn_off": _stop,
}
"""Handlers by the names in the data of the languages. They raise `UserError`."""
