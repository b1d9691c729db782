"""Alarms ring on their device, once, as well as its firmware can."""

import asyncio
from datetime import timedelta
from itertools import product
from typing import Any

from homeassistant.components.media_player import MediaPlayerState
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import area_registry as ar, entity_registry as er
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser

from custom_components.xiaozhi.announcements.announcer import Announcer
from custom_components.xiaozhi.announcements.heard import End
from custom_components.xiaozhi.announcements.utterance import Utterance
from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.guests.alarms.ring import TimerTimeouts
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import State, converse, get_profile
from simulator.application.announcement import Outcome
from tests.integration.announcements.big_speaker import OTHER_SELECT, BigSpeaker
from tests.integration.announcements.sounds import beep
from tests.integration.boxes import (
    TWO_DEVICES,
    Speech,
    act,
    alerts,
    change_settings,
    choose,
    push_to_talk,
    state_of,
    wait_for_state,
)
from tests.integration.clock.alarms import (
    NEXT_ALARM,
    SNOOZE,
    STOP,
    calendar,
    delete_next,
    events,
    happened,
    has_rung,
    hidden_by,
    next_note,
    rings_no_more,
    set_alarm,
    soon,
)
from tests.integration.clock.conftest import Handle
from tests.integration.names import COMMAND, MAC, NEW, OTHER_MAC, SATELLITE, Boot

LINK = LinkKind.MQTT
BEDROOM_CALENDAR = "calendar.bedroom_box_alarms"


pytestmark = pytest.mark.usefixtures("wall_clock")


@pytest.mark.timeouts(TimerTimeouts, alarm=65)
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
    assert len(announced.pcm) / 2 / rate == pytest.approx(65, abs=1)
    loudness = [
        max(memoryview(announced.pcm[2 * rate * at :][: 3 * rate]).cast("h")) for at in (0, 20, 35, 50, 60)
    ]
    assert loudness[:4] == sorted(set(loudness[:4]))
    assert loudness[4] == pytest.approx(loudness[3], rel=0.2)
    assert [text for _, text in announced.shown] == ["Alarm: Wake up"]
    assert "Nobody stopped these alarms on Kitchen box: Wake up" in await next_note(notes)
    await wait_for_state(hass, NEXT_ALARM, "unknown")
    assert hidden_by(hass) is er.RegistryEntryHider.INTEGRATION
    assert happened(hass) == "alarm_stopped"
    assert not await events(hass)
    assert not speech.recognizer.streams


@pytest.mark.parametrize("by", ["wake word", "button", "deleted", "renamed"])
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
    # What is shown by itself is no message of the owner's.
    assert hass.states.is_state("notify.kitchen_box_screen_message", "unknown")
    assert stored() == ["Wake up"]
    match by:
        case "wake word":
            await device.wake()
            await device.wait_state(State.IDLE, 10)
        case "button":
            await act(hass, "button", "press", STOP)
            assert not stored()
        case "deleted":
            (uid,) = boot.known.state.owned["alarms"]
            await calendar(hass).async_delete_event(uid)
        case _:
            (uid,) = boot.known.state.owned["alarms"]
            times = {"dtstart": soon(86400), "dtend": soon(90000)}
            await calendar(hass).async_update_event(uid, {"summary": "Up!", **times})
    await asyncio.sleep(5)
    assert stored() == (["Up!"] if by == "renamed" else [])
    rung = len(alerts(device))
    assert happened(hass) == "alarm_stopped"
    assert await hass.config_entries.async_reload(boot.entry.entry_id)
    await asyncio.sleep(120)
    assert len(alerts(device)) == rung <= 5
    assert not notes


async def test_it_is_snoozed_by_the_button_or_by_voice_after_waking_the_device(
    hass: HomeAssistant, boot: Boot, handle: Handle, linked_entry: MockConfigEntry
) -> None:
    device = await boot()
    await set_alarm(hass, 10)
    # Pages show the buttons while they do something.
    assert hidden_by(hass, STOP) is hidden_by(hass, SNOOZE) is er.RegistryEntryHider.INTEGRATION
    await has_rung(device, 3)
    assert hidden_by(hass, STOP) is hidden_by(hass, SNOOZE) is None
    assert (device.screen.system_text, device.screen.emotion) == ("Alarm: Wake up", "happy")
    await act(hass, "button", "press", SNOOZE)
    assert hidden_by(hass, STOP) is None
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
    assert hidden_by(hass, STOP) is er.RegistryEntryHider.INTEGRATION
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


@pytest.mark.parametrize("turns", [1, 2], ids=["nobody speaks", "somebody speaks"])
async def test_one_that_was_said_in_a_conversation_rings_on_if_nobody_speaks(
    hass: HomeAssistant, boot: Boot, speech: Speech, notes: list[str], turns: int
) -> None:
    """A radio may have said the wake word."""
    await speech.answer_with("Which light?", "Fine.", heard=[COMMAND] * turns)
    device = await boot()
    await set_alarm(hass, 1, "Bread")
    talk = await converse(device, *[speech.command] * turns, patience=1)
    assert talk.answers[:2] == ["Which light?", "Alarm: Bread"]
    if turns == 1:
        await has_rung(device, 3)
        await device.wake("hello again")
    await asyncio.sleep(5)
    await rings_no_more(device, 60)
    assert not notes
    assert happened(hass) == "alarm_stopped"


@pytest.mark.parametrize("other", ["timer", "reminder"])
@pytest.mark.parametrize(
    ("by", "alarm_first"),
    [
        *product(["wake word", "words", STOP, SNOOZE, "wake word and snooze"], [True]),
        *product(["wake word", SNOOZE], [False]),
    ],
)
async def test_what_rings_with_an_alarm_is_named_and_stopped_with_it(
    hass: HomeAssistant, boot: Boot, handle: Handle, notes: list[str], other: str, by: str, alarm_first: bool
) -> None:
    """The alarm sounds, from five seconds after it is due; a reminder that is due later with it is shown."""
    device = await boot()
    await set_alarm(hass, 10 if alarm_first else 20)
    seconds = 20 if alarm_first else 10
    if other == "timer":
        await handle("HassStartTimer", seconds=seconds, name="pizza")
    else:
        await set_alarm(hass, seconds, "Pills", description="Take your pills.")
    await asyncio.sleep(26)
    said, text = alerts(device)[-1], "Timer ended: pizza." if other == "timer" else "Take your pills."
    assert (said["status"], said["message"]) == ("Alarm", f"Alarm: Wake up; {text}")
    if "wake word" in by:
        await device.wake()
        await device.wait_state(State.IDLE, 10)
    if by == "words":
        await handle("XiaozhiStopAlarm")
    elif by != "wake word":
        await act(hass, "button", "press", SNOOZE if by.endswith("snooze") else by)
    await asyncio.sleep(5)
    await rings_no_more(device, 120)
    snoozed = by.endswith(("snooze", SNOOZE))
    assert happened(hass) == ("alarm_snoozed" if snoozed else "alarm_stopped")
    assert not boot.known.state.owned.get("timers")
    assert len(boot.known.state.owned["alarms"]) == snoozed * (1 + (other == "reminder"))
    if snoozed:
        await asyncio.sleep(450)
        again = "Alarm: Wake up Take your pills." if other == "reminder" else "Alarm: Wake up"
        assert alerts(device)[-1]["message"] == again
    assert not notes


@TWO_DEVICES
@pytest.mark.parametrize("link", [LinkKind.WEBSOCKET])
@pytest.mark.usefixtures("chosen")
async def test_it_rings_as_soon_as_its_loudspeaker_has_spoken_for_another_device(
    hass: HomeAssistant, boot: Boot, player: BigSpeaker, linked_entry: MockConfigEntry
) -> None:
    """On WebSocket, nothing else can ring."""
    await choose(hass, OTHER_SELECT, "Big speaker")
    await boot()
    gateway = linked_entry.runtime_data
    other = gateway.devices[OTHER_MAC].part(Announcer)
    await set_alarm(hass, 10)
    play = Utterance(text="A radio play.", speech=beep(50))
    saying = hass.async_create_task(other.say(play))
    assert (await saying).end is End.DONE
    assert len(player.began) == 1
    await asyncio.sleep(10)
    assert len(player.began) == 2
    assert happened(hass) == "alarm_ringing"


@pytest.mark.timeouts(TimerTimeouts, alarm=100)
@pytest.mark.parametrize("comes_back", [True, False], ids=["comes back", "is gone"])
async def test_it_is_not_heard_by_a_device_that_lost_its_radio_in_a_conversation(
    hass: HomeAssistant, boot: Boot, speech: Speech, notes: list[str], comes_back: bool
) -> None:
    """Nothing tells that before the time-out of MQTT."""
    await speech.answer_with("Which light?")
    device = await boot()
    await push_to_talk(device, speech.command)
    await device.wait_for(lambda: "Which light?" in device.screen.captions, 30)
    await device.wait_state(State.IDLE, 10)
    await set_alarm(hass, 3)
    await asyncio.sleep(2)
    device.cut_network()
    if comes_back:
        await asyncio.sleep(40)
        device.restore_network()
        await has_rung(device, 3)
        await act(hass, "button", "press", STOP)
        assert not notes
        return
    assert "Nobody stopped these alarms on Kitchen box: Wake up" in await next_note(notes)
    assert happened(hass) == "alarm_stopped"


async def test_a_snoozed_alarm_rings_no_more_when_its_time_is_deleted(
    hass: HomeAssistant, boot: Boot, known: Device
) -> None:
    device = await boot()
    first = soon(10)
    await calendar(hass).async_create_event(dtstart=first, summary="Up", rrule="FREQ=DAILY")
    await has_rung(device, 2)
    await act(hass, "button", "press", SNOOZE)
    (uid,) = known.state.owned["alarms"]
    await calendar(hass).async_delete_event(uid, recurrence_id=f"{first:%Y%m%dT%H%M%S}")
    await rings_no_more(device, 700)
    assert dt_util.parse_datetime(state_of(hass, NEXT_ALARM).state) == first + timedelta(days=1)


@pytest.mark.parametrize("renamed", ["all", "one", "one and later ones", "later ones", "single"])
async def test_a_snoozed_alarm_that_is_renamed_stays_snoozed(
    hass: HomeAssistant, boot: Boot, known: Device, renamed: str
) -> None:
    device = await boot()
    first = soon(10)
    event: dict[str, Any] = {"dtstart": first, "summary": "Up"}
    if renamed != "single":
        event["rrule"] = "FREQ=DAILY"
    await calendar(hass).async_create_event(**event)
    await has_rung(device, 2)
    await act(hass, "button", "press", SNOOZE)
    (uid,) = known.state.owned["alarms"]
    start = first + timedelta(days=renamed == "later ones")
    which = [] if renamed in {"all", "single"} else [f"{start:%Y%m%dT%H%M%S}"]
    which += ["THISANDFUTURE"] if "later" in renamed else []
    await calendar(hass).async_update_event(uid, event | {"dtstart": start, "summary": "Out"}, *which)
    rung = await rings_no_more(device, 500)
    await has_rung(device, rung + 2, 90)
    assert device.screen.system_text == f"Alarm: {'Up' if renamed == 'later ones' else 'Out'}"
    await act(hass, "button", "press", STOP)
    following = dt_util.parse_datetime(state_of(hass, NEXT_ALARM).state)
    assert following == (None if renamed == "single" else first + timedelta(days=1))


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


@pytest.mark.timeouts(TimerTimeouts, alarm=100)
@pytest.mark.parametrize("target", ["entity_id", "area_id", "nobody's", "fault"])
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
        await asyncio.sleep(200)
        assert "Nobody stopped these alarms" in await next_note(notes)
        return
    where = {"area_id": area} if target == "area_id" else {"entity_id": player.entity_id}
    # Words to a voice device, and automations by the clock, have no user.
    by = Context() if target == "nobody's" else Context(user_id=hass_admin_user.id)
    await boot.hass.services.async_call("media_player", "media_stop", where, blocking=True, context=by)
    await asyncio.sleep(5)
    assert (happened(boot.hass), state_of(boot.hass, player.entity_id).state) == ("alarm_stopped", "idle")
    await asyncio.sleep(200)
    assert len(player.began) == 1
    assert not notes


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
    (snoozed,) = boot.known.state.owned["alarms"].values()
    assert snoozed.snoozed
    assert await handle("XiaozhiStopAlarm", bedroom) == "Alarm stopped."
    assert happened(hass) == "alarm_snoozed"
    assert await handle("XiaozhiStopAlarm", bedroom) == "No alarm rings."
    assert await handle("XiaozhiStopAlarm", kitchen) == "Alarm stopped."
    assert not boot.known.state.owned["alarms"]
    assert await handle("XiaozhiStopAlarm", kitchen) == "No alarm rings."


@pytest.mark.parametrize("version", ["2.4.2", "2.5.0"])
async def test_an_announcement_comes_between_two_rounds_of_the_bell(
    hass: HomeAssistant, boot: Boot, speech: Speech, version: str
) -> None:
    """Such as a fire alarm; the satellite shows that something is heard."""
    change_settings(hass, boot.entry, show_announcements=True)
    device = await boot(get_profile(version=version))
    await set_alarm(hass, 10)
    await asyncio.sleep(25)
    assert hass.states.is_state(SATELLITE, "responding")
    async with asyncio.timeout(15):
        await act(hass, "assist_satellite", "announce", SATELLITE, message="Fire!")
    await asyncio.sleep(10)
    shown = [text for each in device.announcements for _, text in each.shown]
    shown = shown or list(dict.fromkeys(alert["message"] for alert in alerts(device)))
    assert "Fire!" in shown
    assert hass.states.is_state(SATELLITE, "responding")
    await device.wake()
    await device.wait_state(State.IDLE, 10)
    assert happened(hass) == "alarm_stopped"
    assert hass.states.is_state(SATELLITE, "idle")
