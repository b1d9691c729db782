"""Packs that a device could not fetch, or has no more."""

import asyncio
from dataclasses import replace
import os
from pathlib import Path
from unittest.mock import AsyncMock, Mock

import aiohttp
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.device.commands import DeviceCommands
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.errors import UserError
from custom_components.xiaozhi.guests.firmware.installation import FirmwareTimeouts
from custom_components.xiaozhi.guests.wake_words.device_wake_words import WakeWords
from custom_components.xiaozhi.guests.wake_words.pack_installation import SENT_PACK
from custom_components.xiaozhi.guests.wake_words.pack_recovery import LostPack
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import Misbehaviour, SimulatedDevice, State, get_profile
from simulator.board.crash import Restart
from simulator.board.tools import ToolError
from tests.integration.boxes import introduce, state_of, wait_for_state
from tests.integration.firmware.conftest import QUICK, is_reported
from tests.integration.firmware.wake_words.packs import (
    WAKE_WORD,
    Web,
    breaks_off,
    choose,
    forgets_the_end,
    pack,
    ready,
    ready_again,
    release,
    restarts,
    set_phrases,
    wakes,
    was_sent_nothing,
)
from tests.integration.names import CONNECTED, MAC, Boot
from tests.protocol.transport.udp.device import until
from tests.rules.firmware.firmware_files import base_pack


@pytest.mark.parametrize("version", ["2.0.2", "2.2.6", "2.4.2"])
async def test_a_lost_connection_leaves_no_wake_word_until_the_next_sending(
    hass: HomeAssistant, hosts: Web, boot: Boot, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """It is sent twice; then the owner can choose again, also what was there before."""
    hosts.release(release(pack(), version=version), version)
    pace = replace(QUICK, flash=1000)
    device = await ready(hass, await boot(get_profile(version=version), pace=pace))
    broken = breaks_off(hass, monkeypatch, times=1)
    await choose(hass, "Jarvis")
    assert broken == [True]
    assert [await wakes(device, word) for word in ("hi xiaozhi", "jarvis")] == [False, True]
    breaks_off(hass, monkeypatch, times=2)
    with pytest.raises(HomeAssistantError, match="has none now"):
        await choose(hass, "original")
    assert state_of(hass, WAKE_WORD).state == "not_known"
    assert [await wakes(device, word) for word in ("你好小智", "jarvis")] == [False, False]
    await choose(hass, "original")
    assert await wakes(device, "你好小智")


@pytest.mark.timeouts(FirmwareTimeouts, restart=30)
@pytest.mark.parametrize("over_broker", [False, True])
async def test_a_device_that_cannot_fetch_its_pack_restarts_and_keeps_its_words(
    hass: HomeAssistant, device: SimulatedDevice, hosts: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    await choose(hass, "Jarvis")
    forgets_the_end(device, monkeypatch, [True])
    with pytest.raises(HomeAssistantError, match="keeps the old ones"):
        await choose(hass, "original")
    await ready_again(hass, device)
    assert state_of(hass, WAKE_WORD).state == "Jarvis"
    assert [await wakes(device, word) for word in ("你好小智", "jarvis")] == [False, True]


async def test_a_device_that_cannot_fetch_its_pack_again_has_none(
    hass: HomeAssistant, device: SimulatedDevice, hosts: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has begun to write over what it had."""
    broken = breaks_off(hass, monkeypatch, times=1)
    forgets_the_end(device, monkeypatch, broken)
    with pytest.raises(HomeAssistantError, match="has none now"):
        await choose(hass, "Jarvis")
    assert state_of(hass, WAKE_WORD).state == "not_known"


async def test_a_device_deaf_to_its_phrases_is_reached_and_gets_the_original(
    hass: HomeAssistant, device: SimulatedDevice, linked_entry: MockConfigEntry
) -> None:
    device.misbehaviours.add(Misbehaviour.DEAF_TO_PHRASES)
    await set_phrases(hass, linked_entry, "hello kitchen")
    await choose(hass, "own_phrases")
    assert not await wakes(device, "hello kitchen")
    await choose(hass, "original")
    assert await wakes(device, "你好小智")


async def test_one_that_restarts_before_it_answers_is_sent_its_pack_again(
    hass: HomeAssistant, device: SimulatedDevice, hosts: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has noted an address at which there is nothing any more, and would have no wake word."""
    remember, noted = device.nvs.set, list[str]()

    def note(namespace: str, key: str, value: str) -> None:
        remember(namespace, key, value)
        if key == "download_url" and not noted:
            noted.append(value)
            raise Restart

    monkeypatch.setattr(device.nvs, "set", note)
    with pytest.raises(HomeAssistantError):
        await choose(hass, "Jarvis")
    await wait_for_state(hass, WAKE_WORD, "Jarvis")
    assert not is_reported(hass)
    assert [await wakes(device, word) for word in ("hi xiaozhi", "jarvis")] == [False, True]


async def test_a_pack_that_a_device_refuses_is_not_sent_again(
    hass: HomeAssistant, device: SimulatedDevice, hosts: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(device.nvs, "set", Mock(side_effect=ToolError("no space")))
        with pytest.raises(HomeAssistantError, match="no space"):
            await choose(hass, "Jarvis")
    assert await wakes(device, "hi xiaozhi")
    assert was_sent_nothing(device)
    assert state_of(hass, WAKE_WORD).state != "on_its_way"


@pytest.mark.parametrize(
    ("event", "is_broken", "is_gone"),
    [
        ("restart", False, False),
        ("restart", False, True),
        ("assets_failed", True, False),
        ("assets_loaded", False, False),
    ],
)
async def test_a_pack_on_its_way_at_a_stop_of_home_assistant_is_sent_again(
    hass: HomeAssistant,
    device: SimulatedDevice,
    hosts: Web,
    linked_entry: MockConfigEntry,
    monkeypatch: pytest.MonkeyPatch,
    *,
    event: str,
    is_broken: bool,
    is_gone: bool,
) -> None:
    """If it cannot be had any more, the device is restarted once, and its owner asked to choose again."""
    if is_broken:
        breaks_off(hass, monkeypatch, times=1)
    choosing = asyncio.create_task(choose(hass, "Jarvis"))
    await device.wait_for(lambda: any(each.kind == event for each in device.transcript), 60)
    await hass.config_entries.async_unload(linked_entry.entry_id)
    with pytest.raises(HomeAssistantError):
        await choosing
    if is_gone:
        hosts.release(b"")
    await hass.config_entries.async_setup(linked_entry.entry_id)
    if is_gone:
        await until(lambda: is_reported(hass))
        hosts.release(release(pack()))
        await ready_again(hass, device, 2)
        assert await wakes(device, "hi xiaozhi")
        await choose(hass, "Jarvis")
    await wait_for_state(hass, WAKE_WORD, "Jarvis")
    assert not is_reported(hass)
    assert [await wakes(device, word) for word in ("hi xiaozhi", "jarvis")] == [False, True]


async def test_a_device_whose_font_shows_no_pack_is_restarted_once(
    hass: HomeAssistant, hosts: Web, boot: Boot
) -> None:
    """Then its owner is asked."""
    hosts.release(release(base_pack()))
    profile = replace(get_profile(version="2.4.2"), glyph_push=True)
    device = await ready(hass, await boot(profile, pace=replace(QUICK, flash=1000)))
    await choose(hass, "Jarvis")

    async def talk_by_button() -> None:
        """Begin a conversation without a wake word; it ends by itself, since there is no assistant."""
        await device.wait_state(State.IDLE, 60)
        await device.click()
        await device.wait_state(State.IDLE, 60)
        await hass.async_block_till_done()

    await talk_by_button()
    for damaged in (False, True):
        before = restarts(device)
        if damaged:
            device._hardware.assets.content[200] ^= 1
        else:
            device.nvs.set("assets", "download_url", hosts.server.url("/nothing"))
        await device.power_off()
        await device.boot()
        await wait_for_state(hass, CONNECTED, "on")
        assert not await wakes(device, "jarvis")
        await talk_by_button()
        await ready_again(hass, device, before + 1)
        await talk_by_button()
        assert is_reported(hass) == damaged
        assert await wakes(device, "jarvis") == (not damaged)
    await talk_by_button()
    await choose(hass, "Jarvis")
    assert restarts(device) == before + 2
    assert not is_reported(hass)
    assert await wakes(device, "jarvis")


async def test_a_device_that_was_flashed_anew_has_nothing_that_was_put_on_it(
    hass: HomeAssistant, device: SimulatedDevice, linked_entry: MockConfigEntry
) -> None:
    """So its old word can be chosen again. If another tool did that, it shows by the word that it reports."""
    await choose(hass, "Jarvis")
    assert await wakes(device, "jarvis")
    assert state_of(hass, WAKE_WORD).state == "Jarvis"
    await device.power_off()
    device._hardware.assets.content.clear()
    await device.boot()
    assert await wakes(device, "hi xiaozhi")
    await wait_for_state(hass, WAKE_WORD, "original")
    await choose(hass, "Jarvis")
    (subentry,) = linked_entry.subentries.values()
    changed = {**subentry.data, "client_id": "another", "token": "another"}
    hass.config_entries.async_update_subentry(linked_entry, subentry, data=changed)
    await wait_for_state(hass, WAKE_WORD, "not_known")


async def test_a_device_whose_way_to_home_assistant_is_not_known_is_told_nothing(
    hass: HomeAssistant, device: SimulatedDevice, linked_entry: MockConfigEntry
) -> None:
    linked_entry.runtime_data.devices[MAC].record.update(origin=None)
    with pytest.raises(ServiceValidationError, match="Restart Kitchen box"):
        await choose(hass, "Jarvis")
    assert was_sent_nothing(device)


async def test_a_pack_that_a_stranger_has_fetched_is_not_on_the_device(
    hass: HomeAssistant, device: SimulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who reads the network knows its address; the device then finds nothing there, and keeps what it has."""
    remember, strangers = device.nvs.set, list[asyncio.Task[int]]()

    async def fetch(url: str) -> int:
        connector = aiohttp.TCPConnector(local_addr=("127.0.0.2", 0))
        async with aiohttp.ClientSession(connector=connector) as session, session.get(url) as answer:
            return len(await answer.read())

    def note(namespace: str, key: str, value: str) -> None:
        remember(namespace, key, value)
        if key == "download_url" and value:
            strangers.append(asyncio.create_task(fetch(value)))

    monkeypatch.setattr(device.nvs, "set", note)
    with pytest.raises(HomeAssistantError, match="keeps the old ones"):
        await choose(hass, "Jarvis")
    assert await strangers[0] > 0
    assert state_of(hass, WAKE_WORD).state == "not_known"
    await ready_again(hass, device, 2)
    assert await wakes(device, "hi xiaozhi")


@pytest.mark.parametrize("folders", [("models", "wn9_jarvis_tts", "wn9_data"), ("faces", "happy.png")])
async def test_a_pipe_in_the_place_of_a_file_blocks_nothing(
    hass: HomeAssistant, device: SimulatedDevice, folder: Path, folders: tuple[str, ...]
) -> None:
    path = folder.parent.joinpath(*folders)
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    if folders[0] == "faces":
        with pytest.raises(ServiceValidationError, match="cannot be used as a face"):
            await choose(hass, "Jarvis")
        return
    await choose(hass, "Jarvis")
    assert await wakes(device, "jarvis")


@pytest.mark.parametrize("link", [LinkKind.WEBSOCKET])
async def test_one_on_websocket_is_not_restarted_but_reported(
    hass: HomeAssistant, boot: Boot, known: Device
) -> None:
    await introduce(hass, await boot())
    known.record.update(lost_pack=LostPack.NOTICED)
    await hass.async_block_till_done()
    assert is_reported(hass)


async def test_one_that_cannot_be_restarted_is_asked_once(
    hass: HomeAssistant, boot: Boot, monkeypatch: pytest.MonkeyPatch
) -> None:
    await boot()
    await wait_for_state(hass, CONNECTED, "on")
    restart = AsyncMock(side_effect=UserError("not_connected", name="Kitchen box"))
    monkeypatch.setattr(DeviceCommands, "restart", restart)
    boot.known.record.update(lost_pack=LostPack.NOTICED)
    await asyncio.sleep(1)
    assert boot.known.state.lost_pack is LostPack.RESTARTED
    restart.assert_awaited_once()


async def test_a_pack_for_one_that_is_away_again_is_still_on_its_way(
    hass: HomeAssistant, boot: Boot, monkeypatch: pytest.MonkeyPatch
) -> None:
    renew = AsyncMock(side_effect=UserError("not_connected", name="Kitchen box"))
    monkeypatch.setattr(WakeWords, "async_renew", renew)
    boot.known.record.update(sent_pack=("jarvis",))
    await boot()
    await wait_for_state(hass, CONNECTED, "on")
    await asyncio.sleep(1)
    assert renew.await_count
    assert SENT_PACK.of(boot.known.state) == ("jarvis",)
    assert not is_reported(hass)
