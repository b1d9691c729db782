"""The volume of a device and the brightness of its screen, where they are changed for a while.

For an announcement, and as long as the device is not to disturb. Whatever happens between, they are restored.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
import logging
from typing import Final

from homeassistant.core import callback
from homeassistant.exceptions import HomeAssistantError

from ..device.device import Device
from ..device.state import QUIET, SETTINGS, STATUS_READ
from ..errors import UserError
from ..protocol.conversation.state_table import ConversationState
from ..tools.stock_tools import BRIGHTNESS_TOOL, STATUS_TOOL, VOLUME_TOOL
from ..util.event_loop import loop_time, within
from .utterance import Utterance

_LOGGER = logging.getLogger(__name__)
# Seconds that an announcement waits for it to be restored.
RESTORING: Final = 2
# Seconds for which a screen fades, and reports values in between.
_FADING: Final = 1
_VOLUME: Final = "volume"
_TOOLS: Final = {_VOLUME: VOLUME_TOOL, "brightness": BRIGHTNESS_TOOL}
# Volume of a ring on a muted device.
AUDIBLE: Final = 30
# Brightness that boards report while they sleep (`OnEnterSleepMode` in `main/boards`).
_ASLEEP: Final = {0, 1, 10, 20}


class Level:
    """A level of a device, if it can be changed: `volume` or `brightness`.

    What is to be restored is kept, and stored, until it could be.
    """

    def __init__(self, device: Device, name: str) -> None:
        self._device = device
        self._name = name
        self._lock = asyncio.Lock()
        self._said: Utterance | None = None
        """The utterance that is being said at a volume of its own."""
        self._fades_until = 0.0
        self._closed = False
        self._was_set = False
        """Whether the device has answered when a level was set last; that is not stored."""
        followed = ("linked", QUIET, SETTINGS)
        self._stops = [
            device.record.listen(followed, self._follow),
            device.record.listen([STATUS_READ], self._take_status),
            *([] if name == _VOLUME else [device.record.listen(["conversation"], self._wake)]),
        ]

    async def async_close(self, over_at: float) -> None:
        """Restore the usual level, as nobody would do it later. An attempt may take until then."""
        for stop in self._stops:
            stop()
        self._closed = not self._device.hass.is_stopping
        await within(over_at - loop_time(), self._set())

    @asynccontextmanager
    async def changed(self, utterance: Utterance) -> AsyncGenerator[None]:
        """Have the volume at which something is to be heard, if it has one of its own.

        A ring ends a mute for its time; what disturbs raises `UserError` then. If restoring fails, as when
        the device has left, it is done as soon as possible.
        """
        if not (utterance.at_announcement_volume or utterance.rings):
            yield
            return
        self._said = utterance
        try:
            if await self._set() == 0 and utterance.rank.disturbs:
                raise UserError("announcement_muted", player=self._device.name)
            yield
        finally:
            self._said = None
            # Cancelling the announcement must not keep its volume.
            restoring = self._device.create_task(self._set(), "restore volume")
            await asyncio.wait((restoring,), timeout=RESTORING)

    @property
    def _changes(self) -> tuple[int, int] | None:
        """The usual level and the one in its place: the same if somebody has set that in the meantime."""
        changes: tuple[int, int] | None = getattr(self._device.state, f"{self._name}_to_restore")
        return changes

    @property
    def _is_usual(self) -> bool:
        """Whether there is nothing to be changed or restored."""
        return self._said is None and self._changes is None and self._quiet is None

    @property
    def _quiet(self) -> int | None:
        """The most that it may be while the device is not to disturb."""
        levels = None if self._closed else self._device.quiet_levels
        return None if levels is None else levels[self._name]

    @property
    def _announced(self) -> int | None:
        """The volume of what is being said, if the owner wants one for it."""
        at_its_own = self._said is not None and self._said.at_announcement_volume
        return self._device.settings.announcement_volume if at_its_own else None

    @callback
    def _follow(self) -> None:
        if self._said is None and not self._is_usual and self._device.state.linked:
            self._device.create_task(self._set(), f"set {self._name}")

    @callback
    def _take_status(self) -> None:
        level: int | None = getattr(self._device.state.status, self._name)
        if self._said is None and not self._is_usual and self._plan(level) != (self._changes, None):
            self._device.create_task(self._set(), f"set {self._name}")

    @callback
    def _wake(self) -> None:
        """Dim a screen that was asleep until now."""
        device = self._device
        if (
            device.quiet_levels is not None
            and self._changes is None
            and device.state.conversation is ConversationState.LISTENING
        ):
            device.create_task(self._set(_FADING), f"set {self._name}")

    def _plan(self, level: int | None) -> tuple[tuple[int, int] | None, int | None]:
        """Return what is changed then, and what is to be set for that, by what the device reports now."""
        changes, quiet = self._changes, self._quiet is not None
        usual, now = changes or (level, level)
        sleeps = self._name != _VOLUME and self._device.state.conversation is ConversationState.IDLE
        if sleeps and level in _ASLEEP and (changes is None or level != now):
            return changes, None
        if usual is None or now is None:
            return None, None
        left_alone = quiet and changes is not None and usual == now
        if level == usual and not self._was_set:
            # It has left, for one, before it had set the other.
            now = level
        if level not in (now, None) and loop_time() >= self._fades_until:
            # Somebody has set another one. A lower one ends only with *Do not disturb*.
            if level < now < usual and quiet and self._said is None:
                return changes, None
            left_alone, usual, now = quiet, usual if level < now < usual else level, level
        if left_alone and self._said is None:
            return (usual, usual), None
        wanted = self._wanted(usual)
        return None if wanted == usual else (usual, wanted), None if wanted == now else wanted

    def _wanted(self, usual: int) -> int:
        """Return what a level is to be that is usually this one."""
        if self._said is not None and self._said.rings:
            return self._announced or usual or AUDIBLE
        if self._quiet is not None:
            return min(usual, self._quiet)
        return usual if self._announced is None else self._announced

    async def _set(self, delay: float = 0) -> int | None:
        """Set the level that there is to be; return the one that there is, if known."""
        if delay:
            await asyncio.sleep(delay)
        async with self._lock:
            tool, device = _TOOLS[self._name], self._device
            if self._is_usual or not {tool, STATUS_TOOL} <= device.tools.keys():
                return None
            try:
                before: int | None = getattr(await device.commands.read_status(), self._name)
                changes, level = self._plan(before)
                if changes is not None:
                    self._keep(changes)
                if level is not None:
                    self._fades_until, self._was_set = loop_time() + _FADING, False
                    await device.commands.call_tool(tool, {self._name: level})
                    self._was_set = True
                self._keep(changes)
            except HomeAssistantError as err:
                _LOGGER.debug("%s: %s not changed or restored: %s", device.name, self._name, err)
                return None
            return before if level is None else level

    @callback
    def _keep(self, changes: tuple[int, int] | None) -> None:
        self._device.record.update(**{f"{self._name}_to_restore": changes})
