"""Alarms are heard also where a loudspeaker is muted; what else would not be heard is an error, or kept."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Any

from homeassistant.components.media_player import MediaPlayerEntityFeature, MediaPlayerState
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
import pytest

from custom_components.xiaozhi.announcements.announcer import Announcer
from custom_components.xiaozhi.announcements.utterance import Rank
from custom_components.xiaozhi.device.device import Device
from simulator import SimulatedDevice
from simulator.application.announcement import Outcome
from tests.integration.announcements.big_speaker import PLAYER, BigSpeaker
from tests.integration.announcements.sounds import is_heard, keep_message, ring
from tests.integration.boxes import act, alerts, announce, wait_for_state
from tests.integration.names import BRIGHTNESS, NEW, OLD, Boot

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
    hass: HomeAssistant, boot: Boot, announcer: Announcer, rank: Rank
) -> None:
    device = await boot(NEW)
    await wait_for_state(hass, BRIGHTNESS, "75")
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


@pytest.mark.usefixtures("speech")
async def test_what_a_muted_device_would_say_unheard_fails_or_is_kept(
    hass: HomeAssistant, boot: Boot, known: Device
) -> None:
    device = await boot(NEW)
    await wait_for_state(hass, BRIGHTNESS, "75")
    await mute(hass, SPEAKER)
    with pytest.raises(HomeAssistantError, match="the volume of Kitchen box is 0"):
        await announce(hass)
    assert await is_kept(known)
    assert not device.announcements
    # Somebody has turned it up at the device.
    device.values["volume"] = 40
    await announce(hass)
    assert device.announcements[-1].outcome is Outcome.PLAYED


@RINGS
@pytest.mark.parametrize("silence", ["muted", "volume 0", "cannot be set"])
async def test_a_ring_ends_the_mute_of_the_player_or_sounds_on_the_device(
    device: SimulatedDevice,
    player: BigSpeaker,
    announcer: Announcer,
    rank: Rank,
    silence: str,
) -> None:
    hass = player.hass
    if silence != "cannot be set":
        player._attr_supported_features |= VOLUMES
    player.set_volume(0.0 if silence == "volume 0" else 0.5)
    if silence != "volume 0":
        await player.async_mute_volume(True)
    ringing = hass.async_create_task(announcer.say(ring(8, rank)))
    if silence == "cannot be set":
        await ringing
        assert len(alerts(device)) == 3
        assert not player.began
        return
    await device.wait_for(lambda: bool(player.began), 10)
    assert (player.is_volume_muted, player.volume_level) in {(False, 0.5), (None, 0.3)}
    await ringing
    await hass.async_block_till_done()
    assert (player.is_volume_muted, player.volume_level) in {(True, 0.5), (None, 0.0)}


@pytest.mark.usefixtures("device")
async def test_what_a_muted_player_would_say_unheard_fails_or_is_kept(
    player: BigSpeaker, known: Device
) -> None:
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
    boot: Boot, announcer: Announcer, hass_storage: dict[str, Any]
) -> None:
    device = await boot(NEW)
    await wait_for_state(boot.hass, BRIGHTNESS, "75")
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


async def test_a_player_that_leaves_in_a_ring_is_silent_again_when_it_is_back(
    device: SimulatedDevice, player: BigSpeaker, announcer: Announcer
) -> None:
    player._attr_supported_features |= VOLUMES
    await player.async_mute_volume(True)
    ringing = asyncio.create_task(announcer.say(ring(8, Rank.TIMER)))
    await device.wait_for(lambda: bool(player.began), 10)
    player.show(MediaPlayerState.IDLE, there=False)
    await ringing
    player.show(MediaPlayerState.IDLE)
    await asyncio.sleep(5)
    assert player.is_volume_muted
