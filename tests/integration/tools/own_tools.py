"""Tools of a simulated device, some added while it runs, as an update of its firmware does."""

from typing import Any

from simulator import SimulatedDevice
from simulator.application.mcp_server import McpServer
from simulator.board.tools import Tool

LAMP = "light.kitchen_box_lamp"
STATUS_LIGHT = "number.kitchen_box_led_brightness"
STRIP = "light.kitchen_box_led_strip"


def tool(name: str, description: str = "", **fields: Any) -> Tool:
    return Tool(name=name, description=description, **fields)


def register(device: SimulatedDevice, *tools: Tool) -> list[Tool]:
    """Give the running device more tools, as an update of its firmware does; returns its list."""
    server: McpServer = device._on.mcp
    server.tools.extend(tools)
    if tools:
        announce(device)
    return server.tools


def announce(device: SimulatedDevice) -> None:
    """Have the device announce that its list of tools has changed."""
    device._on._queue_mcp_reply('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')


def colour(device: SimulatedDevice) -> tuple[int, ...]:
    return tuple(device.values[f"led_{part}"] for part in ("red", "green", "blue"))


def calls(device: SimulatedDevice) -> list[str]:
    return [data["name"] for data in device.events("tool") if data["name"] != "self.get_device_status"]


def listed(device: SimulatedDevice) -> int:
    """Return how often the device was asked for its tools."""
    messages = [data["message"].get("payload") or {} for data in device.events("received")]
    lists = [payload["params"] for payload in messages if payload.get("method") == "tools/list"]
    return sum(not params.get("cursor") for params in lists)
