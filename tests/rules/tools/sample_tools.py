"""Made-up tools, and devices that nobody knows: tools as their makers write them, in English and Chinese."""

from typing import Any, Final

from custom_components.xiaozhi.protocol.mcp.tool import Tool
from custom_components.xiaozhi.tools.mapping import map_tools
from custom_components.xiaozhi.tools.tool_entities import ToolEntity


def listed(name: str = "x", **parts: Any) -> Tool:
    """Return a tool with these parts of its entry in the device's list."""
    made = Tool.from_dict({"name": name, **parts})
    assert made is not None
    return made


def tool(name: str, description: str = "", *, user_only: bool = False, **properties: Any) -> Tool:
    """Return a tool with these arguments."""
    required = [key for key, rule in properties.items() if "default" not in rule]
    schema = {"type": "object", "properties": properties, "required": required}
    annotations = {"audience": ["user"]} if user_only else {}
    return listed(name, description=description, inputSchema=schema, annotations=annotations)


def number(minimum: int = 0, maximum: int = 100, **rule: Any) -> dict[str, Any]:
    return {"type": "integer", "minimum": minimum, "maximum": maximum, **rule}


def only(*tools: Tool) -> ToolEntity:
    (entity,) = map_tools(tools)
    return entity


TEXT: Final = {"type": "string"}
FLAG: Final = {"type": "boolean"}

DEVICES: Final[dict[str, list[Tool]]] = {
    "curtain": [
        tool("self.curtain.open", "Open the curtain completely"),
        tool("self.curtain.close", "Close the curtain completely"),
        tool("self.curtain.stop", "Stop the motor"),
        tool("self.curtain.set_position", "Move to a position, 0 closed to 100 open", position=number()),
        tool("self.curtain.get_position", "Current position in percent"),
    ],
    "aquarium": [
        tool("self.aquarium.get_status", "返回水温、酸碱度、水位和灯的状态，JSON 格式"),
        tool("self.aquarium.feed", "Feed the fish once"),
        tool("self.aquarium.light_on", "Turn the aquarium light on"),
        tool("self.aquarium.light_off", "Turn the aquarium light off"),
        tool("self.aquarium.pump_start", "Start the filter pump"),
        tool("self.aquarium.pump_stop", "Stop the filter pump"),
        tool("self.aquarium.set_heater", "Switch the heater", on=FLAG),
    ],
    "door lock": [
        tool("self.door.lock", "Lock the door"),
        tool("self.door.unlock", "Unlock the door"),
        tool("self.door.is_locked", "Whether the door is locked"),
        tool("self.door.is_open", "Whether the door is open"),
        tool("self.door.get_battery", "Battery in percent"),
    ],
    "infrared": [
        tool("self.ac.turn_on", "Turn the air conditioner on"),
        tool("self.ac.turn_off", "Turn the air conditioner off"),
        tool("self.ac.set_mode", "Set the mode: cool, heat, dry, fan or auto", mode=TEXT),
        tool("self.ac.set_temperature", "Set the temperature in °C", temperature=number(16, 30)),
        tool("self.ac.set_fan_speed", "风速，0: 自动，1: 低，2: 中，3: 高", speed=number(0, 3)),
        tool("self.tv.power_toggle", "Send the power key of the TV"),
        tool("self.ir.learn", "Learn a code under a name", label=TEXT),
    ],
    "printer": [
        tool("self.printer.print_text", "Print a text", text=TEXT),
        tool("self.printer.feed_paper", "Feed some lines", lines=number(1, 20, default=3)),
        tool("self.printer.set_density", "Print density", density=number(0, 15)),
        tool("self.printer.get_status", "Paper, temperature of the head and state as JSON"),
        tool("self.printer.is_paper_empty", "Whether the paper is used up"),
    ],
    "Chinese names": [
        tool("打开窗帘", "打开卧室的窗帘"),
        tool("关闭窗帘", "关闭卧室的窗帘"),
        tool("打开风扇", "打开风扇"),
        tool("关闭风扇", "关闭风扇"),
        tool("设置风扇档位", "设置风扇档位，1到3", 档位=number(1, 3)),
        tool("打开水泵", "打开水泵"),
        tool("关闭水泵", "关闭水泵"),
        tool("获取温度", "获取当前温度，单位摄氏度"),
        tool("获取湿度", "获取当前湿度"),
        tool("读取土壤湿度", "读取土壤湿度百分比"),
        tool("获取光照强度", "获取光照强度，单位lux"),
        tool("是否有人", "检测是否有人"),
        tool("设置空调模式", "设置空调的模式，可选：制冷、制热、除湿、送风", 模式=TEXT),
        tool("设置亮度", "设置灯的亮度", 亮度=number()),
        tool("获取亮度", "获取灯的亮度"),
    ],
}

ANSWERS: Final[dict[str, dict[str, Any]]] = {
    "aquarium": {
        "self.aquarium.get_status": {"water_temp": 25.4, "ph": 7.1, "water_level": 82, "light": True}
    },
    "printer": {
        "self.printer.get_status": {
            "state": "ready",
            "paper": {"remaining": 60},
            "head_temperature": "31.5 °C",
        }
    },
}
"""What tools answer, as the device's objects."""
