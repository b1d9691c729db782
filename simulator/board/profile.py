"""Boards, firmware versions and their differences."""

from dataclasses import dataclass, replace
from enum import StrEnum
import re
from typing import Any, Final, Literal

type Version = tuple[int, int, int]
type Network = Literal["wifi", "ethernet"]

DEFAULT_VERSION: Final = "2.4.2"
_NEWEST: Final[Version] = (2, 4, 2)
_OLDEST: Final[Version] = (1, 6, 2)
_VERSION: Final = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?![^-])")


class ListeningMode(StrEnum):
    """How the device decides when to listen."""

    AUTO = "auto"
    MANUAL = "manual"
    REALTIME = "realtime"


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """A board."""

    name: str
    """The build variant; the first half of the User-Agent."""
    type: str
    """The board family."""
    folder: str
    """Where the firmware keeps the board, below `main/boards`; decides which tools it has."""
    also: tuple[str, ...] = ()
    """Further folders whose tools it has, on a custom board."""
    chip: str = "esp32s3"
    width: int = 0
    """Pixels; 0 without a screen."""
    height: int = 0
    monochrome: bool = False
    backlight: bool = False
    theme: bool = False
    snapshot: bool = False
    camera: bool = False
    free_memory: int = 8_318_916
    """Bytes at its check-in, most of them in a PSRAM, which no C3 has."""
    battery: bool = False
    chip_temperature: bool = False
    network: Network = "wifi"
    sends_wake_audio: bool = True
    """Whether the wake word's sound and `listen detect` go to the server: S3 and P4, not C3 or ESP32."""
    speaker_rate: int = 24000
    """Hz of the codec."""
    mode: ListeningMode = ListeningMode.AUTO
    """Realtime where the board cancels echo."""

    @property
    def detects_while_playing(self) -> bool:
        """Whether the chip can hear the wake word while it plays; others only do while idle."""
        return self.chip in {"esp32s3", "esp32p4"}

    def has(self, feature: str) -> bool:
        """Whether the board has a feature that a tool needs."""
        return self.width > 0 if feature == "screen" else bool(getattr(self, feature))


_C3: Final[dict[str, Any]] = {"chip": "esp32c3", "sends_wake_audio": False, "free_memory": 92_416}
_COLOUR_SCREEN: Final[dict[str, Any]] = {"backlight": True, "theme": True, "snapshot": True}

BOARDS: Final = {
    "s3": Board(
        name="waveshare-esp32-s3-touch-amoled-1.8",
        type="waveshare-esp32-s3-touch-amoled-1.8",
        folder="waveshare/esp32-s3-touch-amoled-1.8",
        width=368,
        height=448,
        battery=True,
        chip_temperature=True,
        **_COLOUR_SCREEN,
    ),
    "lamp": Board(
        name="bread-compact-wifi-128x64",
        type="bread-compact-wifi",
        folder="bread-compact-wifi",
        width=128,
        height=64,
        monochrome=True,
        chip_temperature=True,
    ),
    "c3": Board(
        name="xmini-c3",
        type="xmini-c3",
        folder="xmini/c3",
        width=128,
        height=64,
        monochrome=True,
        battery=True,
        chip_temperature=True,
        **_C3,
    ),
    "led-strip": Board(name="kevin-c3", type="kevin-c3", folder="kevin/c3", **_C3),
    "dog": Board(
        name="esp-hi",
        type="esp-hi",
        folder="espressif/esp-hi",
        width=160,
        height=80,
        **_C3,
        speaker_rate=16000,
        **_COLOUR_SCREEN | {"snapshot": False},
    ),
    "electron": Board(
        name="electron-bot",
        type="electron-bot",
        folder="electron-bot",
        width=240,
        height=240,
        battery=True,
        **_COLOUR_SCREEN,
    ),
    "otto": Board(
        name="otto-robot",
        type="otto-robot",
        folder="otto-robot",
        width=240,
        height=240,
        battery=True,
        chip_temperature=True,
        **_COLOUR_SCREEN,
    ),
    "camera": Board(
        name="lichuang-dev",
        type="lichuang-dev",
        folder="lckfb/szpi-esp32s3",
        width=320,
        height=240,
        camera=True,
        chip_temperature=True,
        mode=ListeningMode.REALTIME,
        **_COLOUR_SCREEN,
    ),
    "ethernet": Board(
        name="esp32-s3-ethernet",
        type="esp32-s3-ethernet",
        folder="esp32-s3-ethernet",
        network="ethernet",
        chip_temperature=True,
    ),
    # Not a stock board: it has camera and wheels of one, and the lights of another.
    "rover": Board(
        name="rover",
        type="rover",
        folder="espressif/esp-sparkbot",
        also=("dfrobot/df-k10",),
        width=240,
        height=240,
        camera=True,
        battery=True,
        chip_temperature=True,
        **_COLOUR_SCREEN,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A board with a firmware version and settings."""

    board: Board
    version: str = DEFAULT_VERSION
    mode: ListeningMode = ListeningMode.AUTO
    """Of conversations that a wake word or a click starts."""
    language: str = "en-US"
    ssid: str = "Home"
    """Not escaped in JSON: a quote in it breaks the check-in's body."""
    rssi: int = -55
    """dBm."""
    serial_number: str | None = None
    """Of devices that have one in their fuses; they sign their activation."""
    hmac_key: bytes | None = None
    glyph_push: bool = False

    @property
    def number(self) -> Version:
        """The version as three numbers; a version without them counts as the newest."""
        if (match := _VERSION.match(self.version)) is None:
            return _NEWEST
        major, minor, patch = (int(part) for part in match.groups("0"))
        return major, minor, patch

    @property
    def user_agent(self) -> str:
        """The User-Agent of the device."""
        return f"{self.board.name}/{self.version}"

    @property
    def two_stage_states(self) -> bool:
        """Whether transitions are validated, and take effect in a later pass of the main loop."""
        return self.number >= (2, 1, 0)

    @property
    def drains_before_listening(self) -> bool:
        """Whether, in auto mode, the answer is played to its end before the microphone opens."""
        return self.number >= (2, 2, 2) or self.number < (1, 7, 0)

    @property
    def alert_clears_queue(self) -> bool:
        """Whether an alert drops the speech that is queued."""
        return self.number <= (1, 6, 6)

    @property
    def drain_blocks(self) -> bool:
        """Whether the main loop blocks until the answer is played."""
        return self.number < (2, 4, 0)

    @property
    def wake_word_interrupts(self) -> bool:
        """Whether a wake word while speaking leads to listening; in older firmware it only sends `abort`."""
        return self.number >= (2, 2, 3)

    @property
    def wakes_with_open_channel(self) -> bool:
        """Whether a wake word works while idle with an open channel; in other versions it is ignored."""
        return self.number >= (2, 4, 0) or self.number < (2, 2, 2)

    @property
    def tools_on_main_task(self) -> bool:
        """Whether a tool call blocks the main task; some versions ran each tool in its own thread."""
        threads = (1, 7, 0) <= self.number < (1, 9, 2) or self.number == (2, 0, 0)
        return not threads

    @property
    def has_tools(self) -> bool:
        """Whether there is an MCP server."""
        return self.number >= (1, 6, 6)

    @property
    def has_notify(self) -> bool:
        """Whether the server can have an idle device play a file."""
        return self.number >= (2, 5, 0)

    @property
    def mcp_checks_types(self) -> bool:
        """Whether MCP errors have a code, and an argument of a wrong type is one."""
        return self.number >= (2, 5, 0)

    @property
    def has_user_tools(self) -> bool:
        """Whether `withUserTools` and the maintenance tools exist."""
        return self.number >= (2, 0, 0)

    @property
    def pings_safe(self) -> bool:
        """Whether a WebSocket ping leaves the stream intact."""
        return self.number >= (1, 9, 0)

    @property
    def text_buffer(self) -> int | None:
        """Size in bytes of the receive buffer that a WebSocket text frame must fit; None without a limit."""
        return 2048 if self.number < (1, 7, 7) else None

    @property
    def plays_outside_answers(self) -> bool:
        """Whether sound is queued in any state but listening, and not only while speaking."""
        return self.number < (1, 7, 0)

    @property
    def decode_queue(self) -> int:
        """Packets that can wait to be decoded; further ones are dropped."""
        if self.number >= (2, 5, 0):
            return 20
        return 40 if self.number >= (1, 6, 6) else 10

    @property
    def heap_is_text(self) -> bool:
        """Whether a check-in holds the free memory as a string."""
        return self.number >= (1, 7, 7)

    @property
    def notices_reconnection(self) -> bool:
        """Whether the device can publish again after its MQTT client has reconnected by itself.

        In older firmware the client stays marked as not connected, and every message of the device fails.
        """
        return self.number >= (1, 7, 6)

    @property
    def mqtt_rebuild_seconds(self) -> int:
        """How long after the loss of its server an idle device makes a new MQTT client."""
        return 60 if self.number >= (1, 9, 0) else 10

    @property
    def goodbye_needs_session(self) -> bool:
        """Whether a server's goodbye must name the session."""
        return self.number >= (2, 3, 0)

    @property
    def answers_goodbye(self) -> bool:
        """Whether a server's goodbye is answered by the device's own."""
        return self.number < (2, 2, 2)

    @property
    def checks_udp(self) -> bool:
        """Whether the MQTT hello and the datagrams are checked; older firmware crashes on missing fields."""
        return self.number >= (2, 4, 0)

    @property
    def leaves_before_restart(self) -> bool:
        """Whether the device closes its connections before it restarts."""
        return self.number >= (2, 0, 0)

    @property
    def http_deadlocks(self) -> bool:
        """Whether an HTTP body of 8192 bytes or more hangs the device."""
        return self.number >= (2, 0, 0)


def get_profile(board: str = "s3", version: str = DEFAULT_VERSION, **options: Any) -> Profile:
    """Return the profile of a board in `BOARDS`. Raises `ValueError` for another one, or a bad version."""
    if board not in BOARDS:
        raise ValueError(f"there is no board {board!r}; there are {', '.join(BOARDS)}")
    profile = replace(Profile(board=BOARDS[board], version=version, mode=BOARDS[board].mode), **options)
    if (match := _VERSION.match(version)) is None or match[3] is None:
        raise ValueError(f"{version!r} is no firmware version such as {DEFAULT_VERSION}")
    if profile.number < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise ValueError(f"firmware {version} is older than {oldest}, the oldest that is simulated")
    return profile
