"""Questions of a device to a language model and to people. Off by default, bounded, shown in Activity."""

from collections.abc import Callable
from functools import partial
from typing import Final

from homeassistant.core import callback

from ..const import EVENT_QUESTION
from ..device.device import Device
from ..device.state import SETTINGS
from ..protocol.limits import TokenBucket
from ..protocol.mcp.model import RequestError, RequestHandler
from ..protocol.messages import JsonObject
from .ai_questions import ask_ai
from .person_questions import ask_people

_BUSY: Final = -32000
# A device that asks without end is shown in Activity a few times, and then once in ten minutes.
_REFUSAL_RATE: Final = 1 / 600
_REFUSAL_BURST: Final = 3


@callback
def serve_questions(device: Device) -> None:
    """Serve those questions of a device that its owner allows, and announce them to it."""
    refusals = TokenBucket(rate=_REFUSAL_RATE, burst=_REFUSAL_BURST)
    # Each question to a model may cost the owner money; more questions to people would only annoy.
    of_ai, of_people = TokenBucket(rate=1 / 30, burst=5), TokenBucket(rate=1 / 60, burst=3)
    ai = _LimitedQuestions(device, "ai", partial(ask_ai, device), of_ai, refusals)
    people = _LimitedQuestions(device, "people", partial(ask_people, device), of_people, refusals)
    served: tuple[tuple[str, str, RequestHandler, Callable[[], bool]], ...] = (
        ("sampling/createMessage", "sampling", ai.answer, lambda: device.settings.may_ask_ai),
        ("elicitation/create", "elicitation", people.answer, lambda: device.settings.may_ask_people),
    )

    @callback
    def settings_changed() -> None:
        before = set(device.handlers)
        for method, capability, handler, allowed in served:
            if allowed():
                device.handlers[method] = handler
                device.client_capabilities[capability] = {}
            else:
                device.handlers.pop(method, None)
                device.client_capabilities.pop(capability, None)
        if set(device.handlers) != before and device.session is not None:
            device.session.polls.start_again()

    device.listen([SETTINGS], settings_changed)
    settings_changed()


class _LimitedQuestions:
    """The questions of one kind: one at a time, and only so many in the long run."""

    def __init__(
        self, device: Device, kind: str, answer: RequestHandler, bucket: TokenBucket, refusals: TokenBucket
    ) -> None:
        self._device = device
        self._kind = kind
        self._answer = answer
        self._bucket = bucket
        self._refusals = refusals
        self._busy = False

    async def answer(self, params: JsonObject) -> JsonObject:
        """Answer, and put into Activity what became of the question, without its words."""
        outcome = "refused"
        try:
            result = await self._answer_one(params)
            outcome = _OUTCOMES.get(str(result.get("action")), "answered")
        finally:
            self._fire(outcome)
        return result

    async def _answer_one(self, params: JsonObject) -> JsonObject:
        if self._busy or not self._bucket.take(self._device.hass.loop.time()):
            raise RequestError("Too many questions: ask again later", _BUSY)
        self._busy = True
        try:
            return await self._answer(params)
        finally:
            self._busy = False

    @callback
    def _fire(self, outcome: str) -> None:
        hass = self._device.hass
        if outcome == "refused" and not self._refusals.take(hass.loop.time()):
            return
        data = {
            "device_id": self._device.registry_id,
            "name": self._device.name,
            "kind": self._kind,
            "outcome": outcome,
        }
        hass.bus.async_fire(EVENT_QUESTION, data)


_OUTCOMES: Final = {"decline": "declined", "cancel": "cancelled"}
