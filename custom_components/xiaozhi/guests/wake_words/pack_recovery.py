"""Recovers a pack that a device could not load, because Home Assistant stopped or the network failed.

A device that finds nothing at the address of a new pack starts without any: it has no wake word then, and
only the font of its firmware (`Application::CheckAssetsVersion`).
"""

import logging

from homeassistant.core import HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import issue_registry as ir

from ...const import DOMAIN
from ...device.device import Device
from ...device.state import LostPack
from ...errors import InputError
from ...protocol.conversation.state_table import ConversationState
from ...protocol.transport.link import LinkKind
from ...texts.issues import async_raise_issue
from .device_wake_words import WakeWords

_LOGGER = logging.getLogger(__name__)


class PackRecovery:
    """Sends an interrupted pack again, restarts a device without a pack once, and reports other losses."""

    def __init__(self, hass: HomeAssistant, device: Device, words: WakeWords) -> None:
        self._hass = hass
        self._device = device
        self._words = words

    @callback
    def start(self) -> None:
        """Follow the device as long as its record lasts."""
        self._device.record.listen(("linked", "conversation", "lost_pack"), self._check)
        self._device.record.listen(("wake_words",), self._words.compare)
        self._check()

    @callback
    def _check(self) -> None:
        device, state = self._device, self._device.state
        if state.linked and state.sent_pack and device.installation is None:
            device.create_task(self._send_again(), "send pack again")
        elif state.lost_pack is LostPack.NOTICED and state.link is not LinkKind.MQTT:
            # It cannot be reached between its conversations.
            device.record.update(lost_pack=LostPack.REPORTED)
        elif state.lost_pack is LostPack.NOTICED and state.linked and device.installation is None:
            if state.conversation is ConversationState.IDLE:
                device.create_task(self._restart(LostPack.RESTARTED), "restart for its pack")
        elif state.lost_pack is LostPack.REPORTED:
            async_raise_issue(self._hass, _issue_id(device.mac), "pack_lost", name=device.name)
        else:
            async_forget_lost_pack(self._hass, device.mac)

    async def _send_again(self) -> None:
        try:
            await self._words.async_renew()
        except HomeAssistantError as err:
            if self._device.state.sent_pack and not isinstance(err, InputError):
                # It is away again, or the gateway stops.
                return
            _LOGGER.warning(
                "A pack for %s was on its way, and cannot be sent again: %s", self._device.name, err
            )
            await self._restart(LostPack.REPORTED)

    async def _restart(self, then: LostPack) -> None:
        self._device.record.update(sent_pack=(), lost_pack=then)
        try:
            await self._device.commands.restart()
        except HomeAssistantError as err:
            _LOGGER.warning("%s cannot be restarted for its pack: %s", self._device.name, err)


@callback
def async_forget_lost_pack(hass: HomeAssistant, mac: str) -> None:
    """Delete the issue that a device does not use its pack."""
    ir.async_delete_issue(hass, DOMAIN, _issue_id(mac))


def _issue_id(mac: str) -> str:
    return f"pack_lost_{mac}"
