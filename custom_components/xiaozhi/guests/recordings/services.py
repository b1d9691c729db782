"""The action that records a conversation."""

from typing import Final

from homeassistant.core import ServiceCall, ServiceResponse, SupportsResponse
from homeassistant.helpers import config_validation as cv
import voluptuous as vol

from ...actions.action import Action
from ...actions.targets import target_device
from .recorded_conversation import async_record_conversation

_SOUND: Final = "sound"


async def _record_conversation(call: ServiceCall) -> ServiceResponse:
    return await async_record_conversation(target_device(call), with_sound=call.data[_SOUND])


ACTIONS: Final = {
    "record_conversation": Action(
        run=_record_conversation,
        fields={vol.Optional(_SOUND, default=False): cv.boolean},
        response=SupportsResponse.OPTIONAL,
        admin=True,
    )
}
