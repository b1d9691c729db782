"""What people say of alarms at a device, and what it asks back before it acts."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from itertools import count

from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr
from homeassistant.util import dt as dt_util
import pytest

from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.guests.spoken.sentence_files import CONF_UNDERSTAND_ALARMS
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import SimulatedDevice, State, converse
from tests.integration.boxes import TWO_DEVICES, Speech, act
from tests.integration.clock.alarms import SNOOZE, events, set_alarm
from tests.integration.clock.conftest import Say
from tests.integration.names import OTHER_MAC, Boot

LINK = LinkKind.MQTT
OPTIONS = {CONF_UNDERSTAND_ALARMS: True}

pytestmark = pytest.mark.usefixtures("wall_clock")

type Talk = Callable[..., Awaitable[list[str]]]


@pytest.fixture
def talk(boot: Boot, speech: Speech) -> Talk:
    """Return what says sentences to the device, each after an answer, and returns the answers."""
    devices: list[SimulatedDevice] = []
    speech.voice.pace = 200
    # A device that wakes up twice with the same words is taken for one that heard itself.
    numbers = count()

    async def talk(*lines: str) -> list[str]:
        devices[:] = devices or [await boot()]
        speech.recognizer.lines = [*lines]
        done = await converse(devices[0], *[speech.command] * len(lines), word=f"hello {next(numbers)}")
        await devices[0].wait_state(State.IDLE, 20)
        assert done.heard == [*lines]
        assert not done.hung_up
        return done.answers

    return talk


def alarms(known: Device) -> list[str]:
    """Return the times and rules of all alarms."""
    return sorted(
        f"{alarm.start:%H:%M} {alarm.rule}".strip() for alarm in known.state.owned["alarms"].values()
    )


async def test_a_missing_time_is_asked_for_and_its_answer_sets_the_alarm(
    hass: HomeAssistant, talk: Talk, known: Device
) -> None:
    asked = await talk("wake me tomorrow", "at half past seven")
    assert asked == ["At what time?", "Alarm set: tomorrow at 7:30 AM."]
    assert alarms(known) == ["07:30"]
    assert [event["start"][11:16] for event in await events(hass)] == ["07:30"]
    assert await talk("remind me tomorrow to call mum", "at six in the evening") == [
        "At what time?",
        "I’ll remind you tomorrow at 6 PM: call mum.",
    ]
    # It is no answer, or it contradicts what was said: nothing is set, and the conversation is over.
    for answer in ("banana", "when it rains", "in ten minutes", "every day at seven"):
        asked = await talk("wake me on friday", answer)
        assert asked[:2] == ["At what time?", "I did not understand when."], answer
    assert alarms(known) == ["07:30", "18:00"]


async def test_a_question_that_is_typed_is_not_waited_for(talk: Talk, say: Say, known: Device) -> None:
    asked = "At what time? Say, for example: wake me tomorrow at seven."
    assert await say("wake me tomorrow") == asked
    assert await talk("wake me tomorrow at eight") == ["Alarm set: tomorrow at 8 AM."]
    assert alarms(known) == ["08:00"]


async def test_an_alarm_is_moved_and_keeps_its_day_and_repetition(
    talk: Talk, say: Say, known: Device
) -> None:
    assert await say("change it to eight") == "There is no such alarm."
    await say("wake me at seven every weekday")
    assert await say("change it to eight") == "Alarm moved: every weekday at 8 AM."
    assert alarms(known) == ["08:00 FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"]
    assert await say("change the alarm to tomorrow at nine") == "Alarm moved: tomorrow at 9 AM."
    assert alarms(known) == ["09:00"]
    assert await talk("change the alarm to tomorrow", "ten o'clock") == [
        "At what time?",
        "Alarm moved: tomorrow at 10 AM.",
    ]
    assert alarms(known) == ["10:00"]


async def test_of_several_alarms_it_asks_which_is_moved(talk: Talk, say: Say, known: Device) -> None:
    await say("wake me at seven tomorrow")
    await say("wake me at six every day")
    asked = await talk("change it to eight", "the one at eleven")
    assert asked[0].startswith("Several alarms are set: ")
    assert "tomorrow at 7 AM" in asked[0]
    assert "every day at 6 AM" in asked[0]
    assert asked[-2:] == ["Say which one.", "There is no such alarm."]
    assert (await talk("change it to eight", "at seven"))[-1] == "Alarm moved: tomorrow at 8 AM."
    # Between six and nine, it begins tomorrow.
    assert (await talk("change it to nine", "every day"))[-1].startswith("Alarm moved: every day at 9 AM")
    assert alarms(known) == ["08:00", "09:00 FREQ=DAILY"]
    # Only one can be moved, and both ring tomorrow: it asks again, and listens.
    asked = await talk("change it to ten", "all", "tomorrow", "at eight")
    assert asked.count("Say which one.") == 3
    assert asked[-1] == "Alarm moved: tomorrow at 10 AM."
    assert alarms(known) == ["09:00 FREQ=DAILY", "10:00"]


async def test_a_repeated_alarm_is_deleted_only_after_a_yes(talk: Talk, say: Say, known: Device) -> None:
    await say("wake me at seven every weekend")
    rule = "07:00 FREQ=WEEKLY;BYDAY=SA,SU"
    asked = await talk("delete the alarm", "no")
    assert asked == ["Delete these: every weekend at 7 AM?", "Nothing was changed."]
    assert alarms(known) == [rule]
    assert await talk("delete the alarm", "yes please") == [
        "Delete these: every weekend at 7 AM?",
        "Deleted: every weekend at 7 AM.",
    ]
    assert not alarms(known)


async def test_several_alarms_are_deleted_after_a_yes_or_as_chosen(
    talk: Talk, say: Say, known: Device
) -> None:
    for line in ("wake me at seven tomorrow", "wake me at eight tomorrow", "wake me at nine tomorrow"):
        await say(line)
    asked = await talk("delete all alarms", "no")
    assert asked[0] == "Delete these: tomorrow at 7 AM; tomorrow at 8 AM; tomorrow at 9 AM?"
    assert asked[1] == "Nothing was changed."
    assert (await talk("delete the alarm", "at eight"))[-1] == "Deleted: tomorrow at 8 AM."
    assert alarms(known) == ["07:00", "09:00"]
    assert (await talk("delete the alarm", "all"))[-1] == "Deleted: tomorrow at 7 AM; tomorrow at 9 AM."
    assert not alarms(known)
    await say("wake me at seven tomorrow")
    await say("wake me at eight tomorrow")
    assert (await talk("delete all alarms", "yes"))[-1] == "Deleted: tomorrow at 7 AM; tomorrow at 8 AM."
    assert not alarms(known)


async def test_the_repetition_that_is_said_chooses_the_alarm(talk: Talk, say: Say, known: Device) -> None:
    for line in ("every day", "every weekday", "every weekend", "every monday"):
        await say(f"set an alarm for seven {line}")
    await say("set an alarm for seven every month")
    for said, shown in {
        "every weekend": "every weekend at 7 AM",
        "every day": "every day at 7 AM",
        "every monday": "every Monday at 7 AM",
        "every weekday": "every weekday at 7 AM",
    }.items():
        assert (await talk(f"delete the alarm {said}", "yes"))[-1] == f"Deleted: {shown}."
    assert alarms(known) == ["07:00 FREQ=MONTHLY"]
    assert await say("delete the alarm every weekend") == "There is no such alarm."
    assert (await talk("delete the alarm every month", "yes"))[-1].startswith("Deleted: ")
    assert not alarms(known)


async def test_the_next_time_of_a_repeated_alarm_is_skipped(talk: Talk, say: Say, known: Device) -> None:
    await say("wake me at seven every day")
    skipped = " ".join(await talk("skip the next alarm"))
    assert skipped.startswith("Off: ")
    assert "The rest stays: every day at 7 AM" in skipped
    assert alarms(known) == ["07:00 FREQ=DAILY"]


async def test_reminders_are_listed_apart_from_alarms(talk: Talk, say: Say) -> None:
    assert await say("what reminders do I have") == "No reminder is set."
    assert await say("when is my next reminder") == "No reminder is set."
    assert await say("when is my next alarm") == "No alarm is set."
    assert await say("delete the reminder") == "There is no such reminder."
    await say("wake me at five tomorrow morning")
    await say("remind me at six in the evening every day to call mum")
    assert " ".join(await talk("what reminders do I have")) == (
        "These reminders are set: every day at 6 PM, call mum."
    )
    (following,) = await talk("when is my next reminder")
    assert following.startswith("The next reminder: ")
    assert following.endswith(" at 6 PM, call mum.")
    assert await say("what alarms do I have") == "These alarms are set: tomorrow at 5 AM."


@TWO_DEVICES
async def test_an_alarm_is_set_for_another_room(
    hass: HomeAssistant, boot: Boot, talk: Talk, say: Say
) -> None:
    bedroom = ar.async_get(hass).async_create("Bedroom")
    dr.async_get(hass).async_update_device(boot.device_ids[1], area_id=bedroom.id)
    assert await say("set an alarm in the bedroom for seven tomorrow") == "Alarm set: tomorrow at 7 AM."
    assert await talk("wake me in the bedroom tomorrow", "at eight") == [
        "At what time?",
        "Alarm set: tomorrow at 8 AM.",
    ]
    assert not alarms(boot.known)
    assert alarms(boot.entry.runtime_data.devices[OTHER_MAC]) == ["07:00", "08:00"]
    ar.async_get(hass).async_create("Cellar")
    (refused, *_) = await talk("set an alarm in the cellar for seven tomorrow")
    assert "cellar" in refused
    # In a room with two devices, neither gets it, and both are named.
    dr.async_get(hass).async_update_device(boot.device_id, area_id=bedroom.id)
    refused = " ".join(await talk("set an alarm in the bedroom for nine tomorrow"))
    assert "Bedroom box, Kitchen box" in refused
    assert not alarms(boot.known)
    assert alarms(boot.entry.runtime_data.devices[OTHER_MAC]) == ["07:00", "08:00"]


async def test_a_snoozed_alarm_is_found_on_the_day_on_which_it_rings_again(
    hass: HomeAssistant, talk: Talk, known: Device, wall_clock: Callable[[timedelta], None]
) -> None:
    wall_clock(dt_util.start_of_local_day() + timedelta(days=1, hours=12) - dt_util.now())
    await set_alarm(hass, 5)
    await asyncio.sleep(8)
    await act(hass, "button", "press", SNOOZE)
    (listed,) = await talk("what alarms do I have today")
    assert listed.startswith("These alarms are set: today at 12:")
    assert (await talk("delete the alarm today"))[0].startswith("Deleted: today at 12:")
    assert not alarms(known)
