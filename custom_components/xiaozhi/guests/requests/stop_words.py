"""*Stop* alone ends a ring.

It is a sentence trigger, only while something rings: at all other times such words are Home Assistant's.
"""

import asyncio
from collections.abc import Mapping
import logging
from typing import Any, Final, override

from homeassistant.components.conversation import DOMAIN as CONVERSATION
from homeassistant.config_entries import ConfigEntry
from homeassistant.const import CONF_COMMAND, CONF_PLATFORM
from homeassistant.core import CALLBACK_TYPE, Context, HomeAssistant, callback
from homeassistant.helpers import intent
from homeassistant.helpers.script import ScriptRunResult
from homeassistant.helpers.trigger import async_initialize_triggers, async_validate_trigger_config

from ...const import DOMAIN
from ...device.device import Device
from ...device.guest import DevicePart, GatewayPart
from ..alarms.device_clock import DeviceClock
from ..alarms.ring import BELL
from ..alarms.spoken_alarm import async_language
from ..spoken.sentence_files import SentenceFiles

STOP: Final = "XiaozhiStopAlarm"
"""The intent that stops what rings."""
_LOGGER = logging.getLogger(__name__)


class StopWords(GatewayPart):
    """Words such as *stop*, while something rings on a device."""

    def __init__(self, hass: HomeAssistant, entry: ConfigEntry[Any]) -> None:
        super().__init__(hass, entry)
        self._lock = asyncio.Lock()
        self._due = set[Device]()
        self._detach: CALLBACK_TYPE | None = None

    @override
    async def async_stop(self) -> None:
        if self._detach is not None:
            self._detach()
            self._detach = None

    async def async_follow(self, device: Device) -> None:
        """Hear the words if something rings on this or another device, else no longer."""
        async with self._lock:
            has_due = device.part(DeviceClock).has_due
            self._due = self._due | {device} if has_due else self._due - {device}
            if not self._due:
                await self.async_stop()
            elif self._detach is None:
                languages = [
                    await async_language(self.hass, each) for each in device.part(SentenceFiles).languages
                ]
                words = [each for language in languages for each in language.data["stop"]]
                trigger = {CONF_PLATFORM: CONVERSATION, CONF_COMMAND: words}
                valid = await async_validate_trigger_config(self.hass, [trigger] if words else [])
                self._detach = await async_initialize_triggers(
                    self.hass, valid, self._stop, DOMAIN, STOP, _LOGGER.log
                )

    async def _stop(self, variables: Mapping[str, Any], _context: Context | None = None) -> ScriptRunResult:
        said = variables["trigger"]["user_input"]
        context = Context(user_id=said["context"]["user_id"])
        device_id = variables["trigger"]["device_id"]
        response = await intent.async_handle(
            self.hass, DOMAIN, STOP, {}, said["text"], context, said["language"], device_id=device_id
        )
        answer: str = response.speech["plain"]["speech"]
        return ScriptRunResult(conversation_response=answer, service_response=None, variables={})


class Ringing(DevicePart):
    """Tells `StopWords` of rings on a device."""

    @override
    @callback
    def start(self) -> None:
        self._ends = [self.device.record.listen((BELL,), self._changed)]

    @callback
    def _changed(self) -> None:
        words = self.device.part(StopWords)
        words.entry.async_create_task(words.hass, words.async_follow(self.device), "words that stop a ring")
