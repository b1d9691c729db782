"""A device that has lost its pack, where Home Assistant cannot mend it."""

import asyncio
from unittest.mock import AsyncMock

from homeassistant.core import HomeAssistant
import pytest

from custom_components.xiaozhi.device.commands import DeviceCommands
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.errors import UserError
from custom_components.xiaozhi.guests.wake_words.device_wake_words import WakeWords
from custom_components.xiaozhi.guests.wake_words.pack_installation import SENT_PACK
from custom_components.xiaozhi.guests.wake_words.pack_recovery import LostPack
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from tests.integration.boxes import introduce, wait_for_state
from tests.integration.firmware.conftest import is_reported
from tests.integration.names import CONNECTED, Boot

ON_MQTT = pytest.mark.parametrize("link", [LinkKind.MQTT], ids=str)


@pytest.mark.parametrize("link", [LinkKind.WEBSOCKET], ids=str)
async def test_one_on_websocket_is_not_restarted_but_reported(
    hass: HomeAssistant, boot: Boot, known: Device, link: LinkKind
) -> None:
    await introduce(hass, await boot())
    known.record.update(lost_pack=LostPack.NOTICED)
    await hass.async_block_till_done()
    assert is_reported(hass)


@ON_MQTT
async def test_one_that_cannot_be_restarted_is_asked_once(
    hass: HomeAssistant, boot: Boot, monkeypatch: pytest.MonkeyPatch, link: LinkKind
) -> None:
    await boot()
    await wait_for_state(hass, CONNECTED, "on")
    restart = AsyncMock(side_effect=UserError("not_connected", name="Kitchen box"))
    monkeypatch.setattr(DeviceCommands, "restart", restart)
    boot.known.record.update(lost_pack=LostPack.NOTICED)
    await asyncio.sleep(1)
    assert boot.known.state.lost_pack is LostPack.RESTARTED
    restart.assert_awaited_once()


@ON_MQTT
async def test_a_pack_for_one_that_is_away_again_is_still_on_its_way(
    hass: HomeAssistant, boot: Boot, monkeypatch: pytest.MonkeyPatch, link: LinkKind
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
