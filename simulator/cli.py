"""The command `xiaozhi-sim`: a simulated device at the terminal."""

import argparse
import asyncio
from collections.abc import Callable
from dataclasses import dataclass
import json
import os
from pathlib import Path
import sys
from typing import Any, Final, Self

from .access_point.command import add_arguments, run as run_access_point
from .application.state import State
from .audio.espeak import SpeechError, synthesize
from .audio.opus import UPLINK_RATE
from .audio.sound import read_wav, write_wav
from .board.crash import DeviceCrashed
from .board.nvs import Nvs
from .board.profile import BOARDS, DEFAULT_VERSION, get_profile
from .board.recorder import Event
from .conversation import ConversationError, converse
from .device import SimulatedDevice
from .link.misbehave import Misbehaviour
from .terminal import tell, typed_lines, until_signal

_DEFAULT_MAC = "02:00:00:c0:ff:ee"


class _Failure(Exception):  # noqa: N818 - not an error of the program: the command reports it
    """Ends the command with this text and exit code 1."""


@dataclass(slots=True, kw_only=True)
class _Saved:
    """The device between two calls of the command."""

    url: str
    mac: str
    board: str
    firmware: str
    nvs: Nvs

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Read the state file; None if there is none."""
        try:
            content = json.loads(path.read_text())
            nvs = Nvs.load(json.dumps(content.pop("nvs")))
            return cls(**content, nvs=nvs)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as err:
            raise _Failure(f"{path} is not a state file of this command: {err}") from err

    def write(self, path: Path) -> None:
        """Write the state file, readable only by the user: it holds the device's token."""
        content = {"url": self.url, "mac": self.mac, "board": self.board, "firmware": self.firmware}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(json.dumps(content | {"nvs": json.loads(self.nvs.dump())}, indent=2) + "\n")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return asyncio.run(_run(options))
    except KeyboardInterrupt:
        return 130
    except (_Failure, ConversationError, SpeechError, OSError, ValueError) as err:
        sys.stderr.write(f"xiaozhi-sim: {err}\n")
    except DeviceCrashed as crash:
        sys.stderr.write(f"xiaozhi-sim: the device crashed: {crash}\n")
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="xiaozhi-sim", description="A simulated XiaoZhi device, faithful to the stock firmware."
    )
    parser.add_argument(
        "--url", help="the OTA address, such as http://homeassistant:8123/api/xiaozhi/ota; kept after 'pair'"
    )
    parser.add_argument(
        "--state", type=Path, default=_state_file(), help="where the device's flash is kept (%(default)s)"
    )
    parser.add_argument("--board", choices=BOARDS, help="which board it is (s3)")
    parser.add_argument("--firmware", help=f"its firmware's version ({DEFAULT_VERSION})")
    parser.add_argument("--mac", help=f"its MAC address ({_DEFAULT_MAC})")
    parser.add_argument(
        "--misbehave",
        action="append",
        default=[],
        type=Misbehaviour,
        metavar="HOW",
        help=f"something to do wrong; may be repeated: {', '.join(Misbehaviour)}",
    )
    parser.add_argument(
        "--link",
        choices=("mqtt", "websocket"),
        help="fail unless the server chooses this link at check-in",
    )
    parser.add_argument("--timeout", type=float, default=60, help="seconds for each step (%(default)g)")
    commands = parser.add_subparsers(dest="command", required=True)
    pair = commands.add_parser("pair", help="show the digits and wait until the server has accepted them")
    pair.add_argument("--reset", action="store_true", help="erase the flash first: another Client-Id")
    say = commands.add_parser("say", help="say something and hold the conversation to its end")
    say.add_argument("what", nargs="+", help="a text, or a sound file; one turn each")
    say.add_argument("--voice", default="en-us", help="espeak-ng's voice for texts (%(default)s)")
    say.add_argument("--wake-word", default="hi xiaozhi", help="what is said to wake it (%(default)s)")
    say.add_argument("--out", type=Path, help="write what it played to this WAV file")
    say.add_argument("--json", action="store_true", help="print the result as one line of JSON")
    commands.add_parser(
        "run",
        help="stay switched on; each line that you type is said, and an empty line is a click of the button",
    )
    add_arguments(commands.add_parser("access-point", help="no device: a cloud that uses tools"))
    return parser


def _state_file() -> Path:
    folder = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(folder) / "xiaozhi-sim.json"


async def _run(options: argparse.Namespace) -> int:
    if options.command == "access-point":
        return await run_access_point(options)
    saved = await asyncio.to_thread(_Saved.read, options.state)
    if saved is None or getattr(options, "reset", False):
        saved = _Saved(
            url=saved.url if saved else "",
            mac=saved.mac if saved else _DEFAULT_MAC,
            board=saved.board if saved else "s3",
            firmware=saved.firmware if saved else DEFAULT_VERSION,
            nvs=Nvs(),
        )
    for name in ("url", "mac", "board", "firmware"):
        setattr(saved, name, getattr(options, name) or getattr(saved, name))
    options.url = saved.url
    if not saved.url:
        raise _Failure(
            "no address is known; give --url once, as in --url http://homeassistant:8123/api/xiaozhi/ota"
        )
    device = SimulatedDevice(
        get_profile(saved.board, saved.firmware),
        saved.url,
        mac=saved.mac.lower(),
        nvs=saved.nvs,
        assets=await asyncio.to_thread(_read_assets, options.state),
        misbehaviours=tuple(options.misbehave),
    )
    try:
        async with device:
            try:
                await _COMMANDS[options.command](device, options)
            except TimeoutError:
                raise _Failure(f"gave up after {options.timeout:g} s; the device is {device.state}") from None
    finally:
        saved.firmware = device.next_version
        await asyncio.to_thread(saved.write, options.state)
        if device.assets:
            await asyncio.to_thread(_assets_file(options.state).write_bytes, device.assets)
    return 0


def _assets_file(state: Path) -> Path:
    return state.with_suffix(".assets")


def _read_assets(state: Path) -> bytes:
    """Return the partition with fonts, faces and wake words; none before the first pack."""
    path = _assets_file(state)
    return path.read_bytes() if path.exists() else b""


async def _pair(device: SimulatedDevice, options: argparse.Namespace) -> None:
    await device.boot(options.timeout)
    _check_answer(device, options)
    if device.pairing_code is not None:
        tell(f"Code: {device.pairing_code}")
        await device.wait_paired(options.timeout)
    _check_link(device, options)
    tell(f"Paired; the link is {_LINKS[device.link]}.")


async def _say(device: SimulatedDevice, options: argparse.Namespace) -> None:
    sounds = [await asyncio.to_thread(_sound, what, options.voice) for what in options.what]
    await _boot_paired(device, options)
    if not options.json:
        device.listen(_tell_event)
    account = await converse(device, *sounds, word=options.wake_word, timeout=options.timeout)
    if options.out is not None:
        await asyncio.to_thread(write_wav, options.out, account.played, account.sample_rate)
    if options.json:
        tell(json.dumps(account.as_json(), ensure_ascii=False))
    if not account.played:
        raise _Failure("the server ended the conversation without an answer")


async def _stay_on(device: SimulatedDevice, options: argparse.Namespace) -> None:
    device.listen(_tell_event)
    await _boot_paired(device, options)
    tell(f"On; the link is {_LINKS[device.link]}. Type what to say; an empty line is a click of the button.")
    await until_signal(_read_commands(device), device.wait_for(lambda: False, None))


async def _read_commands(device: SimulatedDevice) -> None:
    """Execute typed commands; after the end of the input, wait until cancelled. Raises `ValueError`."""
    async for text in typed_lines():
        if not text:
            await device.click()
            continue
        sound = await asyncio.to_thread(_sound, text, "en-us")
        if device.state is State.IDLE:
            await device.wake()
        device.say(sound)


async def _boot_paired(device: SimulatedDevice, options: argparse.Namespace) -> None:
    await device.boot(options.timeout)
    _check_answer(device, options)
    if device.state is not State.IDLE:
        raise _Failure("the server does not know this device; pair it first: xiaozhi-sim pair")
    _check_link(device, options)


def _check_link(device: SimulatedDevice, options: argparse.Namespace) -> None:
    if options.link not in {None, device.link}:
        raise _Failure(f"the server chose {_LINKS[device.link]} for this device")


def _check_answer(device: SimulatedDevice, options: argparse.Namespace) -> None:
    if device.check_in_error:
        raise _Failure(f"no check-in at {options.url}: {device.check_in_error}")


def _sound(what: str, voice: str) -> bytes:
    path = Path(what)
    if path.suffix and path.is_file():
        return read_wav(path)
    return synthesize(what, voice=voice, sample_rate=UPLINK_RATE)[0]


def _tell_event(event: Event) -> None:
    if line := line_of(event):
        tell(f"{event.time:8.2f}  {line}")


def line_of(event: Event) -> str:
    """Return what has happened, in words; empty for what only interests developers."""
    if event.kind in {"error", "crash", "sound"}:
        return f"{event.kind}: {', '.join(map(str, event.data.values()))}"
    return _LINES[event.kind](event.data) if event.kind in _LINES else ""


def _screen_line(data: dict[str, Any]) -> str:
    match data:
        case {"role": role, "text": text} if text:
            return f"{role}: {text}"
        case {"emotion": emotion} if emotion != "neutral":
            return f"looks {emotion}"
    return ""


def _announcement_line(data: dict[str, Any]) -> str:
    match data:
        case {"outcome": "playing", "url": url}:
            return f"plays {url}"
        case {"outcome": outcome, "reason": reason}:
            return f"announcement {outcome}" + (f": {reason}" if reason else "")
    return ""


_LINES: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "state": lambda data: f"is {data['state']}",
    "screen": _screen_line,
    "announcement": _announcement_line,
    "tool": lambda data: f"tool {data['name']} {json.dumps(data['arguments'], ensure_ascii=False)}",
    "unheard": lambda data: f"is not woken by {data['word']}",
    "assets": lambda data: f"loads a pack of wake words, fonts and faces from {data['url']}",
    "assets_failed": lambda data: f"could not load a pack: {data['error']}",
    "progress": lambda data: f"has {data['percent']} % of a firmware",
    "upgraded": lambda data: f"has installed firmware {data['version']}",
    "upgrade_failed": lambda data: f"could not install a firmware: {data['error']}",
    "link": lambda data: (
        "is connected to the server" if data["connected"] else f"is not connected: {data['reason']}"
    ),
    "restart": lambda _: "restarts",
}
_LINKS = {"mqtt": "MQTT", "websocket": "WebSocket"}
_COMMANDS = {"pair": _pair, "say": _say, "run": _stay_on}
