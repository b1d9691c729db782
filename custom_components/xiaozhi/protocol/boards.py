"""Facts about the firmware's builds, by their names."""

import re
from typing import Final

# Waveshare's panels with an ESP32-P4; those with the newer P4X have had two names.
_P4_PANELS: Final = ("3.4c", "4.3", "4b", "4c", "5", "7", "7b", "8", "10.1")
_P4_NAMES: Final = (
    "esp32-p4-wifi6-touch-lcd-{}",
    "esp32-p4-wifi6-touch-lcd-{}-p4x",
    "esp32-p4x-wifi6-touch-lcd-{}",
)

_CANCEL_ECHO: Final = frozenset({name.format(panel) for name in _P4_NAMES for panel in _P4_PANELS}) | {
    "ai-vox3-aec",
    "atk-dnesp32s3-box3",
    "bigsmart",
    "esp-box-3",
    "esp32-s3-lcd-0.85",
    "esp32-s3-rlcd-4.2",
    "esp32-s3-touch-amoled-1.75",
    "esp32-s3-touch-amoled-1.75c",
    "esp32-s3-touch-amoled-2.06",
    "esp32-s3-touch-lcd-1.54",
    "esp32-s3-touch-lcd-1.83",
    "esp32-s3-touch-lcd-1.85b",
    "esp32-s3-touch-lcd-3.49",
    "esp32-s3-touch-lcd-3.49-v2",
    "esp32-s3-touch-lcd-4.3c",
    "esp32-s3-touch-lcd-4b",
    "lichuang-dev",
    "yunliao-s3",
    "zhengchen-cam",
    "zhengchen-cam-ml307",
}
"""Source: `CONFIG_USE_DEVICE_AEC=y` in the firmware's `main/boards/**/config.json`, for the boards for which
`main/Kconfig.projbuild` allows it (2.4.2, August 2026).
"""

_KEEPS_LINES: Final = frozenset(
    {
        "atk-dnesp32s3-box",
        "esp32-p4-nano-10.1-a",
        "esp32-p4x-nano-10.1-a",
        "esp32-s3-audio-board",
        "esp32-s3-touch-amoled-1.8",
        "esp32-s3-touch-amoled-1.8-v2",
        "esp32-s3-touch-lcd-3.5",
        "esp32-s3-touch-lcd-3.5b",
    }
)
"""Source: `CONFIG_USE_WECHAT_MESSAGE_STYLE=y` in `main/boards/**/config.json` (August 2026)."""

_SOLD_AS: Final = {
    "atoms3r-cam-m12-echo-base": "M5Stack AtomS3R-CAM or M12 + Echo Base",
    "atoms3r-echo-base": "M5Stack AtomS3R + Echo Base",
    "df-k10": "DFRobot UNIHIKER K10",
    "echoear": "EchoEar",
    "electron-bot": "Electron Bot",
    "esp-box-3": "ESP32-S3-BOX-3",
    "esp-hi": "ESP-HI",
    "esp-vocat": "EchoEar",
    "esp32-s3-touch-amoled-1.75": "Waveshare ESP32-S3-Touch-AMOLED-1.75",
    "esp32-s3-touch-amoled-1.75c": "Waveshare ESP32-S3-Touch-AMOLED-1.75C",
    "esp32-s3-touch-lcd-1.85c": "Waveshare ESP32-S3-Touch-LCD-1.85C",
    "esp32-s3-touch-lcd-3.49": "Waveshare ESP32-S3-Touch-LCD-3.49",
    "esp32-s3-touch-lcd-3.49-v2": "Waveshare ESP32-S3-Touch-LCD-3.49 V2",
    "lichuang-dev": "LiChuang SZPI ESP32-S3",
    "m5stack-core-s3": "M5Stack CoreS3",
    "otto-robot": "Otto",
    "sensecap-watcher": "SenseCAP Watcher",
    "sp-esp32-s3-1.28-box": "Spotpear ESP32-S3 1.28",
    "sp-esp32-s3-1.54-muma": "Spotpear ESP32-S3 1.54 Muma",
    "xingzhi-cube-0.85tft-ml307": "Xingzhi Cube 0.85 ML307",
    "xingzhi-cube-0.85tft-wifi": "Xingzhi Cube 0.85",
    "xingzhi-cube-0.96oled-ml307": "Xingzhi Cube 0.96 ML307",
    "xingzhi-cube-0.96oled-wifi": "Xingzhi Cube 0.96",
    "xingzhi-cube-1.54tft-ml307": "Xingzhi Cube 1.54 ML307",
    "xingzhi-cube-1.54tft-wifi": "Xingzhi Cube 1.54",
    "xmini-c3": "Xmini C3",
}
"""By the names of builds, as `docs/devices.md` has them; others follow a rule, if their maker is known."""

_MAKERS: Final = {
    "atk": "ALIENTEK",
    "lilygo": "LILYGO",
    "m5stack": "M5Stack",
    "movecall": "Movecall",
    "waveshare": "Waveshare",
    "xingzhi": "Xingzhi",
    "zhengchen": "Zhengchen",
}
_PANEL: Final = re.compile(r"esp32-\w+-.*(?:lcd|amoled)-")
"""Builds of Waveshare that do not name their maker."""
_RULED: Final = re.compile(r"[a-z0-9.-]{1,64}")
_UPPER_CASE: Final = re.compile(r"\d.*|[a-z]{1,2}\d.*|.*(?:esp32|lcd|oled|tft).*|aec|box\d?|cam")
_SPELLED: Final = {"epaper": "ePaper", "wifi": "WiFi", "wifi6": "WiFi6"}


def sold_as(build: str) -> str | None:
    """Return the name that a device of a build is sold under, if known."""
    if listed := next((_SOLD_AS[name] for name in _names(build) if name in _SOLD_AS), None):
        return listed
    maker, _, name = ("waveshare", "", build) if _PANEL.match(build) else build.partition("-")
    if maker not in _MAKERS or not name or not _RULED.fullmatch(build):
        return None
    return f"{_MAKERS[maker]} {'-'.join(map(_spelled, name.split('-')))}"


def cancels_echo(build: str) -> bool:
    """Whether a released build cancels its echo, and so listens while it speaks."""
    return not _CANCEL_ECHO.isdisjoint(_names(build))


def replaces_lines(build: str) -> bool:
    """Whether the screen of a build shows a changed text in the place of the one before it, and at once.

    Some add a line for each, as in a chat, and electronic paper takes seconds.
    """
    return "epaper" not in build and _KEEPS_LINES.isdisjoint(_names(build))


def _spelled(word: str) -> str:
    return _SPELLED.get(word) or (word.upper() if _UPPER_CASE.fullmatch(word) else word.capitalize())


def _names(build: str) -> tuple[str, str]:
    # Before the name, some builds report their maker.
    return build, build.partition("-")[2]
