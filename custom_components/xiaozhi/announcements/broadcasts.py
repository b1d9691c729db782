"""Announcements of one action on several devices, which reach those that can speak now, each room once."""

import asyncio
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from homeassistant.core import Context

from ..device.device import Device
from .announcer import Announcer
from .delivery import Delivery
from .other_loudspeaker import chosen_player, delivery_in_room


@dataclass(eq=False, slots=True)
class Part:
    """The part of one device in an action."""

    device: Device
    announcer: Announcer
    announced: object
    """The sentence or sound of the action."""
    said: asyncio.Future[bool]
    """Whether it was."""
    parts: list[Part]
    """Those of all devices of the action, in the order in which they began."""

    @property
    def others_can_announce(self) -> bool:
        """Whether another device of the same action can speak now."""
        return any(other.announcer.can_announce for other in self.parts if other is not self)

    @property
    def player(self) -> str | None:
        """The media player that would speak for the device now, if there is one."""
        by_player = delivery_in_room(self.device) is Delivery.ROOM_PLAYER
        return chosen_player(self.device) if by_player else None

    async def is_said_for(self) -> bool:
        """Wait for an earlier device that says the same with the same player; return whether it has."""
        if (player := self.player) is not None:
            for other in self.parts[: self.parts.index(self)]:
                if other.player == player and other.announced == self.announced:
                    return await asyncio.shield(other.said)
        return False


class Broadcasts:
    """The announcements that are being made, by the actions that make them."""

    def __init__(self) -> None:
        self._parts = defaultdict[str, list[Part]](list)

    @contextmanager
    def joined(
        self, device: Device, announcer: Announcer, call: Context | None, announced: object
    ) -> Generator[Part]:
        """Register an announcement, which is not said unless `said` is set."""
        key = call.id if call is not None else device.mac
        said = asyncio.get_running_loop().create_future()
        part = Part(device, announcer, announced, said, self._parts[key])
        self._parts[key].append(part)
        try:
            yield part
        finally:
            if not said.done():
                said.set_result(False)
            self._parts[key].remove(part)
            if not self._parts[key]:
                del self._parts[key]
