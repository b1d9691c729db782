"""Voice timers ring on the device that they were set on, as well as its firmware can."""

import asyncio

from homeassistant.components.intent import async_device_supports_timers
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er, intent
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.guests.alarms.ring import TimerTimeouts
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import State, converse
from simulator.application.announcement import Outcome
from tests.integration.announcements.big_speaker import SELECT, BigSpeaker
from tests.integration.boxes import TWO_DEVICES, Speech, alerts, choose, state_of, wait_for_state
from tests.integration.clock.alarms import has_rung, next_note, rings_no_more
from tests.integration.clock.conftest import Handle
from tests.integration.names import COMMAND, NEW, SATELLITE, Boot

# A device that is away is not waited for as long.
pytestmark = pytest.mark.timeouts(TimerTimeouts, unreachable=150)

LINK = LinkKind.MQTT

NEXT_TIMER = "sensor.kitchen_box_next_timer"


async def test_it_is_set_changed_paused_and_cancelled_and_said_between_turns(
    hass: HomeAssistant, boot: Boot, handle: Handle, speech: Speech
) -> None:
    device = await boot()
    assert async_device_supports_timers(hass, boot.device_id)
    assert hass.states.get(NEXT_TIMER) is None

    async def assert_next_in(seconds: float) -> None:
        await hass.async_block_till_done()
        end = dt_util.parse_datetime(state_of(hass, NEXT_TIMER).state)
        assert end is not None
        assert (end - dt_util.utcnow()).total_seconds() == pytest.approx(seconds, abs=60)

    await handle("HassStartTimer", minutes=50, name="pizza")
    await handle("HassStartTimer", minutes=100)
    await assert_next_in(3000)
    await handle("HassIncreaseTimer", minutes=10, name="pizza")
    await assert_next_in(3600)
    await handle("HassPauseTimer", name="pizza")
    await assert_next_in(6000)
    await handle("HassUnpauseTimer", name="pizza")
    await handle("HassCancelTimer", start_minutes=100)
    await assert_next_in(3600)
    await handle("HassCancelAllTimers")
    await hass.async_block_till_done()
    assert hass.states.is_state(NEXT_TIMER, "unknown")
    assert not alerts(device)
    speech.recognizer.lines = [COMMAND]
    await handle("HassStartTimer", seconds=1, name="pizza")
    talk = await converse(device, speech.command, patience=60)
    assert talk.answers[-1] == "Timer ended: pizza."
    assert "Timer ended: pizza." in speech.voice.spoken


async def test_a_device_has_thirty_timers_at_most_with_short_names(
    hass: HomeAssistant, boot: Boot, handle: Handle
) -> None:
    device = await boot()
    for number in range(30):
        await handle("HassStartTimer", minutes=50, name=f"{number}" * 1000)
    with pytest.raises(intent.IntentHandleError, match="30 timers run already on Kitchen box"):
        await handle("HassStartTimer", seconds=5, name="one more")
    timers = boot.known.state.owned["timers"]
    assert len(timers) == 30
    assert {len(timer.name) for timer in timers.values()} == {100}
    await rings_no_more(device, 30)
    await handle("HassCancelTimer", name="7" * 1000)
    await handle("HassStartTimer", seconds=5, name="one more")
    await has_rung(device, 1)
    assert alerts(device)[0]["message"] == "Timer ended: one more."


async def test_old_firmware_shows_it_with_a_sound_until_it_is_woken(
    hass: HomeAssistant, speech: Speech, boot: Boot, handle: Handle
) -> None:
    """Or for half a minute."""
    device = await boot()
    await handle("HassStartTimer", seconds=5, name="pizza")
    await has_rung(device, 10)
    await rings_no_more(device, 10)
    assert [alert["message"] for alert in alerts(device)] == ["Timer ended: pizza."] * 10
    times = [
        event.time for event in device.transcript if event.data.get("message", {}).get("type") == "alert"
    ]
    assert times[-1] - times[0] == pytest.approx(27, abs=1)
    await handle("HassStartTimer", seconds=5)
    await has_rung(device, 13)
    assert alerts(device)[-1]["message"] == "Your timer has ended."
    await device.wake()
    # Waking it only ends the ring: nobody is listened to.
    await device.wait_state(State.IDLE, 10)
    await rings_no_more(device, 10)
    assert not speech.recognizer.streams
    # The next conversation is an ordinary one.
    await device.wake()
    await device.wait_state(State.LISTENING, 10)


@TWO_DEVICES
async def test_one_that_rings_is_stopped_by_words_also_from_another_room(
    hass: HomeAssistant, boot: Boot, handle: Handle, notes: list[str]
) -> None:
    device = await boot()
    for at in (*boot.device_ids, None):
        for _ in range(2):
            await handle("HassStartTimer", boot.device_ids[0], seconds=5, name="pizza")
        await has_rung(device, len(alerts(device)) + 3)
        assert await handle("XiaozhiStopAlarm", at) == "Timer stopped."
        await rings_no_more(device, 60)
        assert await handle("XiaozhiStopAlarm", at) == "No alarm rings."
    # The next one rings.
    await handle("HassStartTimer", seconds=5)
    await has_rung(device, len(alerts(device)) + 3)
    assert not notes


async def test_new_firmware_rings_for_a_minute_or_until_it_is_woken(
    hass: HomeAssistant, speech: Speech, boot: Boot, handle: Handle
) -> None:
    device = await boot(NEW)
    await handle("HassStartTimer", seconds=5, name="pizza")
    announced = await device.wait_announced(timeout=120)
    assert announced.outcome is Outcome.PLAYED
    assert len(announced.pcm) / 2 / device.speaker.rate == pytest.approx(60, abs=0.5)
    assert [text for _, text in announced.shown] == ["Timer ended: pizza."]
    await handle("HassStartTimer", seconds=5)
    await device.wait_for(lambda: len(device.announcements) == 2 and bool(device.announcements[1].played))
    await device.wake()
    second = device.announcements[1]
    await device.wait_for(lambda: second.over and device.state is State.IDLE, 20)
    assert second.outcome is Outcome.CANCELLED
    await hass.async_block_till_done()
    assert not speech.recognizer.streams
    assert not alerts(device)
    await device.wake()
    await device.wait_state(State.LISTENING, 10)
    assert len(device.announcements) == 2


async def test_a_device_that_is_away_rings_when_it_is_back(
    hass: HomeAssistant, boot: Boot, handle: Handle, notes: list[str]
) -> None:
    device = await boot()
    # Its tools are known when it is asked for its status.
    await device.wait_for(lambda: bool(device.events("tool")))
    await handle("HassStartTimer", seconds=5, name="pizza")
    await device.lose_power()
    await wait_for_state(hass, NEXT_TIMER, "unknown", 60)
    await device.boot()
    await has_rung(device, 10)
    assert not notes


@pytest.mark.parametrize("link", [LinkKind.WEBSOCKET])
@pytest.mark.usefixtures("chosen")
async def test_on_websocket_one_can_be_set_only_if_another_loudspeaker_rings(
    hass: HomeAssistant, boot: Boot, handle: Handle, player: BigSpeaker
) -> None:
    device = await boot()
    await device.wake()
    await device.wait_state(State.LISTENING, 10)
    await handle("HassStartTimer", seconds=20)
    await choose(hass, SELECT, "this_device")
    await handle("HassCancelAllTimers")
    assert not async_device_supports_timers(hass, boot.device_id)
    await choose(hass, SELECT, "Big speaker")
    await handle("HassStartTimer", seconds=20)
    await device.click()
    await asyncio.sleep(30)
    assert len(player.began) == 1


async def test_timers_of_an_absent_device_are_reported_ten_minutes_late(
    hass: HomeAssistant, boot: Boot, handle: Handle, notes: list[str]
) -> None:
    device = await boot()
    await device.wait_for(lambda: bool(device.events("tool")))
    await handle("HassStartTimer", seconds=5, name="pizza")
    await handle("HassStartTimer", seconds=65, name="bread")
    await device.lose_power()
    began = hass.loop.time()
    for name, at in (("pizza", 155), ("bread", 215)):
        text = await next_note(notes)
        assert "Kitchen box was not connected" in text
        assert f"{name} (" in text
        assert hass.loop.time() - began == pytest.approx(at, abs=5)
        notes.clear()


async def test_a_disabled_satellite_swallows_no_timer(
    hass: HomeAssistant, boot: Boot, handle: Handle, linked_entry: MockConfigEntry
) -> None:
    device = await boot()
    await handle("HassStartTimer", seconds=40, name="pizza")
    er.async_get(hass).async_update_entity(SATELLITE, disabled_by=er.RegistryEntryDisabler.USER)
    await hass.config_entries.async_reload(linked_entry.entry_id)
    await has_rung(device, 10, 120)


async def restart(hass: HomeAssistant, entry: MockConfigEntry, handle: Handle, *, off: float = 0) -> None:
    """Restart all of Home Assistant that knows of timers; it is off for some seconds."""
    assert await hass.config_entries.async_unload(entry.entry_id)
    await handle("HassCancelAllTimers")
    hass.data.pop("xiaozhi_timers")
    await asyncio.sleep(off)
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()


@pytest.mark.own_home
@pytest.mark.usefixtures("wall_clock")
async def test_running_timers_outlive_a_reload_and_a_restart(
    hass: HomeAssistant, boot: Boot, handle: Handle, notes: list[str]
) -> None:
    await boot()
    await handle("HassStartTimer", minutes=50, name="pizza")
    await handle("HassStartTimer", minutes=20, name="bread")
    await handle("HassPauseTimer", name="bread")
    await hass.async_block_till_done()
    ends = state_of(hass, NEXT_TIMER).state
    assert await hass.config_entries.async_reload(boot.entry.entry_id)
    await hass.async_block_till_done()
    assert hass.states.is_state(NEXT_TIMER, ends)
    assert not notes
    await restart(hass, boot.entry, handle, off=60)
    text = await next_note(notes)
    assert "bread (0:20:00)" in text
    assert "pizza" not in text
    again, before = (dt_util.parse_datetime(end) for end in (state_of(hass, NEXT_TIMER).state, ends))
    assert again is not None
    assert before is not None
    assert abs((again - before).total_seconds()) <= 2
    await handle("HassCancelTimer", name="pizza")
    await hass.async_block_till_done()
    assert hass.states.is_state(NEXT_TIMER, "unknown")


@pytest.mark.own_home
@pytest.mark.usefixtures("wall_clock")
@pytest.mark.parametrize(("off", "rings"), [(60, True), (300, False)])
async def test_a_timer_that_ended_while_off_rings_late_or_is_reported(
    hass: HomeAssistant, boot: Boot, handle: Handle, notes: list[str], off: float, rings: bool
) -> None:
    device = await boot()
    await handle("HassStartTimer", seconds=5, name="pizza")
    await restart(hass, boot.entry, handle, off=off)
    if rings:
        await has_rung(device, 2)
        # What was cut off in its ring rings again, and has rung then.
        assert await hass.config_entries.async_reload(boot.entry.entry_id)
        await has_rung(device, 12)
        await asyncio.sleep(60)
        await restart(hass, boot.entry, handle)
        await rings_no_more(device, 60)
        assert not notes
    else:
        assert "pizza (0:00:05)" in await next_note(notes)
        assert not alerts(device)
