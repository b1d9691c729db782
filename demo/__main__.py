"""The command behind `scripts/demo`."""

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial
import json
from pathlib import Path
import re
import shutil
import signal
import sys
import tempfile
from typing import Any, Final

from . import control, house
from .chinese import COMMAND, chinese_assistant
from .engines import plain
from .errors import DemoError
from .hass import PASSWORD, USERNAME
from .processes import ROOT, free_port, last_lines
from .stage import DEVICES, LINKED, LOGS, Demo, Said, demo
from .talk import PORT
from .wake_words import change_wake_word

_FOLDER: Final = ROOT / ".demo"
_START_SECONDS: Final = 300
_CHECK_SECONDS: Final = 360
_CHECKED: Final = "turn on the kitchen light"
# From the end of a known command to the first sound. More means that a pause was waited for, or the engine
# asked twice; or the machine is loaded, and may try again.
_REPLY_MS: Final = 700
_TIMES: Final = 3
# Home Assistant asks back, and gets a short answer.
_ASKED_BACK: Final = ("it is dark", "yes")
_PORT: Final = 8123
_COMPLAINT: Final = re.compile(r" (?:WARNING|ERROR|CRITICAL) \(")
_OURS: Final = re.compile(r"custom_components[./]xiaozhi|\bxiaozhi\b", re.IGNORECASE)
# Home Assistant says so of every custom integration, and of every state that takes 0.4 s on a busy machine.
_NO_COMPLAINT: Final = re.compile("which has not been tested by Home Assistant|Updating state for .* took ")
# Of each log, when the check fails.
_LINES: Final = 40

_UNDERSTOOD: Final = {
    False: "Say to them what Home Assistant understands, with names and numbers of your own, such as:",
    True: "PocketSphinx and espeak-ng are their small speech engines, which understand, and nothing else:",
}

_WELCOME: Final = """
Ready.

  Talk       {talk}     (in a browser on this computer, with its microphone)
  Web page   {url}
  Login      {username} / {password}

Without a microphone: the examples on that page are buttons; or in another terminal,
  scripts/demo say "turn on the kitchen light"
From another computer, browsers give the microphone to this page only as localhost:
  ssh -L {port}:localhost:{port} this-computer     and then open {talk} there

There are three devices. {mqtt} is connected all the time, over MQTT. It has a camera, a screen, lights and
wheels, which are all on its page. To try there, or with Settings > Tools > Actions:
  the colour of its LED strip, its wheels, an update of its firmware     xiaozhi.show_text, xiaozhi.screenshot
  xiaozhi.take_photo with a question: a small model, which comes with the demo, names the colour that it sees
  scripts/demo notify "The bin is full": an event of the device, and on the bus as xiaozhi_notification
{websocket} is connected over WebSocket, while it talks: scripts/demo say --link websocket "..."
{announcer} is connected over MQTT and has firmware 2.5, so that it can speak while it is idle:
  Announce on its page, its media player with Jazz from My media, scripts/demo say --link announcer "..."
  Wake word on its page: Jarvis, phrases of your own, or the original (its models are of the demo)

{understood}
  turn on|off the kitchen|living room light    set the kitchen light to fifty percent
  is the kitchen light on    what time is it    what day is it    never mind
  set a timer for fifteen seconds|one minute    play jazz
  send a voice message to the announcer|bedroom|living room, or to everyone
  it is dark, whereupon they ask whether to turn on the kitchen light: yes

A simulated cloud uses the home's tools through an access point, which has a page of its own, too:
  scripts/demo cloud "turn on the kitchen light"     "set the kitchen light to 40 percent"     "what is on"

Ctrl-C ends everything.
"""


def main() -> int:
    """Run the command; return its exit code."""
    options = _parser().parse_args()
    if options.check and options.command:
        _parser().error("--check stands alone")
    folder = options.folder.resolve()
    if options.check:
        work = _check(small=options.small_speech)
    elif options.command:
        request = {options.command: " ".join(options.text)} | ({"link": options.link} if options.link else {})
        work = _ask(folder, **request)
    else:
        work = _stay(folder, options.port, small=options.small_speech)
    return asyncio.run(_until_signal(work))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/demo",
        description="A Home Assistant with three simulated XiaoZhis, until Ctrl-C; or talk to a running one.",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="start on temporary files, switch a lamp by voice over each link and by a short answer, "
        "use what a device can do, hear what it plays on its own, have a cloud turn the lamp on, say it in "
        f"Chinese, and end; with --small-speech, the lamp's answer must come within {_REPLY_MS} ms; "
        "the last line is JSON",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=_FOLDER,
        help="for its files; those of an earlier demo are replaced (.demo)",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=_PORT,
        help="for the web page; another one is taken if it is in use (%(default)d)",
    )
    parser.add_argument(
        "--small-speech",
        action="store_true",
        help="use PocketSphinx and espeak-ng also where Whisper and Piper run",
    )
    commands = parser.add_subparsers(dest="command")
    parser.set_defaults(link="")
    for name, what, example in (
        ("say", "say something to a device of the running demo", "turn on the kitchen light"),
        ("notify", f"have the {DEVICES['mqtt'].name} notify something", "The bin is full"),
        ("cloud", "say something to the assistant in the simulated cloud", "turn on the kitchen light"),
    ):
        command = commands.add_parser(name, help=what)
        command.add_argument("text", nargs="+", type=_words, help=f"such as: {example}")
    say = commands.choices["say"]
    which = ", ".join(f"{box.name} ({link})" for link, box in DEVICES.items())
    say.add_argument("--link", choices=DEVICES, default="mqtt", help=f"to which one: {which}")
    return parser


def _words(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("an empty text cannot be said")
    return text


async def _until_signal(work: Coroutine[Any, Any, int]) -> int:
    """Run the work; a signal ends it early, but in order."""
    task = asyncio.ensure_future(work)
    received: list[int] = []

    def interrupt(number: int) -> None:
        # Only once: a second Ctrl-C must not disturb ending the child processes.
        if not received:
            received.append(number)
            _tell("Stopping ...")
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, interrupt, number)
    try:
        return await task
    except asyncio.CancelledError:
        if not received:
            raise
        return 128 + received[0]
    except DemoError as err:
        _tell(f"demo: {err}")
        return 1


async def _stay(folder: Path, port: int, *, small: bool) -> int:
    with control.alone(folder):
        try:
            async with (
                asyncio.timeout(_START_SECONDS) as limit,
                demo(folder, _tell, port, with_cloud=True, small=small) as running,
            ):
                limit.reschedule(None)
                talk_port = free_port(PORT if port else 0)
                async with running.talk_page(talk_port) as talk, control.control(running, talk):
                    print(_welcome(running, talk), flush=True)
                    await running.wait_for_failure()
        except TimeoutError:
            raise DemoError(f"the demo has not started within {_START_SECONDS} s") from None
    return 0


def _welcome(running: Demo, talk: str) -> str:
    return _WELCOME.format(
        talk=talk,
        port=talk.rpartition(":")[2],
        url=running.url,
        username=USERNAME,
        password=PASSWORD,
        understood=_UNDERSTOOD[running.speech.small],
        **{link: box.name for link, box in DEVICES.items()},
    )


async def _ask(folder: Path, **request: str) -> int:
    print(await control.ask(folder, **request))
    return 0


async def _check(*, small: bool) -> int:
    folder = Path(tempfile.mkdtemp(prefix="xiaozhi-demo-"))
    keep = False
    try:
        async with (
            asyncio.timeout(_CHECK_SECONDS),
            demo(folder, _tell, with_cloud=True, small=small) as running,
        ):
            passed = await house.set_idle_brightness(running.client, running.devices["mqtt"])
            _tell(f"The idle {DEVICES['mqtt'].name} took another screen brightness within {passed:.0f} ms.")
            results = {link: await _check_quick(running, link) for link in LINKED}
            results["question"] = await _check_link(running, "mqtt", *_ASKED_BACK)
            done = await _check_abilities(running)
            results["chinese"] = await _check_chinese(running)
            _judge_log((folder / LOGS[-1]).read_text(errors="replace"))
        print(json.dumps({name: said.as_json() for name, said in results.items()} | done))
        _judge(results, small=running.speech.small)
    except (DemoError, ExceptionGroup, TimeoutError) as err:
        keep = True
        fault = err.exceptions[0] if isinstance(err, ExceptionGroup) else err
        if not isinstance(fault, DemoError | TimeoutError):
            raise
        reason = str(fault) or f"not done within {_CHECK_SECONDS} s"
        raise DemoError(f"{reason}\n{_ends_of_logs(folder)}") from err
    finally:
        if not keep:
            await asyncio.to_thread(shutil.rmtree, folder)
    return 0


def complaints_of_us(log: str) -> list[str]:
    """Return the warnings and errors in a log of Home Assistant that name the integration."""
    return [
        line
        for line in log.splitlines()
        if _COMPLAINT.search(line) and _OURS.search(line) and not _NO_COMPLAINT.search(line)
    ]


def _judge_log(log: str) -> None:
    """Raise `DemoError` if Home Assistant complains of the integration."""
    if lines := complaints_of_us(log):
        raise DemoError("Home Assistant's log complains of us:\n" + "\n".join(lines))


def _ends_of_logs(folder: Path) -> str:
    ends = {log: last_lines(folder / log, _LINES) for log in LOGS}
    shown = [f"The end of {log}:\n{end}" for log, end in ends.items() if end]
    return "\n".join([*shown, f"All logs are in {folder}"])


async def _check_link(running: Demo, link: str, *texts: str) -> Said:
    """Turn on the light by voice: say a text, and each other one after an answer."""
    await house.switch_lamp_off(running.client)
    _tell(f"Saying to the {DEVICES[link].name}, over {link}: {' - '.join(texts)}")
    return await running.say(*texts, link=link)


async def _check_quick(running: Demo, link: str) -> Said:
    """Turn on the light by voice; again if the answer came late, as after the start."""
    said = await _check_link(running, link, _CHECKED)
    for _ in range(1, _TIMES):
        if _is_late(said):
            said = await _check_link(running, link, _CHECKED)
    return said


def _is_late(said: Said) -> bool:
    return said.account.reply_ms is None or said.account.reply_ms > _REPLY_MS


async def _check_chinese(running: Demo) -> Said:
    """Turn on the light by voice, which the engine writes in characters that the assistant does not know."""
    async with chinese_assistant(running.client, DEVICES["websocket"].mac):
        return replace(await _check_link(running, "websocket", _CHECKED), said=COMMAND)


async def _check_abilities(running: Demo) -> dict[str, Any]:
    """Use what devices can do, and what Home Assistant does with them on its own; return results by name."""
    owner, listener, cloud = running.owners["mqtt"], running.listener, running.cloud
    assert cloud is not None
    mqtt, announcer = DEVICES["mqtt"].name, DEVICES["announcer"].name
    # Of different devices.
    async with asyncio.TaskGroup() as group:
        used = group.create_task(
            _each(
                ("light_colour", f"Colouring the lights of the {mqtt}", owner.colour_light),
                ("photo", f"Having the {mqtt} take a photo", owner.take_photo),
                ("notification", f"Having the {mqtt} notify something", owner.hear_notification),
                ("firmware", f"Installing a firmware on the {mqtt}", owner.install_firmware),
            )
        )
        heard = group.create_task(
            _each(
                ("announcement", f"Announcing something on the idle {announcer}", listener.hear_announcement),
                ("file", f"Playing a file on the idle {announcer}", listener.hear_file),
                (
                    "timer",
                    f"Setting a timer on the {announcer}, and waiting for its ring",
                    listener.hear_timer,
                ),
                ("asked", f"Having the {announcer} ask a question", listener.answer_question),
                ("quiet", f"Having the {announcer} not disturb", listener.keep_quiet),
                (
                    "wake_word",
                    f"Giving the {announcer} another wake word, a phrase, and the original word again",
                    partial(change_wake_word, running.owners["announcer"]),
                ),
            )
        )
    return (
        used.result()
        | heard.result()
        | await _each(
            ("alarm", f"Ringing an alarm of the {mqtt} through the {announcer}", listener.hear_alarm),
            ("music", f"Asking the {mqtt} for music", listener.hear_music),
            ("message", f"Sending a message from the {mqtt} to the {announcer}", listener.hear_message),
            (
                "kept",
                f"Keeping a message for the {mqtt}, which may not be disturbed and then is woken",
                listener.keep_message,
            ),
            ("access_point", "Having the simulated cloud turn on the kitchen light", cloud.switch_lamp_on),
        )
    )


async def _each(*checks: tuple[str, str, Callable[[], Awaitable[Any]]]) -> dict[str, Any]:
    """Do one after the other; return the results by name."""
    results = {}
    for name, what, check in checks:
        _tell(f"{what} ...")
        results[name] = await check()
    return results


def _judge(results: dict[str, Said], *, small: bool) -> None:
    """Raise `DemoError` with all wrong results. Whisper may write another word, and takes its time."""
    faults = [
        f"{name}, {said.said!r}: {fault}"
        for name, said in results.items()
        for fault in _faults(said, small=small)
    ]
    if faults:
        raise DemoError(f"it did not work. {'; '.join(faults)}")


def _faults(said: Said, *, small: bool) -> list[str]:
    misheard = not said.heard or (small and plain(said.heard) != plain(said.said))
    faults = {
        f"the device was understood as {said.heard!r}": misheard,
        f"the light is {said.light}": said.light != "on",
        "there was no answer": not said.answer,
        f"the answer of {said.account.played_seconds} s was silent or missing": not said.audible,
        f"it came after {said.account.reply_ms} ms": small and said.said == _CHECKED and _is_late(said),
    }
    return [fault for fault, is_so in faults.items() if is_so]


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
