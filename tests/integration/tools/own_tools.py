"""Tools that are added to a running device, as an update of its firmware does."""

from simulator import SimulatedDevice
from simulator.application.mcp_server import McpServer
from simulator.board.tools import Tool


def register(device: SimulatedDevice, *tools: Tool) -> list[Tool]:
    """Give the running device more tools, as an update of its firmware does; returns its list."""
    server: McpServer = device._on.mcp
    server.tools.extend(tools)
    return server.tools


def announce(device: SimulatedDevice) -> None:
    """Have the device announce that its list of tools has changed."""
    device._on._queue_mcp_reply('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
