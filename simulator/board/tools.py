"""The tools that boards register: setters change values, getters return them."""

from base64 import b64encode
from dataclasses import dataclass, field
from importlib.resources import files
import json
from typing import Any, Final

from .cjson import JsonObject, dumps
from .profile import Profile

type ToolResult = bool | int | str | JsonObject | Image
type Values = dict[str, Any]

_STRONG_DBM: Final = -60
_MEDIUM_DBM: Final = -70


class ToolError(Exception):
    """A tool threw; its text becomes the error's message, unescaped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A picture as a tool result; the firmware supports it, but no stock tool uses it."""

    data: bytes
    mime_type: str

    def as_json(self) -> str:
        """Return the object that the firmware puts into a result as a text."""
        data = b64encode(self.data).decode()
        return dumps({"type": "image", "mimeType": self.mime_type, "data": data})


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A registered tool."""

    name: str
    description: str
    properties: JsonObject = field(default_factory=dict)
    """Argument schemas by name."""
    user_only: bool = False
    handler: str | None = None
    """Name of a handler in `device_tools`; without one, the fields below say what a call does."""
    set: JsonObject = field(default_factory=dict)
    """Values to store; `$name` stands for an argument, in keys too."""
    toggle: str | None = None
    get: str | dict[str, str] | None = None
    """The value to return, or an object of values."""
    texts: dict[str, str] = field(default_factory=dict)
    """Texts to return instead of values; `*` stands for all other values."""
    result: Any = True
    choices: dict[str, list[Any]] = field(default_factory=dict)
    refusal: ToolResult = False
    """Result for an argument outside `choices`."""
    error: str | None = None
    """Error message for such an argument, instead of `refusal`."""
    keep: int | None = None
    """Arguments with this value change nothing."""
    title: str | None = None
    """A display name, which stock firmware does not have."""
    answer: JsonObject | None = None
    """A complete MCP result, for firmware other than the stock one."""

    def as_json(self, *, annotated: bool) -> str:
        """Return the entry of `tools/list`."""
        schema: JsonObject = {"type": "object", "properties": self.properties}
        if required := [name for name, rule in self.properties.items() if "default" not in rule]:
            schema["required"] = required
        entry: JsonObject = {"name": self.name, "description": self.description, "inputSchema": schema}
        if self.title is not None:
            entry["title"] = self.title
        if self.user_only and annotated:
            entry["annotations"] = {"audience": ["user"]}
        return dumps(entry)


# Values at the first start; all others start with 0. `view` is what the camera sees: a JPEG, or a colour
# that fills the picture (red, green and blue from 0 to 255); None for a test picture.
_FIRST_VALUES: Final[Values] = {
    "volume": 70,
    "brightness": 75,
    "theme": "light",
    "lamp": False,
    "light": False,
    "ir_filter": False,
    "led_brightness": 4,
    "chassis_light_mode": 2,
    "aec_mode": "kAecOff",
    "talk_mode": "click_to_talk",
    "battery_level": 82,
    "battery_charging": False,
    "temperature": 41.5,
    "connected": True,
    "view": None,
    "model_threshold": 75,
    "model_interval": 8,
    "model_duration": 5,
}


def first_values(profile: Profile, ip: str) -> Values:
    """Return the initial values of the device's tools."""
    return _FIRST_VALUES | {"ip": ip, "rssi": profile.rssi, "ssid": profile.ssid}


def board_tools(profile: Profile) -> list[Tool]:
    """Return the tools of a device in the order of its list."""
    tools = []
    folders = {profile.board.folder, *profile.board.also}
    for entry in json.loads((files(__package__) / "tools.json").read_text()):
        boards = entry.pop("boards", None)
        needs = entry.pop("needs", ())
        since = tuple(int(part) for part in entry.pop("since", "0.0.0").split("."))
        fits = boards is None or not folders.isdisjoint(boards)
        if fits and profile.number >= since and all(profile.board.has(need) for need in needs):
            tools.append(Tool(**entry))
    return tools


def run_plain(tool: Tool, arguments: JsonObject, values: Values) -> ToolResult:
    """Execute a call as the tool's fields describe it. Raises `ToolError`."""
    for name, choices in tool.choices.items():
        if arguments[name] not in choices:
            if tool.error is not None:
                raise ToolError(tool.error.format(**arguments))
            return tool.refusal
    for key, value in tool.set.items():
        stored = arguments[value[1:]] if isinstance(value, str) and value.startswith("$") else value
        if tool.keep is None or stored != tool.keep:
            prefix, dollar, argument = key.partition("$")
            values[f"{prefix}{arguments[argument]}" if dollar else key] = stored
    if tool.toggle is not None:
        values[tool.toggle] = not values.get(tool.toggle, False)
    match tool.get:
        case None:
            result: ToolResult = tool.result
            return result
        case str(key) if tool.texts:
            return tool.texts.get(values[key], tool.texts["*"])
        case str(key):
            kept: ToolResult = values.get(key, 0)
            return kept
        case parts:
            return {name: values.get(key, 0) for name, key in parts.items()}


def device_status(profile: Profile, values: Values) -> JsonObject:
    """Return the live state, as `self.get_device_status` does."""
    board = profile.board
    status: JsonObject = {"audio_speaker": {"volume": values["volume"]}}
    screen: JsonObject = {"brightness": values["brightness"]} if board.backlight else {}
    if board.theme and board.height > 64:
        screen["theme"] = values["theme"]
    status["screen"] = screen
    # Left out while the board cannot read it (`GetDeviceStatusJson`).
    if board.battery and values["battery_level"] is not None:
        status["battery"] = {"level": values["battery_level"], "charging": values["battery_charging"]}
    match board.network:
        case "ethernet":
            status["network"] = {"type": "ethernet", "state": "connected", "ip": values["ip"]}
        case "wifi":
            status["network"] = {"type": "wifi", "ssid": values["ssid"], "signal": _signal(values["rssi"])}
    if board.chip_temperature:
        status["chip"] = {"temperature": values["temperature"]}
    return status


def _signal(rssi: int) -> str:
    if rssi >= _STRONG_DBM:
        return "strong"
    return "medium" if rssi >= _MEDIUM_DBM else "weak"
