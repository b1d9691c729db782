"""Another loudspeaker, which says what a device would say: what announcements and answers need of it."""

from abc import ABC, abstractmethod
import asyncio
from enum import StrEnum
from typing import Final, Protocol

from homeassistant.core import callback

from ..const import EVENT_ROOM_PLAYER
from ..device.device import Device
from ..device.guest import DevicePart
from ..util.event_loop import loop_time
from .delivery import Delivery, delivery_to
from .heard import End
from .utterance import OpenSpeech, Rank

LOUDSPEAKER: Final = "loudspeaker"
"""Key of changes of the existence of the chosen media player."""
PIECE: Final = 0.12
"""Seconds between two polls of the clock, and of each piece of silence."""


class Said(Protocol):
    """A text that is being said: an utterance, or an answer."""

    @property
    def text(self) -> str:
        """The text, as far as it is known."""

    @property
    def rank(self) -> Rank:
        """How important it is."""

    @property
    def speech(self) -> OpenSpeech:
        """Opens its sound."""


class PlayerFault(StrEnum):
    """Reasons why a player does not say something to its end. `logbook` has a sentence for each."""

    BUSY = "busy"
    """Something else is heard there."""
    CHANGED = "changed"
    """The owner has chosen another loudspeaker."""
    ENDED = "ended"
    """It has stopped by itself, or plays something else."""
    FAILED = "failed"
    LATE = "late"
    MUTED = "muted"
    """It cannot be made louder for a ring."""
    UNAVAILABLE = "unavailable"


class Playback(ABC):
    """A sound on another loudspeaker. Call `start`, wait for `ended`, and call `stop` in any case."""

    def __init__(self, player: str) -> None:
        """`player` is the entity id of the media player."""
        loop = asyncio.get_running_loop()
        self.player = player
        self._begun: asyncio.Future[bool] = loop.create_future()
        self._ended: asyncio.Future[End | PlayerFault] = loop.create_future()
        self._error: BaseException | None = None

    async def start(self) -> bool:
        """Wait until it is heard; False if it has ended before."""
        return await asyncio.shield(self._begun)

    @property
    async def ended(self) -> End | PlayerFault:
        """Its end, if it has ended. Raises the error of its source."""
        end = await asyncio.shield(self._ended)
        if self._error is not None:
            raise self._error
        return end

    @property
    def over(self) -> bool:
        """Whether it has ended; the player may still have to be stopped."""
        return self._ended.done()

    async def wait(self, until: float) -> None:
        """Wait for its end, or until a time of the clock."""
        await asyncio.wait((self._ended,), timeout=max(until - loop_time(), 0))

    @property
    @abstractmethod
    def left(self) -> float:
        """Seconds until its end, as far as it is known."""

    @abstractmethod
    @callback
    def stop(self, by: End | PlayerFault) -> None:
        """End it, unless it has ended. The player is stopped in the background."""


class OtherLoudspeaker(DevicePart, ABC):
    """Another loudspeaker for a device, if its owner has chosen one. A guest may have one for each device."""

    @property
    @abstractmethod
    def player(self) -> str | None:
        """Entity id of the chosen media player."""

    @property
    @abstractmethod
    def is_available(self) -> bool:
        """Whether it can be used now."""

    @property
    @abstractmethod
    def said_in_house(self) -> list[Said]:
        """The texts that media players are saying now, for any device of the gateway."""

    @abstractmethod
    def play(self, said: Said, how: Delivery, patience: float) -> Playback:
        """Wait `patience` seconds for the player, and play what is said in this way."""


@callback
def other_loudspeaker(device: Device) -> OtherLoudspeaker | None:
    """Return the loudspeaker that the owner has chosen in place of the device's own."""
    return next((part for part in _all(device) if part.player is not None), None)


@callback
def chosen_player(device: Device) -> str | None:
    """Return the entity id of the media player that speaks in place of a device."""
    loudspeaker = other_loudspeaker(device)
    return None if loudspeaker is None else loudspeaker.player


@callback
def said_in_house(device: Device) -> list[Said]:
    """Return the texts that media players are saying now, for any device of the gateway."""
    return [said for part in _all(device) for said in part.said_in_house]


def _all(device: Device) -> list[OtherLoudspeaker]:
    return [part for part in device.parts.values() if isinstance(part, OtherLoudspeaker)]


@callback
def delivery_in_room(device: Device) -> Delivery:
    """Return how something that need not come from the device itself would be heard now."""
    loudspeaker = other_loudspeaker(device)
    if device.conversation is not None or loudspeaker is None or not loudspeaker.is_available:
        return delivery_to(device)
    return Delivery.ROOM_PLAYER


@callback
def report(device: Device, player: str, fault: PlayerFault) -> None:
    """Report in Activity why the device has spoken itself."""
    if fault is PlayerFault.CHANGED:
        return
    state = device.hass.states.get(player)
    shown = player if state is None else state.name
    device.events.report(EVENT_ROOM_PLAYER, player=shown, reason=fault.value)
