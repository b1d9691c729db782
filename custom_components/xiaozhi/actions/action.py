"""An action of the integration, and what several of them do."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
import logging
from typing import Any

from homeassistant.auth.permissions.const import POLICY_CONTROL
from homeassistant.core import ServiceCall, ServiceResponse, SupportsResponse
from homeassistant.helpers.json import json_bytes
from homeassistant.util.json import json_loads_object

from ..device.device import Device
from ..errors import InputError
from ..protocol.mcp.tool import ArgumentError, check_arguments
from ..texts.translated import argument_error
from ..util.text import one_line
from .targets import target_devices

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """An action. Its target is one device or several, as its function asks for."""

    run: Callable[[ServiceCall], Coroutine[Any, Any, ServiceResponse | None]]
    fields: dict[Any, Any] = field(default_factory=dict)
    response: SupportsResponse = SupportsResponse.NONE
    admin: bool = False
    """Whether only an administrator may use it."""
    policy: str = POLICY_CONTROL
    """The right to the satellite of each device that the user needs."""


async def on_each(call: ServiceCall, work: Callable[[Device], Awaitable[None]]) -> None:
    """Run `work` for all devices, even if some fail; then raise the first error and log the others."""
    devices, refusal = target_devices(call)
    results = await asyncio.gather(*(work(device) for device in devices), return_exceptions=True)
    errors = [result for result in (*results, refusal) if result is not None]
    for error in errors[1:]:
        _LOGGER.warning("%s failed for another device, too: %s", call.service, one_line(str(error)))
    if errors:
        raise errors[0]


def check_arguments_of(device: Device, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments for a tool, checked against its schema. Raises `InputError`."""
    if (tool := device.tools.get(name)) is None:
        return arguments
    try:
        # Templates give dictionaries of their own kind; what is sent must be plain JSON.
        return check_arguments(tool, json_loads_object(json_bytes(arguments)))
    except ArgumentError as err:
        raise argument_error(err, tool=device.commands.words_for(name), argument=err.name) from err
    except (TypeError, ValueError) as err:
        raise InputError("arguments_not_json", tool=device.commands.words_for(name)) from err
