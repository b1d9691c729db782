"""Recovers a pack that a device could not load, because Home Assistant stopped or the network failed.

A device that finds nothing at the address of a new pack starts without any: it has no wake word then, and
only the font of its firmware (`Application::CheckAssetsVersion`).
"""

from enum import StrEnum
import logging
from typing import Final, override

from homeassistant.core import callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import issue_registry as ir

from ...const import DOMAIN
from ...device.device import Device
from ...device.guest import DevicePart
from ...device.state import HELLO, SETTINGS
from ...errors import InputError
from ...protocol.conversation.state_table import ConversationState
from ...protocol.transport.link import LinkKind
from ...texts.issues import async_raise_issue
from ..firmware.installation import DeviceInstallation
from .device_wake_words import NO_PACK, WakeWords
from .pack_installation import SENT_PACK

_LOGGER = logging.getLogger(__name__)

# The end of the name of a font: that of the firmware, and that of a pack, which has more characters.
_OWN_FONT: Final = " basic"
_PACK_FONT: Final = " common"


class LostPack(StrEnum):
    """A device has shown that it does not use its pack, and what was done about that."""

    NOTICED = "noticed"
    RESTARTED = "restarted"
    REPORTED = "reported"


class PackRecovery(DevicePart):
    """Sends an interrupted pack again, restarts a device without a pack once, and reports other losses."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self._words = device.part(WakeWords)
        self._client_id = device.settings.client_id

    @override
    @callback
    def start(self) -> None:
        listen = self.device.record.listen
        self._ends = [
            listen(("linked", "conversation", "lost_pack"), self._check),
            listen((HELLO,), self._compare_font),
            listen((SETTINGS,), self._settings_changed),
            listen(("wake_words",), self._words.compare),
        ]
        self._check()

    @override
    @callback
    def end(self) -> None:
        super().end()
        self._delete_issue()

    @callback
    def _settings_changed(self) -> None:
        before, self._client_id = self._client_id, self.device.settings.client_id
        if before != self._client_id:
            # It was erased and flashed.
            self.device.record.update(**NO_PACK)

    @callback
    def _compare_font(self) -> None:
        """Notice by its font that a device uses its pack, or none."""
        session, state = self.device.session, self.device.state
        channel = session.link.channel if session is not None else None
        if channel is None or (font := channel.hello.font) is None:
            return
        lost = state.lost_pack
        if not font.endswith(_OWN_FONT):
            lost = None
        elif lost == LostPack.RESTARTED:
            lost = LostPack.REPORTED
        elif lost is None and (state.font or "").endswith(_PACK_FONT):
            lost = LostPack.NOTICED
        self.device.record.update(font=font, lost_pack=lost)

    @callback
    def _check(self) -> None:
        device, state = self.device, self.device.state
        is_free = state.linked and device.part(DeviceInstallation).running is None
        if is_free and SENT_PACK.of(state):
            device.create_task(self._send_again(), "send pack again")
        elif state.lost_pack == LostPack.NOTICED and state.link is not LinkKind.MQTT:
            # It cannot be reached between its conversations.
            device.record.update(lost_pack=LostPack.REPORTED)
        elif state.lost_pack == LostPack.NOTICED and is_free:
            if state.conversation is ConversationState.IDLE:
                device.create_task(self._restart(LostPack.RESTARTED), "restart for its pack")
        elif state.lost_pack == LostPack.REPORTED:
            async_raise_issue(device.hass, self._issue_id, "pack_lost", name=device.name)
        else:
            self._delete_issue()

    async def _send_again(self) -> None:
        try:
            await self._words.async_renew()
        except HomeAssistantError as err:
            if SENT_PACK.of(self.device.state) and not isinstance(err, InputError):
                # It is away again, or the gateway stops.
                return
            _LOGGER.warning(
                "A pack for %s was on its way, and cannot be sent again: %s", self.device.name, err
            )
            await self._restart(LostPack.REPORTED)

    async def _restart(self, then: LostPack) -> None:
        self.device.record.update(sent_pack=(), lost_pack=then)
        try:
            await self.device.commands.restart()
        except HomeAssistantError as err:
            _LOGGER.warning("%s cannot be restarted for its pack: %s", self.device.name, err)

    @property
    def _issue_id(self) -> str:
        return f"pack_lost_{self.device.mac}"

    @callback
    def _delete_issue(self) -> None:
        ir.async_delete_issue(self.device.hass, DOMAIN, self._issue_id)
