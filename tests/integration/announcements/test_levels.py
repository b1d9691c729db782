"""Volume and brightness of devices and players that are muted or not to disturb, and their return."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Any

from homeassistant.components.media_player import MediaPlayerEntityFeature, MediaPlayerState
from homeassistant.config_entries import ConfigEntryDisabler
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.announcements.announcer import Announcer
from custom_components.xiaozhi.announcements.delivery import Delivery
from custom_components.xiaozhi.announcements.heard import End
from custom_components.xiaozhi.announcements.utterance import Rank
from custom_components.xiaozhi.const import CONF_ANNOUNCEMENT_VOLUME
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.tools.stock_tools import BRIGHTNESS_TOOL, STATUS_TOOL, VOLUME_TOOL
from simulator import Profile, SimulatedDevice, State, get_profile
from simulator.application.announcement import Outcome
from tests.integration.announcements.big_speaker import PLAYER, BigSpeaker
from tests.integration.announcements.quiet import (
    LONG_ANSWER,
    QUIET,
    REASON,
    answers,
    device,
    levels,
    make_quiet,
    switch,
)
from tests.integration.announcements.sounds import is_heard, keep_message, ring
from tests.integration.boxes import Speech, act, alerts, announce, change_settings, say, wait_for_state
from tests.integration.names import BRIGHTNESS, COMMAND, CONNECTED, MAC, NEW, OLD, Boot
from tests.protocol.audio.sounds import pitch_level

__all__ = ["device"]

pytestmark = pytest.mark.usefixtures("speech")

SPEAKER = "media_player.kitchen_box_speaker"
VOLUMES = MediaPlayerEntityFeature.VOLUME_SET | MediaPlayerEntityFeature.VOLUME_MUTE
RINGS = pytest.mark.parametrize("rank", [Rank.ALARM, Rank.TIMER])


async def mute(hass: HomeAssistant, player: str) -> None:
    await act(hass, "media_player", "volume_mute", player, is_volume_muted=True)


async def is_kept(known: Device) -> bool:
    await keep_message(known, 1)
    await known.hass.async_block_till_done()
    return bool(known.state.owned["messages"])


@RINGS
async def test_a_ring_ends_the_mute_of_a_device_for_its_time(
    hass: HomeAssistant, device: SimulatedDevice, announcer: Announcer, rank: Rank
) -> None:
    await mute(hass, SPEAKER)
    ringing = hass.async_create_task(announcer.say(ring(8, rank)))
    await is_heard(device)
    assert device.values["volume"] == 30
    await ringing
    assert device.values["volume"] == 0
    await asyncio.sleep(61)
    player = hass.states.get(SPEAKER)
    assert player is not None
    assert player.attributes["is_volume_muted"]


async def test_what_a_muted_device_would_say_unheard_fails_or_is_kept(
    hass: HomeAssistant, device: SimulatedDevice, known: Device
) -> None:
    await mute(hass, SPEAKER)
    with pytest.raises(HomeAssistantError, match="the volume of Kitchen box is 0"):
        await announce(hass)
    assert await is_kept(known)
    assert not device.announcements
    # Somebody has turned it up at the device.
    device.values["volume"] = 40
    await announce(hass)
    assert device.announcements[-1].outcome is Outcome.PLAYED


@pytest.mark.parametrize(
    ("rank", "silent", "audible"),
    [(Rank.ALARM, (True, 0.5), (False, 0.5)), (Rank.TIMER, (None, 0.0), (None, 0.3))],
    ids=["muted", "volume 0"],
)
@pytest.mark.usefixtures("chosen")
async def test_a_ring_ends_the_mute_of_the_player_for_its_time(
    boot: Boot, player: BigSpeaker, announcer: Announcer, rank: Rank, silent: Any, audible: Any
) -> None:
    device = await boot(OLD)
    player._attr_supported_features |= VOLUMES
    player._attr_is_volume_muted, level = silent
    player.set_volume(level)
    ringing = asyncio.create_task(announcer.say(ring(8, rank)))
    await device.wait_for(lambda: bool(player.began), 10)
    assert (player.is_volume_muted, player.volume_level) == audible
    await ringing
    await boot.hass.async_block_till_done()
    assert (player.is_volume_muted, player.volume_level) == silent


@pytest.mark.usefixtures("chosen")
async def test_a_ring_sounds_on_the_device_if_its_player_stays_muted(
    boot: Boot, player: BigSpeaker, announcer: Announcer
) -> None:
    device = await boot(OLD)
    await player.async_mute_volume(True)
    await announcer.say(ring(8, Rank.ALARM))
    assert len(alerts(device)) == 3
    assert not player.began


@pytest.mark.usefixtures("chosen")
async def test_what_a_muted_player_would_say_unheard_fails_or_is_kept(
    boot: Boot, player: BigSpeaker, known: Device
) -> None:
    await boot(OLD)
    player.set_volume(0.0)
    with pytest.raises(HomeAssistantError, match="the volume of Big speaker is 0"):
        await announce(player.hass)
    assert await is_kept(known)
    assert PLAYER not in player.asked
    assert not player.began


@asynccontextmanager
async def killed(boot: Boot, hass_storage: dict[str, Any]) -> AsyncGenerator[None]:
    """The gateway is killed now, and starts again at the end. The block undoes what its stop has done."""
    key = f"xiaozhi.{boot.entry.entry_id}.owned"
    await asyncio.sleep(1)
    on_disk = deepcopy(hass_storage[key])
    assert await boot.hass.config_entries.async_unload(boot.entry.entry_id)
    await boot.hass.async_block_till_done()
    yield
    hass_storage[key] = on_disk
    assert await boot.hass.config_entries.async_setup(boot.entry.entry_id)
    await boot.hass.async_block_till_done()


async def test_a_device_is_muted_again_after_a_kill_in_mid_ring(
    boot: Boot, device: SimulatedDevice, announcer: Announcer, hass_storage: dict[str, Any]
) -> None:
    await mute(boot.hass, SPEAKER)
    ringing = asyncio.create_task(announcer.say(ring(30, Rank.TIMER)))
    await is_heard(device)
    async with killed(boot, hass_storage):
        await ringing
        device.values["volume"] = 30
    await device.wait_for(lambda: device.values["volume"] == 0, 60)


@pytest.mark.parametrize("then", ["there", "there later", "set meanwhile"])
@pytest.mark.usefixtures("chosen")
async def test_a_player_is_silent_again_after_a_kill_in_mid_ring(
    boot: Boot, player: BigSpeaker, announcer: Announcer, hass_storage: dict[str, Any], then: str
) -> None:
    device = await boot(OLD)
    player._attr_supported_features |= VOLUMES
    player.set_volume(0.0)
    await player.async_mute_volume(True)
    ringing = asyncio.create_task(announcer.say(ring(30, Rank.TIMER)))
    await device.wait_for(lambda: bool(player.began), 10)
    async with killed(boot, hass_storage):
        await ringing
        await asyncio.sleep(5)
        assert (player.is_volume_muted, player.volume_level) == (True, 0.0)
        player.show(MediaPlayerState.IDLE, there=then != "there later")
        await player.async_mute_volume(False)
        player.set_volume(0.8 if then == "set meanwhile" else 0.31)
    if then == "there later":
        await asyncio.sleep(60)
        assert (player.is_volume_muted, player.volume_level) == (False, 0.31)
        player.show(MediaPlayerState.IDLE)
    await asyncio.sleep(1)
    assert (player.is_volume_muted, player.volume_level) == (True, 0.8 if then == "set meanwhile" else 0.0)
    # It is given back once.
    await player.async_mute_volume(False)
    await asyncio.sleep(60)
    assert not player.is_volume_muted


@pytest.mark.usefixtures("chosen")
async def test_a_player_that_leaves_in_a_ring_is_silent_again_when_it_is_back(
    boot: Boot, player: BigSpeaker, announcer: Announcer
) -> None:
    device = await boot(OLD)
    player._attr_supported_features |= VOLUMES
    await player.async_mute_volume(True)
    ringing = asyncio.create_task(announcer.say(ring(8, Rank.TIMER)))
    await device.wait_for(lambda: bool(player.began), 10)
    player.show(MediaPlayerState.IDLE, there=False)
    await ringing
    player.show(MediaPlayerState.IDLE)
    await asyncio.sleep(5)
    assert player.is_volume_muted


async def test_answers_are_quiet_the_screen_is_dim_and_both_come_back(
    hass: HomeAssistant, device: SimulatedDevice, speech: Speech, command: bytes
) -> None:
    await speech.answer_with(LONG_ANSWER, heard=[COMMAND])
    await make_quiet(hass, device)
    await answers(device, command)
    assert levels(device) == (30, 10)
    await device.wait_state(State.IDLE, 60)
    await asyncio.sleep(130)
    assert levels(device) == (30, 10)
    await switch(hass, "off")
    await device.wait_for(lambda: levels(device) == (70, 75), 5)
    await asyncio.sleep(130)
    assert levels(device) == (70, 75)


@pytest.mark.parametrize("profile", [OLD, NEW])
@pytest.mark.parametrize(("announced", "rank", "expected"), [(90, Rank.ALARM, 90), (0, Rank.TIMER, 70)])
async def test_what_rings_is_as_loud_as_it_is_set(
    hass: HomeAssistant,
    boot: Boot,
    announcer: Announcer,
    linked_entry: MockConfigEntry,
    profile: Profile,
    announced: int,
    rank: Rank,
    expected: int,
) -> None:
    device = await boot(profile)
    change_settings(hass, linked_entry, **{CONF_ANNOUNCEMENT_VOLUME: announced})
    await wait_for_state(hass, BRIGHTNESS, "75")
    await make_quiet(hass, device)
    ringing = asyncio.create_task(announcer.say(ring(8, rank)))
    await device.wait_for(lambda: bool(device.announcements or alerts(device)), 10)
    await asyncio.sleep(1)
    assert levels(device) == (expected, 10)
    assert (await ringing).end is End.DONE
    await device.wait_for(lambda: levels(device) == (30, 10), 5)
    await switch(hass, "off")
    await device.wait_for(lambda: levels(device) == (70, 75), 5)


async def test_it_is_kept_over_restarts_and_undone_after_an_absence(
    hass: HomeAssistant, device: SimulatedDevice, linked_entry: MockConfigEntry, hass_storage: dict[str, Any]
) -> None:
    await make_quiet(hass, device)
    await asyncio.sleep(2)
    # Soon, so that the end of Home Assistant does not leave it quiet.
    stored = hass_storage[f"xiaozhi.{linked_entry.entry_id}.owned"]["data"][MAC]
    assert [stored[f"{name}_to_restore"] for name in ("volume", "brightness")] == [[70, 30], [75, 10]]
    assert await hass.config_entries.async_reload(linked_entry.entry_id)
    assert hass.states.is_state(QUIET, "on")
    await wait_for_state(hass, CONNECTED, "on", 30)
    await device.power_off()
    await device.boot()
    await asyncio.sleep(70)
    assert levels(device) == (30, 10)
    await device.power_off()
    await wait_for_state(hass, CONNECTED, "off", 120)
    await switch(hass, "off")
    assert await hass.config_entries.async_reload(linked_entry.entry_id)
    await device.boot()
    await device.wait_for(lambda: levels(device) == (70, 75), 30)


@pytest.mark.parametrize("restarts", [False, True])
async def test_one_that_left_before_it_was_quiet_is_quiet_afterwards(
    hass: HomeAssistant, device: SimulatedDevice, linked_entry: MockConfigEntry, *, restarts: bool
) -> None:
    """The same after a reload of the gateway."""
    device.tool_seconds[VOLUME_TOOL] = device.tool_seconds[BRIGHTNESS_TOOL] = 100
    await switch(hass, "on")
    await asyncio.sleep(2)
    assert levels(device) == (70, 75)
    await device.power_off()
    await wait_for_state(hass, CONNECTED, "off", 120)
    device.tool_seconds.clear()
    if restarts:
        assert await hass.config_entries.async_reload(linked_entry.entry_id)
    await device.boot()
    await asyncio.sleep(70)
    assert levels(device) == (30, 10)
    await switch(hass, "off")
    await device.wait_for(lambda: levels(device) == (70, 75), 5)


async def test_a_busy_device_is_not_left_quiet_when_it_is_deleted(
    hass: HomeAssistant, device: SimulatedDevice, linked_entry: MockConfigEntry
) -> None:
    await make_quiet(hass, device)
    await asyncio.sleep(3)
    # A main task that draws takes 0.3 seconds for each of the four calls.
    for tool in (STATUS_TOOL, VOLUME_TOOL, BRIGHTNESS_TOOL):
        device.tool_seconds[tool] = 15
    hass.config_entries.async_remove_subentry(linked_entry, next(iter(linked_entry.subentries)))
    await device.wait_for(lambda: levels(device) == (70, 75), 5)


async def test_what_somebody_sets_meanwhile_stays(
    hass: HomeAssistant, device: SimulatedDevice, linked_entry: MockConfigEntry
) -> None:
    await make_quiet(hass, device)
    change_settings(hass, linked_entry, quiet_volume=20, quiet_brightness=30)
    await device.wait_for(lambda: levels(device) == (20, 30), 5)
    await asyncio.sleep(3)
    # Less, as by sounds that fade out, is only for now.
    device.values["volume"] = 5
    await asyncio.sleep(130)
    assert levels(device) == (5, 30)
    await switch(hass, "off")
    await device.wait_for(lambda: levels(device) == (70, 75), 5)
    await switch(hass, "on")
    await device.wait_for(lambda: levels(device) == (20, 30), 5)
    await asyncio.sleep(3)
    device.values["volume"] = 50
    await asyncio.sleep(130)
    assert levels(device) == (50, 30)
    await switch(hass, "off")
    await device.wait_for(lambda: levels(device) == (50, 75), 5)
    await asyncio.sleep(130)
    assert levels(device) == (50, 75)


async def test_a_screen_that_is_asleep_is_dimmed_when_it_wakes(
    hass: HomeAssistant, device: SimulatedDevice, speech: Speech, command: bytes
) -> None:
    await speech.answer_with(*[LONG_ANSWER] * 3, heard=[COMMAND] * 3)
    device.values["brightness"] = 20
    await switch(hass, "on")
    await asyncio.sleep(65)
    assert levels(device) == (30, 20)
    # As the firmware does, which remembers what was set.
    device.values["brightness"] = 75
    await answers(device, command)
    assert levels(device) == (30, 10)
    await device.wait_state(State.IDLE, 60)
    device.values["brightness"] = 20
    await asyncio.sleep(65)
    await switch(hass, "off")
    await asyncio.sleep(65)
    assert levels(device) == (70, 20)
    device.values["brightness"] = 10
    await say(device, command)
    await device.wait_for(lambda: levels(device) == (70, 75), 70)


@pytest.mark.parametrize("link", [LinkKind.WEBSOCKET])
async def test_on_websocket_it_applies_from_the_next_conversation_on(
    hass: HomeAssistant, boot: Boot, speech: Speech, command: bytes
) -> None:
    device = await boot(NEW)
    await speech.answer_with(*[LONG_ANSWER] * 3, heard=[COMMAND] * 3)
    await say(device, command)
    for state, expected in (("on", (30, 10)), ("off", (70, 75))):
        await switch(hass, state)
        await asyncio.sleep(5)
        assert levels(device) != expected
        with pytest.raises(HomeAssistantError, match=REASON if state == "on" else "WebSocket"):
            await announce(hass)
        await answers(device, command, f"hi {state}")
        assert levels(device) == expected
        await device.wait_state(State.IDLE, 60)


@pytest.mark.parametrize(
    ("profile", "expected"),
    [(get_profile("lamp"), (30, 75)), (get_profile(version="1.6.2"), (70, 75))],
    ids=["no backlight", "no tools"],
)
async def test_a_device_that_can_do_less_disturbs_as_little(
    hass: HomeAssistant,
    boot: Boot,
    speech: Speech,
    command: bytes,
    profile: Profile,
    expected: tuple[int, int],
) -> None:
    device = await boot(profile)
    await speech.answer_with(LONG_ANSWER, heard=[COMMAND])
    await asyncio.sleep(5)
    await switch(hass, "on")
    with pytest.raises(HomeAssistantError, match=REASON):
        await announce(hass)
    await answers(device, command)
    assert levels(device) == expected


@pytest.mark.usefixtures("chosen")
async def test_another_loudspeaker_keeps_its_volume_and_gets_softer_sound(
    boot: Boot, player: BigSpeaker, announcer: Announcer, speech: Speech
) -> None:
    device = await boot(NEW)
    await speech.answer_with(*[LONG_ANSWER] * 3, heard=[COMMAND] * 3)
    await switch(speech.hass, "on")
    player.set_volume(0.6)
    await say(device, speech.command)
    assert (await announcer.say(ring(5, Rank.ALARM))).how is Delivery.ROOM_PLAYER
    await switch(speech.hass, "off")
    await say(device, speech.command, "hi")
    quiet, alarm, usual = (pitch_level(pcm[48000:], 24000, 440) for pcm in player.played)
    assert quiet == pytest.approx(usual / 4, rel=0.1)
    assert alarm > usual / 2
    assert player.volume_level == 0.6


@pytest.mark.parametrize("rank", [Rank.ALARM, Rank.TIMER])
async def test_what_rings_when_it_goes_on_stays_loud(
    hass: HomeAssistant, device: SimulatedDevice, announcer: Announcer, rank: Rank
) -> None:
    """And without either of both, nothing is set before something is said."""
    calls = len(device.events("tool"))
    ringing = asyncio.create_task(announcer.say(ring(8, rank)))
    await is_heard(device)
    assert {call["name"] for call in device.events("tool")[calls:]} == {"self.get_device_status"}
    await switch(hass, "on")
    await asyncio.sleep(3)
    assert levels(device) == (70, 10)
    assert (await ringing).end is End.DONE
    await device.wait_for(lambda: levels(device) == (30, 10), 5)


@pytest.mark.parametrize("gone", ["device deleted", "integration deleted", "integration disabled"])
async def test_a_device_without_its_gateway_gets_its_levels_back(
    hass: HomeAssistant, device: SimulatedDevice, linked_entry: MockConfigEntry, gone: str
) -> None:
    await make_quiet(hass, device)
    await asyncio.sleep(3)
    entries, entry_id = hass.config_entries, linked_entry.entry_id
    if gone == "device deleted":
        entries.async_remove_subentry(linked_entry, *linked_entry.subentries)
    elif gone == "integration deleted":
        await entries.async_remove(entry_id)
    else:
        await entries.async_set_disabled_by(entry_id, ConfigEntryDisabler.USER)
    await device.wait_for(lambda: not device.connected, 30)
    assert levels(device) == (70, 75)
