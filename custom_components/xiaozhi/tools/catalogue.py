"""What is known of the tools of stock firmware beyond their names and schemas.

Schemas have no list of choices, no unit and no link between the tool that sets and the one that tells.
Sources: `main/mcp_server.cc` and the folders below `main/boards`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from homeassistant.const import PERCENTAGE, EntityCategory

from ..protocol.status import STATUS_TOOL
from .entities import Reading

__all__ = ["HINTS", "Hint"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """What is known of one tool; None and False leave it to the rules."""

    action_only: bool = False
    """Whether it makes no entity, because something else uses it or because it would make no sense."""
    key: str | None = None
    translation_key: str | None = None
    device_class: str | None = None
    unit: str | None = None
    category: EntityCategory | None = None
    enabled: bool | None = None
    state: Reading | None = None
    """Of a setter: where to read what it has set. Of a tool that answers: the main part of its answer."""
    options: tuple[str, ...] | None = None
    momentary: bool = False
    on_off: tuple[Any, Any] | None = None
    """The values of its argument for on and off."""
    minimum: int | None = None
    """Of its argument, where the schema allows what the tool refuses."""


_ACTION: Final = Hint(action_only=True)
_WIFI_SETUP: Final = Hint(translation_key="wifi_setup", category=EntityCategory.CONFIG, enabled=False)
_MOTION: Final = Hint(translation_key="motion", device_class="enum", options=("idle", "moving"))
_TRIMS: Final = Hint(translation_key="trims")

HINTS: Final[Mapping[str, Hint]] = {
    # What every board has, `main/mcp_server.cc`.
    STATUS_TOOL: _ACTION,
    "self.audio_speaker.set_volume": Hint(
        key="volume",
        translation_key="volume",
        unit=PERCENTAGE,
        state=Reading(tool=STATUS_TOOL, member="volume"),
    ),
    "self.screen.set_brightness": Hint(
        key="brightness",
        translation_key="brightness",
        unit=PERCENTAGE,
        category=EntityCategory.CONFIG,
        state=Reading(tool=STATUS_TOOL, member="brightness"),
    ),
    "self.screen.set_theme": Hint(
        key="theme",
        translation_key="theme",
        category=EntityCategory.CONFIG,
        options=("light", "dark"),
        state=Reading(tool=STATUS_TOOL, member="theme"),
    ),
    "self.reboot": Hint(key="reboot", device_class="restart"),
    "self.camera.take_photo": _ACTION,
    "self.get_system_info": _ACTION,
    "self.upgrade_firmware": _ACTION,
    "self.screen.get_info": _ACTION,
    "self.screen.snapshot": _ACTION,
    "self.screen.preview_image": _ACTION,
    "self.assets.set_download_url": _ACTION,
    # Many boards.
    "self.set_press_to_talk": Hint(
        translation_key="talk_mode",
        category=EntityCategory.CONFIG,
        options=("press_to_talk", "click_to_talk"),
    ),
    "self.system.reconfigure_wifi": _WIFI_SETUP,
    "self.disp.network": _WIFI_SETUP,
    "self.disp.setbacklight": Hint(translation_key="backlight", category=EntityCategory.CONFIG),
    "self.battery.get_level": Hint(
        translation_key="battery_level",
        device_class="battery",
        unit=PERCENTAGE,
        state=Reading(tool="self.battery.get_level", member="level"),
    ),
    "self.lamp.turn_on": Hint(translation_key="lamp"),
    "self.led_strip.set_all_color": Hint(translation_key="led_strip"),
    # Of the colours by which the device shows what it is doing; no other colour is scaled.
    "self.led_strip.set_brightness": Hint(
        translation_key="status_light_brightness", category=EntityCategory.CONFIG
    ),
    "self.light.set_rgb": Hint(translation_key="light"),
    # electron-bot, otto-robot, lceda-course-examples: an offset needs a servo, and a script is no choice.
    "self.electron.servo_sequences": _ACTION,
    "self.otto.servo_sequences": _ACTION,
    "self.electron.get_status": _MOTION,
    "self.otto.get_status": _MOTION,
    "self.dog.get_status": _MOTION,
    "self.edarobot.get_status": _MOTION,
    "self.electron.get_trims": _TRIMS,
    "self.otto.get_trims": _TRIMS,
    "self.dog.get_trims": _TRIMS,
    "self.edarobot.get_trims": _TRIMS,
    "self.electron.get_ip": Hint(
        translation_key="ip", state=Reading(tool="self.electron.get_ip", member="ip")
    ),
    "self.otto.get_ip": Hint(translation_key="ip", state=Reading(tool="self.otto.get_ip", member="ip")),
    # espressif/esp-hi
    "self.dog.basic_control": Hint(
        translation_key="dog_movement",
        options=("forward", "backward", "turn_left", "turn_right", "stop"),
        momentary=True,
    ),
    "self.dog.advanced_control": Hint(
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
    # espressif/esp-sparkbot: the schema allows 1 to 6, the handler 3 to 8; the getter always tells the same.
    "self.chassis.switch_light_mode": Hint(translation_key="light_effect", minimum=3),
    "self.chassis.get_light_mode": _ACTION,
    "self.camera.set_camera_flipped": Hint(translation_key="flip_camera", category=EntityCategory.CONFIG),
    # lilygo/t-cameraplus-s3
    "self.camera.enable_ir_filter": Hint(translation_key="ir_filter", category=EntityCategory.CONFIG),
    # sensecap-watcher
    "self.model.enable": Hint(translation_key="detection"),
    "self.model.param_get": Hint(translation_key="detection_settings"),
    # yunliao-s3
    "self.system.set_aec": Hint(translation_key="echo_cancellation", category=EntityCategory.CONFIG),
    "self.system.switch_TFT": Hint(
        translation_key="invert_panel", category=EntityCategory.CONFIG, enabled=False
    ),
    # zhengchen/cam: every text but the one for off means on.
    "self.AEC.set_mode": Hint(
        translation_key="echo_cancellation",
        category=EntityCategory.CONFIG,
        on_off=("kAecOnDeviceSide", "kAecOff"),
        state=Reading(tool="self.AEC.get_mode", member="message", on_off=("开启", "关闭")),
    ),
    "self.res.esp_restart": Hint(
        translation_key="restart_now", device_class="restart", category=EntityCategory.CONFIG, enabled=False
    ),
}
