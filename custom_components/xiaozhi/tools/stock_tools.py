"""The catalogue of stock tools: facts that a device does not report.

Schemas have no choices and no units, and do not link a setter to its getter.
Sources: `main/mcp_server.cc` and the folders below `main/boards`.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from homeassistant.const import PERCENTAGE, EntityCategory

from .risk_words import Risk
from .tool_entities import Reading

# Tools that the integration itself calls.
ASSETS_TOOL: Final = "self.assets.set_download_url"
BRIGHTNESS_TOOL: Final = "self.screen.set_brightness"
PHOTO_TOOL: Final = "self.camera.take_photo"
PREVIEW_TOOL: Final = "self.screen.preview_image"
REBOOT_TOOL: Final = "self.reboot"
SCREEN_INFO_TOOL: Final = "self.screen.get_info"
SNAPSHOT_TOOL: Final = "self.screen.snapshot"
STATUS_TOOL: Final = "self.get_device_status"
VOLUME_TOOL: Final = "self.audio_speaker.set_volume"

# In seconds, for tools that restart the device: most have closed their link by then.
_RESTART_TIMEOUT: Final = 3.0
# In seconds, including upload or download of a picture.
_PICTURE_TIMEOUT: Final = 60.0
# In seconds, including the upload and the answer of an AI Task.
_PHOTO_TIMEOUT: Final = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StockTool:
    """Facts about one tool; with None and False, the rules of mapping decide."""

    # Calls.
    timeout: float | None = None
    """Seconds to wait for the answer; None for the default."""
    restarts: bool = False
    """Whether the tool restarts the device or closes its channel, often without an answer."""
    risks: tuple[Risk, ...] = ()

    # Entity.
    action_only: bool = False
    """Whether the tool makes no entity: it is used elsewhere, or an entity would make no sense."""
    key: str | None = None
    translation_key: str | None = None
    device_class: str | None = None
    unit: str | None = None
    category: EntityCategory | None = None
    enabled: bool | None = None
    state: Reading | None = None
    """For a setter, where to read the value; for a getter, the main part of its answer."""
    options: tuple[str, ...] | None = None
    values: tuple[int, ...] | None = None
    """The numbers that the options stand for."""
    argument: str | None = None
    """The argument of the options, if there are others, all with a default."""
    default: str | None = None
    """The option of the firmware until another one is chosen."""
    momentary: bool = False
    on_off: tuple[object, object] | None = None
    """The argument's values for on and off."""


_restarting: Final = partial(StockTool, timeout=_RESTART_TIMEOUT, restarts=True)
_ACTION: Final = StockTool(action_only=True)
_SERVO_TRIM: Final = StockTool(risks=(Risk.SETUP,), action_only=True)
_wifi_setup: Final = partial(
    _restarting, translation_key="wifi_setup", category=EntityCategory.CONFIG, enabled=False
)
_MOTION: Final = StockTool(translation_key="motion", device_class="enum", options=("idle", "moving"))
_TRIMS: Final = StockTool(translation_key="trims")
_STOP: Final = StockTool(translation_key="stop_moving")

# All arguments of these have defaults.
_MOVEMENTS: Final = {
    "dog": (
        *("walk", "turn", "lift_left_front_leg", "lift_left_rear_leg"),
        *("lift_right_front_leg", "lift_right_rear_leg", "sit", "stand", "stretch", "shake"),
    ),
    "edarobot": (
        *("walk_forward", "turn_left", "jump", "swing", "moonwalk", "bend", "shake_leg", "updown"),
        *("hands_up", "hands_down", "hand_wave"),
    ),
}


def _moves(translation_key: str, argument: str, *options: str) -> StockTool:
    """Return a tool whose movements are numbers from 1 on."""
    return StockTool(
        translation_key=translation_key,
        argument=argument,
        options=options,
        values=tuple(range(1, len(options) + 1)),
        momentary=True,
    )


CATALOGUE: Final[Mapping[str, StockTool]] = {
    # Every board, `main/mcp_server.cc`.
    STATUS_TOOL: _ACTION,
    VOLUME_TOOL: StockTool(
        key="volume",
        translation_key="volume",
        unit=PERCENTAGE,
        category=EntityCategory.CONFIG,
        # The media player has a slider for it.
        enabled=False,
        state=Reading(tool=STATUS_TOOL, member="volume"),
    ),
    BRIGHTNESS_TOOL: StockTool(
        key="brightness",
        translation_key="brightness",
        unit=PERCENTAGE,
        category=EntityCategory.CONFIG,
        state=Reading(tool=STATUS_TOOL, member="brightness"),
    ),
    "self.screen.set_theme": StockTool(
        key="theme",
        translation_key="theme",
        category=EntityCategory.CONFIG,
        enabled=False,
        options=("light", "dark"),
        state=Reading(tool=STATUS_TOOL, member="theme"),
    ),
    REBOOT_TOOL: _restarting(risks=(Risk.RESTART,), key="reboot", device_class="restart"),
    PHOTO_TOOL: StockTool(timeout=_PHOTO_TIMEOUT, action_only=True),
    "self.get_system_info": _ACTION,
    "self.upgrade_firmware": _restarting(risks=(Risk.FIRMWARE,), action_only=True),
    SCREEN_INFO_TOOL: _ACTION,
    SNAPSHOT_TOOL: StockTool(timeout=_PICTURE_TIMEOUT, action_only=True),
    PREVIEW_TOOL: StockTool(timeout=_PICTURE_TIMEOUT, action_only=True),
    ASSETS_TOOL: StockTool(risks=(Risk.FIRMWARE,), action_only=True),
    # Many boards.
    "self.set_press_to_talk": StockTool(
        translation_key="talk_mode",
        category=EntityCategory.CONFIG,
        options=("press_to_talk", "click_to_talk"),
        default="click_to_talk",
    ),
    "self.system.reconfigure_wifi": _wifi_setup(risks=(Risk.NETWORK, Risk.SETUP)),
    "self.disp.network": _wifi_setup(risks=(Risk.NETWORK,)),
    "self.disp.setbacklight": StockTool(translation_key="backlight", category=EntityCategory.CONFIG),
    "self.battery.get_level": StockTool(
        translation_key="battery_level",
        device_class="battery",
        unit=PERCENTAGE,
        state=Reading(tool="self.battery.get_level", member="level"),
    ),
    "self.lamp.turn_on": StockTool(translation_key="lamp"),
    "self.led_strip.set_all_color": StockTool(translation_key="led_strip"),
    # Brightness of the colours that show the device's own state; no other colour is scaled.
    "self.led_strip.set_brightness": StockTool(
        translation_key="status_light_brightness", category=EntityCategory.CONFIG
    ),
    "self.light.set_rgb": StockTool(translation_key="light"),
    # electron-bot, otto-robot, lceda-course-examples: an offset needs a servo, and a script is not a choice.
    "self.electron.servo_move": _ACTION,
    "self.electron.servo_sequences": _ACTION,
    "self.otto.servo_sequences": _ACTION,
    "self.edarobot.get_trims": _TRIMS,
    **{
        tool: StockTool(translation_key="ip", state=Reading(tool=tool, member="ip"))
        for tool in ("self.electron.get_ip", "self.otto.get_ip")
    },
    "self.electron.hand_action": _moves("arm_movement", "action", "raise", "lower", "wave", "flap"),
    "self.electron.body_turn": _moves("body_turn", "direction", "left", "right", "centre"),
    "self.electron.head_move": _moves(
        "head_movement", "action", "up", "down", "nod", "centre", "nod_repeatedly"
    ),
    "self.otto.action": StockTool(
        translation_key="otto_movement",
        argument="action",
        options=(
            *("walk", "turn", "jump", "swing", "moonwalk", "bend", "shake_leg", "updown"),
            *("whirlwind_leg", "sit", "showcase", "home"),
        ),
        momentary=True,
    ),
    **{
        f"self.{robot}.{name}": tool
        for robot in ("dog", "edarobot", "electron", "otto")
        for name, tool in (("get_status", _MOTION), ("set_trim", _SERVO_TRIM), ("stop", _STOP))
    },
    **{f"self.{robot}.get_trims": _TRIMS for robot in ("dog", "electron", "otto")},
    "self.electron.home": StockTool(translation_key="rest_position"),
    **{
        f"self.{robot}.{name}": StockTool(translation_key=name)
        for robot, names in _MOVEMENTS.items()
        for name in names
    },
    # With -1 for all, it changes nothing.
    "self.model.param_set": _ACTION,
    # espressif/esp-hi
    "self.dog.basic_control": StockTool(
        translation_key="dog_movement",
        options=("forward", "backward", "turn_left", "turn_right", "stop"),
        momentary=True,
    ),
    "self.dog.advanced_control": StockTool(
        translation_key="dog_trick",
        options=(
            "sway_back_forth",
            "lay_down",
            "sway",
            "retract_legs",
            "shake_hand",
            "shake_back_legs",
            "jump_forward",
        ),
        momentary=True,
    ),
    # espressif/esp-sparkbot: the schema allows 1 to 6, the handler 3 to 8; the getter's answer never changes.
    # The names are those of the chassis' own firmware, `light_mode_t`.
    "self.chassis.switch_light_mode": StockTool(
        translation_key="light_effect",
        options=("blink", "breathe_slowly", "breathe_quickly", "flow"),
        values=(3, 4, 5, 6),
        # Unknown until it is chosen here.
        enabled=False,
    ),
    "self.chassis.get_light_mode": _ACTION,
    "self.chassis.go_forward": StockTool(translation_key="go_forward"),
    "self.chassis.go_back": StockTool(translation_key="go_back"),
    "self.chassis.turn_left": StockTool(translation_key="chassis_left"),
    "self.chassis.turn_right": StockTool(translation_key="chassis_right"),
    "self.chassis.dance": StockTool(translation_key="dance"),
    "self.camera.set_camera_flipped": StockTool(
        translation_key="flip_camera", category=EntityCategory.CONFIG, enabled=False
    ),
    # lilygo/t-cameraplus-s3
    "self.camera.enable_ir_filter": StockTool(translation_key="ir_filter", category=EntityCategory.CONFIG),
    # sensecap-watcher
    "self.model.enable": StockTool(translation_key="detection"),
    "self.model.param_get": StockTool(translation_key="detection_settings"),
    # yunliao-s3
    "self.system.set_aec": _restarting(
        risks=(Risk.SETUP,), translation_key="echo_cancellation", category=EntityCategory.CONFIG
    ),
    "self.system.switch_TFT": _restarting(
        risks=(Risk.RESTART,), translation_key="invert_panel", category=EntityCategory.CONFIG, enabled=False
    ),
    # zhengchen/cam: every text except the one for off means on.
    "self.AEC.set_mode": _restarting(
        risks=(Risk.SETUP,),
        translation_key="echo_cancellation",
        category=EntityCategory.CONFIG,
        on_off=("kAecOnDeviceSide", "kAecOff"),
        state=Reading(tool="self.AEC.get_mode", member="message", on_off=("开启", "关闭")),
    ),
    "self.res.esp_restart": _restarting(
        risks=(Risk.RESTART,),
        translation_key="restart_now",
        device_class="restart",
        category=EntityCategory.CONFIG,
        enabled=False,
    ),
}
_UNKNOWN: Final = StockTool()
# Names of the same tools in programs for computers and other firmware.
_PHOTO_TOOLS: Final = (
    PHOTO_TOOL,
    *("self.take_photo", "camera.take_photo", "take_photo", "camera_take_photo", "self_camera_take_photo"),
)


def stock_tool(name: str) -> StockTool:
    """Return the facts about a tool; none if stock firmware does not have it."""
    return CATALOGUE.get(PHOTO_TOOL if name in _PHOTO_TOOLS else name, _UNKNOWN)


def own_name(name: str, tools: Container[str]) -> str | None:
    """Return the name that a device has for a stock tool among its `tools`; None if it has no such tool."""
    return next((each for each in (_PHOTO_TOOLS if name == PHOTO_TOOL else [name]) if each in tools), None)
