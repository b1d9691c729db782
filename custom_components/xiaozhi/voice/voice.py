"""The parts of voice that all devices share."""

from collections.abc import Mapping
from typing import Any

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant, callback

from ..announcements.broadcasts import Broadcasts
from ..const import EVENT_UNANSWERED_WAKE_WORD
from ..device.device import Device
from ..texts.issues import Part, Unpromised, async_delete_changes
from .missing_engines import async_report_missing_engines
from .pipeline_runs import check_runs
from .speech_detectors import SpeechDetectors
from .speech_input import SpeechInputs
from .wake_word_arbitration import WakeWordArbitration


class Voice:
    """The parts of voice that all devices share."""

    def __init__(self, hass: HomeAssistant, entry: ConfigEntry[Any], devices: Mapping[str, Device]) -> None:
        """Serve these devices, of which more may come. Tasks end with the entry."""
        self._hass = hass
        self._entry = entry
        self._devices = devices
        self.detectors = SpeechDetectors(hass, devices)
        self.inputs = SpeechInputs(hass, self.detectors)
        self.arbitration = WakeWordArbitration(self._woken_in_vain)
        self.broadcasts = Broadcasts()

    @callback
    def async_start(self) -> None:
        """Report missing engines, now and later, and load the speech detector before the first turn."""
        with Unpromised(self._hass, Part.RUNS):
            check_runs()
        self._entry.async_on_unload(async_report_missing_engines(self._hass, self._devices))
        prepare = self.detectors.async_prepare()
        self._entry.async_create_background_task(self._hass, prepare, "xiaozhi prepare speech detector")

    @callback
    def async_stop(self) -> None:
        """Delete the issues."""
        self.detectors.async_stop()
        async_delete_changes(self._hass)

    @callback
    def _woken_in_vain(self, mac: str) -> None:
        # It may have been removed in the middle of a turn.
        if (device := self._devices.get(mac)) is not None:
            device.events.report(EVENT_UNANSWERED_WAKE_WORD)
