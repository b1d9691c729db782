"""Who asks for something, for which devices, and questions back."""

from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from homeassistant.core import HomeAssistant

from ...assist_satellite import satellite_of
from ...device.device import Device
from ...errors import InputError, UserError
from ..alarms.device_clock import DeviceClock
from ..spoken.language import Language
from ..spoken.understanding import Meaning
from .places import devices_called

# Seconds in which a question is answered.
_PATIENCE: Final = 30.0

type Answer = tuple[str, dict[str, str]]
"""Key of the answer's text, and its placeholders."""
type Reply = Callable[[str], Awaitable[Answer]]
"""An action upon the words that answer a question."""


class AskBackError(UserError):
    """A question to the speaker."""

    def __init__(self, key: str, reply: Reply, /, **placeholders: str) -> None:
        """Take the text of the question, and what is done with the answer."""
        super().__init__(key, **placeholders)
        self.reply = reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """A person who says something, and the devices that this person has a right to."""

    hass: HomeAssistant
    device: Device | None
    """The device to which it was said."""
    devices: list[Device]
    """The devices that this person may use."""
    language: Language
    languages: Collection[Language] = field(default=())
    """Languages of the names of places."""
    is_heard: bool = False
    """Whether it was said in a conversation, in which a question can be answered."""
    model_turn: str = ""
    """The turn in which a language model says it, instead of the person."""

    @property
    def here(self) -> Device:
        """The device to which it was said. Raises `InputError` if there is none."""
        if self.device is None:
            raise InputError("alarm_elsewhere")
        return self.device

    def at(self, place: str) -> list[Device]:
        """Return the devices in a place, by default this one. Raises `InputError` if there is none."""
        return devices_called(self.hass, place, self.devices, self.languages) if place else [self.here]

    def clock(self, place: str = "") -> DeviceClock:
        """Return the clock of the device in a place, by default of this one. Raises `InputError`."""
        device, *more = self.at(place)
        if more:
            shown = ", ".join(sorted(each.name for each in (device, *more)))
            raise InputError("message_several_places", place=place, names=shown)
        return device.part(DeviceClock)

    def to_end(self, *, also_timers: bool = False) -> list[DeviceClock]:
        """Return the clocks to stop: of rings here, else of rings elsewhere, else of a snooze here.

        Raises `UserError` if there is no device here, and nothing rings.
        """
        clocks = {device: device.part(DeviceClock) for device in self.devices}
        ringing = [each for each, clock in clocks.items() if (clock if also_timers else clock.alarms).rings]
        if self.device is not None and (self.device in ringing or not ringing):
            ringing = [self.device]
        if not ringing:
            raise UserError("no_alarm_rings")
        return [clocks[device] for device in ringing]

    async def ask(self, asked: AskBackError) -> None:
        """Let the next words to the device answer a question, if it can be asked now."""
        device = self.here
        satellite = satellite_of(device.hass, device)

        async def wait() -> None:
            reply: Reply | None = asked.reply
            with suppress(UserError):
                while reply is not None:
                    with satellite.questions.asking() as question:
                        question.open(device.conversation)
                        if (turn := await question.answer(_PATIENCE)) is None:
                            return
                        act, reply = reply, None
                        try:
                            turn.reply.append(await act(turn.transcript))
                        except UserError as err:
                            turn.reply.append((err.key, err.placeholders))
                            if isinstance(err, AskBackError):
                                turn.asks_back, reply = True, err.reply

        device.create_task(wait(), "question about an alarm")


type Handler = Callable[[Speaker, Meaning], Awaitable[Answer]]
"""An action for a speaker. It raises `UserError`."""
