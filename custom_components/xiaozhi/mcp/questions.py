"""What a device may ask: a language model, and people. Off by default, bounded, and told in the logbook."""

from enum import StrEnum
from typing import Final

from homeassistant.core import HomeAssistant, callback

from ..const import EVENT_QUESTION
from ..device.device import Device
from ..device.state import SETTINGS
from ..protocol.limits import TokenBucket
from ..protocol.mcp.client import RequestHandler
from ..protocol.messages import JsonObject
from .people import PeopleQuestions
from .sampling import AiQuestions

__all__ = ["DeviceQuestions"]

_AI: Final = "sampling/createMessage"
_PEOPLE: Final = "elicitation/create"
# A device that asks without end is told in the logbook a few times, and then once in ten minutes.
_REFUSAL_RATE: Final = 1 / 600
_REFUSAL_BURST: Final = 3


class QuestionOutcome(StrEnum):
    """What became of a question of a device."""

    ANSWERED = "answered"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    REFUSED = "refused"


class DeviceQuestions:
    """Serves the questions of one device that its owner allows."""

    def __init__(self, hass: HomeAssistant, device: Device) -> None:
        self._hass = hass
        self._device = device
        self._ai = AiQuestions(hass, device)
        self._people = PeopleQuestions(hass, device)
        self._refusals = TokenBucket(rate=_REFUSAL_RATE, burst=_REFUSAL_BURST)
        device.listen([SETTINGS], self._serve)
        self._serve()

    @callback
    def _serve(self) -> None:
        """Serve what the owner allows now."""
        device = self._device
        for method, allowed, handler in (
            (_AI, device.settings.may_ask_ai, self._ask_ai),
            (_PEOPLE, device.settings.may_ask_people, self._ask_people),
        ):
            if allowed:
                device.handlers[method] = handler
            else:
                device.handlers.pop(method, None)

    async def _ask_ai(self, params: JsonObject) -> JsonObject:
        return await self._told(self._ai.answer, params, "ai")

    async def _ask_people(self, params: JsonObject) -> JsonObject:
        return await self._told(self._people.answer, params, "people")

    async def _told(self, answer: RequestHandler, params: JsonObject, kind: str) -> JsonObject:
        """Answer, and tell the logbook what became of the question, without its words."""
        outcome = QuestionOutcome.REFUSED
        try:
            result = await answer(params)
            outcome = _OUTCOMES.get(str(result.get("action")), QuestionOutcome.ANSWERED)
        finally:
            self._tell(kind, outcome)
        return result

    @callback
    def _tell(self, kind: str, outcome: QuestionOutcome) -> None:
        if outcome is QuestionOutcome.REFUSED and not self._refusals.take(self._hass.loop.time()):
            return
        data = {
            "device_id": self._device.registry_id,
            "name": self._device.name,
            "kind": kind,
            "outcome": outcome.value,
        }
        self._hass.bus.async_fire(EVENT_QUESTION, data)


_OUTCOMES: Final = {"decline": QuestionOutcome.DECLINED, "cancel": QuestionOutcome.CANCELLED}
