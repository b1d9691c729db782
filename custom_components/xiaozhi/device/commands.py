"""Commands of entities, actions and the assistant to a device."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from homeassistant.core import CALLBACK_TYPE, callback

from ..errors import UserError
from ..protocol import messages
from ..protocol.device_status import DeviceStatus, StatusError, read_status
from ..protocol.faces import Face
from ..protocol.mcp.client import McpClient
from ..protocol.mcp.model import McpError, Progress
from ..protocol.mcp.result import ToolResult
from ..protocol.messages import JsonObject
from ..protocol.transport.link import LinkClosedError, LinkKind
from ..texts.translated import tool_words
from ..tools.stock_tools import REBOOT_TOOL, STATUS_TOOL, stock_tool
from .link_session import LinkSession
from .paired_device import PairedDevice
from .tool_calls import call_error


class DeviceCommands:
    """Sends commands to one device, and turns failures into errors with a text for the user."""

    def __init__(self, device: PairedDevice, session: Callable[[], LinkSession | None]) -> None:
        self._device = device
        self._session = session

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        changes: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> ToolResult:
        """Call a tool and return its result; read the status soon after if it `changes` the device.

        Raises `HomeAssistantError` with a text for the user when the device is out of reach, does not answer,
        or refuses.
        """
        session = self._linked_session()
        try:
            result = await session.calls.call(name, arguments, on_progress=on_progress)
        except (McpError, LinkClosedError) as err:
            raise call_error(err, self._device.name, self.words_for(name)) from err
        followed = result.failure is None and self._device.tools.set_call(name, arguments or {})
        if (followed or changes) and not stock_tool(name).restarts:
            session.readings.read_soon(acted=True)
        return result

    async def change(self, tool: str, arguments: Mapping[str, Any] | None = None) -> ToolResult:
        """Call a tool that changes the device, return its result, and read the status soon after.

        Raises as `call_tool`, and when the tool answers that it did nothing.
        """
        result = await self.call_tool(tool, arguments, changes=True)
        self.check_done(tool, result)
        return result

    async def read_status(self) -> DeviceStatus:
        """Read the status now; without values if the answer is none. Raises as `call_tool`."""
        try:
            return read_status((await self.call_tool(STATUS_TOOL)).json())
        except StatusError:
            return DeviceStatus()

    def check_done(self, tool: str, result: ToolResult) -> None:
        """Raise the error for the user if a tool answers that it did nothing."""
        if (reason := result.failure) is not None:
            key = "refused" if reason else "not_done"
            raise UserError(key, name=self._device.name, tool=self.words_for(tool), reason=reason)

    @contextmanager
    def asking(self, what: str) -> Iterator[McpClient]:
        """Ask the device's MCP server for something other than a tool, named `what` in errors.

        Raises as `call_tool`.
        """
        session = self._linked_session()
        try:
            yield session.mcp
        except (McpError, LinkClosedError) as err:
            raise call_error(err, self._device.name, what) from err

    async def send(self, message: JsonObject) -> None:
        """Send a message that has no answer. Raises as `call_tool`."""
        session = self._linked_session()
        try:
            await session.send(message)
        except LinkClosedError as err:
            raise self._unreachable() from err

    async def show(self, *, status: str, message: str, emotion: str) -> None:
        """Show a text on the screen, with a sound. Raises as `call_tool`."""
        await self.send(messages.alert(status=status, message=message, emotion=emotion))

    async def clear_screen(self) -> None:
        """Clear the text and the face that `show` has left, without a sound. Raises as `call_tool`.

        Screens that look like a chat keep the text among the earlier ones.
        """
        await self.send(messages.transcript(""))
        await self.send(messages.face(Face.NEUTRAL))

    async def restart(self) -> None:
        """Restart the device. Raises as `call_tool`."""
        if REBOOT_TOOL in self._device.tools:
            await self.call_tool(REBOOT_TOOL)
        else:
            await self.send(messages.reboot())

    @callback
    def read_regularly(self, tool: str) -> CALLBACK_TYPE:
        """Have a tool read soon, after changes, and every few minutes. Returns a function that ends this."""
        if (session := self._session()) is not None:
            session.readings.read_soon()
        return self._device.tools.read_regularly(tool)

    @callback
    def words_for(self, tool: str) -> str:
        """Return the name of a tool in messages to people."""
        known = self._device.tools.get(tool)
        return tool_words(self._device.hass, tool, known.title or "" if known else "")

    def _linked_session(self) -> LinkSession:
        session = self._session()
        if session is None or not session.presence.linked:
            raise self._unreachable()
        return session

    def _unreachable(self) -> UserError:
        on_mqtt = self._device.state.link is LinkKind.MQTT
        return UserError("not_connected" if on_mqtt else "only_in_conversation", name=self._device.name)
