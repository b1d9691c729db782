"""The device's tools for the assistant, in conversations over this device only."""

from typing import override

from homeassistant.auth.permissions.const import POLICY_CONTROL, POLICY_READ
from homeassistant.components.llm import LLMTools
from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.helpers.llm import LLM_API_ASSIST, LLMContext, Tool, ToolInput, ToolResult
from homeassistant.util.async_ import create_eager_task

from .actions.rights import allowed_devices, check_call
from .const import DOMAIN
from .device.call_log import logged_call
from .device.device import Device
from .errors import InputError, UserError
from .gateway import find_device
from .protocol.mcp.tool import ArgumentError, Tool as McpTool, check_arguments
from .texts.translated import argument_error
from .tools.assistant_choice import (
    annotations_of,
    argument_names,
    description_of,
    parameters_of,
    result_data,
    tools_for_assistant,
)
from .util.text import one_line
from .voice.own_intents import own_intents

_MAX_NAME = 64
# By whether a tool only reads.
_POLICIES = {True: POLICY_READ, False: POLICY_CONTROL}


@callback
def async_get_tools(hass: HomeAssistant, llm_context: LLMContext, api_id: str) -> LLMTools | None:
    """Return the tools of the device that holds the conversation, if it is linked."""
    if api_id != LLM_API_ASSIST or llm_context.device_id is None:
        return None
    device = find_device(hass, llm_context.device_id)
    if device is None or not device.state.linked:
        return None
    offered = tools_for_assistant(device.tools, device.settings.assistant_tools)
    tools: list[Tool] = [DeviceTool(device, name, tool) for name, tool in offered.items()]
    tools += [own.tool for own in own_intents(hass) if own.tool and own.tool.name not in offered]
    permitted = {policy: _permits(hass, llm_context, device, policy) for policy in _POLICIES.values()}
    return LLMTools(
        tools=[tool for tool in tools if permitted[_POLICIES[tool.annotations.read_only]]],
        prompt=(
            f"You speak through a device named {one_line(device.name, _MAX_NAME)!r}. The tools that begin "
            f"with {DOMAIN}__ act on this device itself: its volume, screen, camera, lights, motion, alarms, "
            "messages."
        ),
    )


def _permits(hass: HomeAssistant, llm_context: LLMContext, device: Device, policy: str) -> bool:
    """Whether the tools of a device are offered to a user. Each call asks again."""
    context = llm_context.context or Context()
    # Home Assistant knows its users without waiting, although it does not promise that.
    known = create_eager_task(allowed_devices(hass, context, [device], policy))
    return not known.done() or bool(known.result())


class DeviceTool(Tool):
    """A tool of a device, for a language model."""

    integration = DOMAIN

    def __init__(self, device: Device, name: str, tool: McpTool) -> None:
        """Present a tool under the valid name `name`."""
        self.name = name
        self.title = tool.title
        self.description = description_of(tool)
        self.parameters = parameters_of(tool)
        self.annotations = annotations_of(tool)
        self._device = device
        self._tool = tool

    @override
    async def async_call(
        self, hass: HomeAssistant, tool_input: ToolInput, llm_context: LLMContext
    ) -> ToolResult:
        """Call the tool. Raises as `DeviceCommands.change` and `check_call`, and `InputError`.

        A failure that an object reports is not raised: the model reads it.
        """
        # The tool may have changed since the request began.
        tool = self._device.tools.get(self._tool.name)
        if tool is None or tool.user_only:
            raise UserError("not_offered", name=self._device.name, tool=self.name)
        context, policy = llm_context.context or Context(), _POLICIES[self.annotations.read_only]
        if not await allowed_devices(hass, context, [self._device], policy):
            raise InputError("not_permitted", name=self._device.name)
        await check_call(hass, context, self._device, tool.name)
        shown = argument_names(tool)
        names = {plain: name for name, plain in shown.items()}
        # Language models often give null for an argument that they leave out.
        given = {
            names.get(plain, plain): value
            for plain, value in tool_input.tool_args.items()
            if value is not None
        }
        try:
            arguments = check_arguments(tool, given)
        except ArgumentError as err:
            argument = one_line(shown.get(err.name, err.name), _MAX_NAME)
            raise argument_error(err, tool=self.name, argument=argument) from err
        name, commands, changes = self._tool.name, self._device.commands, not self.annotations.read_only
        with logged_call(self._device, name, context, "assistant"):
            result = await commands.call_tool(name, arguments, changes=changes)
            if changes and result.json() is False:
                # Any other failure is more telling as it is.
                commands.check_done(name, result)
        return ToolResult(data=result_data(result))
