"""Tools of the assistant for the alarms of the device that holds the conversation."""

from collections.abc import Awaitable, Callable
from typing import Any, Final, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import config_validation as cv
from homeassistant.helpers.llm import LLMContext, Tool, ToolAnnotations, ToolInput, ToolResult
import voluptuous as vol

from ..const import DOMAIN
from .alarm_clock import AlarmClock
from .spoken_alarm import async_set_at, described

type _Act = Callable[..., Awaitable[dict[str, Any]]]


async def _set(
    clock: AlarmClock, *, when: str, name: str = "", text: str = "", repeat: str = ""
) -> dict[str, Any]:
    first = await async_set_at(clock, when, name, text, repeat)
    return {"rings_first": f"{first:%A} {first.isoformat()}"}


async def _list(clock: AlarmClock) -> dict[str, Any]:
    return {"alarms": described(clock.alarms.items())}


async def _delete(clock: AlarmClock, *, id: str) -> dict[str, Any]:  # noqa: A002 - as the model calls it
    alarm = clock.alarm(id)
    await clock.async_store({id: None})
    return {"deleted": described([(id, alarm)])}


class AlarmTool(Tool):
    """A tool for the alarms of one device."""

    integration = DOMAIN

    def __init__(self, clock: AlarmClock, name: str) -> None:
        self.name = f"{DOMAIN}__{name}"
        self._clock = clock
        self._act, self.title, self.description, self.parameters, self.annotations = _TOOLS[name]

    @override
    async def async_call(
        self, hass: HomeAssistant, tool_input: ToolInput, llm_context: LLMContext
    ) -> ToolResult:
        """Call the tool. Raises `InputError`."""
        # Language models often give null for an argument that they leave out.
        given = {name: value for name, value in tool_input.tool_args.items() if value is not None}
        return ToolResult(data=await self._act(self._clock, **self.parameters(given)))


def alarm_tools(clock: AlarmClock) -> list[Tool]:
    """Return the tools for the alarms of a device."""
    return [AlarmTool(clock, name) for name in _TOOLS]


_TOOLS: Final[dict[str, tuple[_Act, str, str, vol.Schema, ToolAnnotations]]] = {
    "set_alarm": (
        _set,
        "Set alarm",
        "Sets an alarm or a reminder on this device. For a time from now, such as ten minutes, use a timer.",
        vol.Schema(
            {
                vol.Required(
                    "when", description="Local date and time of the first time, such as 2026-11-25T07:00."
                ): cv.string,
                vol.Optional("name", description="What the user calls it."): cv.string,
                vol.Optional(
                    "text", description="For a reminder: the sentence that the device is to say."
                ): cv.string,
                vol.Optional(
                    "repeat",
                    description="daily, weekdays, weekends, weekly, monthly, yearly, or days such as MO,TH.",
                ): cv.string,
            }
        ),
        ToolAnnotations(destructive=False, open_world=False),
    ),
    "list_alarms": (
        _list,
        "List alarms",
        "Lists the alarms and reminders of this device.",
        vol.Schema({}),
        ToolAnnotations(read_only=True, open_world=False),
    ),
    "delete_alarm": (
        _delete,
        "Delete alarm",
        "Deletes an alarm or a reminder of this device, with all its repetitions.",
        vol.Schema({vol.Required("id", description="Its id from list_alarms."): cv.string}),
        ToolAnnotations(idempotent=True, open_world=False),
    ),
}
