"""Questions of a device to a language model and to people. Off by default, bounded, shown in Activity."""

import asyncio
from functools import partial
from typing import Final

from homeassistant.core import callback

from ..const import EVENT_QUESTION
from ..device.device import Device
from ..device.state import SETTINGS
from ..protocol.clock import loop_time
from ..protocol.limits import TokenBucket
from ..protocol.mcp.model import RequestError, RequestHandler
from ..protocol.messages import JsonObject
from .ai_questions import ask_ai
from .person_questions import ask_people

_BUSY: Final = -32000
# A device that asks without end is shown in Activity a few times, and then once in ten minutes.
_REFUSAL_RATE: Final = 1 / 600
_REFUSAL_BURST: Final = 3


# What a person has done, by the `action` of the answer.
_OUTCOMES: Final = {"decline": "declined", "cancel": "cancelled"}


@callback
def serve_questions(device: Device) -> None:
    """Serve those questions of a device that its owner allows, and announce them to it."""
    refusals = TokenBucket(rate=_REFUSAL_RATE, burst=_REFUSAL_BURST)
    # Each question to a model may cost the owner money; more questions to people would only annoy.
    of_ai, of_people = TokenBucket(rate=1 / 30, burst=5), TokenBucket(rate=1 / 60, burst=3)
    ai = _limited(device, "ai", partial(ask_ai, device), of_ai, refusals)
    people = _limited(device, "people", partial(ask_people, device), of_people, refusals)

    @callback
    def settings_changed() -> None:
        before = set(device.handshake.handlers)
        for method, handler, allowed in (
            ("sampling/createMessage", ai, device.settings.may_ask_ai),
            ("elicitation/create", people, device.settings.may_ask_people),
        ):
            if allowed:
                device.handshake.handlers[method] = handler
            else:
                device.handshake.handlers.pop(method, None)
        if set(device.handshake.handlers) != before and device.session is not None:
            device.session.readings.start_again()

    device.record.listen([SETTINGS], settings_changed)
    settings_changed()


def _limited(
    device: Device, kind: str, ask: RequestHandler, bucket: TokenBucket, refusals: TokenBucket
) -> RequestHandler:
    """Return the handler of the questions of one kind: one at a time, and only so many in the long run.

    It puts into Activity what became of a question, without its words.
    """
    asking = asyncio.Lock()

    async def answer(params: JsonObject) -> JsonObject:
        outcome = "refused"
        try:
            if asking.locked() or not bucket.take(loop_time()):
                raise RequestError("Too many questions: ask again later", _BUSY)
            async with asking:
                result = await ask(params)
            outcome = _OUTCOMES.get(str(result.get("action")), "answered")
            return result
        finally:
            if outcome != "refused" or refusals.take(loop_time()):
                data = {
                    "device_id": device.registry_id,
                    "name": device.name,
                    "kind": kind,
                    "outcome": outcome,
                }
                device.hass.bus.async_fire(EVENT_QUESTION, data)

    return answer
