"""Questions of a device to a language model and to people. Off by default, bounded, shown in Activity."""

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Final, override

from homeassistant.core import callback

from ...device.bounds import Bound
from ...device.device import Device
from ...device.guest import DevicePart
from ...device.state import SETTINGS
from ...protocol.mcp.model import RequestError, RequestHandler
from ...protocol.messages import JsonObject
from ...settings import stored
from .ai_questions import ask_ai
from .followed import async_follow_again
from .person_questions import ask_people

EVENT_QUESTION: Final = "xiaozhi_question"
"""Fired for each question of a device, with its result."""

_AI_QUESTIONS: Final = Bound("ai_questions", ((1 / 30, 5),))
"""Each may cost the owner money."""
_PEOPLE_QUESTIONS: Final = Bound("people_questions", ((1 / 60, 3),))
_REFUSALS: Final = Bound("question_refusals", ((1 / 600, 3),))
"""Refused questions that are shown in Activity."""
_BUSY: Final = -32000
# Results of a question to a person, by the `action` of the answer.
_OUTCOMES: Final = {"decline": "declined", "cancel": "cancelled"}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSettings:
    """Whom a device may ask."""

    ask_ai: bool = stored(bool, False)
    """The owner's AI Task."""
    ask_people: bool = stored(bool, False)
    """People, by a repair and a notification."""


class DeviceQuestions(DevicePart):
    """Serves those questions of a device that its owner allows, and announces them to it."""

    @override
    @callback
    def start(self) -> None:
        device = self.device
        ai = _limited(device, "ai", partial(ask_ai, device), _AI_QUESTIONS)
        people = _limited(device, "people", partial(ask_people, device), _PEOPLE_QUESTIONS)

        @callback
        def settings_changed() -> None:
            before, may = set(device.handshake.handlers), device.settings.of(QuestionSettings)
            for method, handler, allowed in (
                ("sampling/createMessage", ai, may.ask_ai),
                ("elicitation/create", people, may.ask_people),
            ):
                if allowed:
                    device.handshake.handlers[method] = handler
                else:
                    device.handshake.handlers.pop(method, None)
            if set(device.handshake.handlers) != before and device.session is not None:
                device.session.readings.start_again()

        device.record.listen([SETTINGS], settings_changed)
        settings_changed()
        async_follow_again(device)


def _limited(device: Device, kind: str, ask: RequestHandler, bound: Bound) -> RequestHandler:
    """Return the handler of the questions of one kind: one at a time, and only so many in the long run.

    It shows the result of a question in Activity, without its words.
    """
    asking = asyncio.Lock()

    async def answer(params: JsonObject) -> JsonObject:
        outcome = "refused"
        try:
            if asking.locked() or not device.bounds.take(bound):
                raise RequestError("Too many questions: ask again later", _BUSY)
            async with asking:
                result = await ask(params)
            outcome = _OUTCOMES.get(str(result.get("action")), "answered")
            return result
        finally:
            if outcome != "refused" or device.bounds.take(_REFUSALS):
                device.events.report(EVENT_QUESTION, kind=kind, outcome=outcome)

    return answer
