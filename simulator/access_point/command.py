"""The command `xiaozhi-sim access-point`: a cloud or self-hosted server at the terminal."""

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import fields
import json
from types import UnionType
from typing import Any, Final, get_type_hints

from simulator.terminal import tell, typed_lines, until_signal

from .agent import SelfHostedAgent
from .answer import Answer, ToolCaller
from .cloud import Cloud, CloudFaults
from .endpoint import EndpointServer
from .garbage import GARBAGE, provoke
from .link import LinkClosedError
from .listener import Listener, OpeningFaults
from .model import ask
from .timing import Timing
from .tokens import YEAR

_HELP: Final = """Prints the address for the tool side. Then each line that you type is said to a scripted
model, such as: turn on the kitchen light. Other commands: /tools, /call NAME {"argument": 1}, and with the
cloud /drop, /freeze, /close CODE, /garbage NAME and /restart. Each --fault is NAME or NAME=VALUE."""
_SELF_HOSTED_AGENT: Final = "living room"

type _Faults = OpeningFaults | CloudFaults


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    names = {kind: ", ".join(_hints(kind)) for kind in (OpeningFaults, CloudFaults)}
    parser.description = _HELP
    parser.epilog = f"Faults while connecting: {names[OpeningFaults]}. Of the cloud: {names[CloudFaults]}."
    parser.add_argument(
        "--self-hosted", action="store_true", help="mcp-endpoint-server with an agent, not the cloud"
    )
    parser.add_argument("--port", type=int, default=0, help="on 127.0.0.1 (any)")
    parser.add_argument("--agent", type=int, default=1001, help="number of the cloud's agent (%(default)d)")
    parser.add_argument(
        "--valid", type=float, default=YEAR, help="seconds until the token expires; 0 for never (a year)"
    )
    parser.add_argument(
        "--scale", type=float, default=1, help="multiplies every duration of the far side (%(default)g)"
    )
    parser.add_argument(
        "--fault", action="append", default=[], metavar="NAME[=VALUE]", help="may be repeated"
    )


async def run(options: argparse.Namespace) -> int:
    """Run until Ctrl-C. Raises `ValueError` for unknown faults."""
    opening = OpeningFaults()
    timing = Timing().scaled(options.scale)
    server: Listener
    if options.self_hosted:
        _set_faults(options.fault, opening)
        server = endpoint = EndpointServer(timing=timing, opening=opening, port=options.port)
    else:
        cloud_faults = CloudFaults()
        _set_faults(options.fault, opening, cloud_faults)
        server = cloud = Cloud(timing=timing, faults=cloud_faults, opening=opening, port=options.port)
    server.log = lambda event: tell(f"* {event}")
    async with server:
        if options.self_hosted:
            url = endpoint.url(_SELF_HOSTED_AGENT)
            work = _talk_self_hosted(url, timing)
        else:
            url = cloud.url(cloud.token(options.agent, valid=options.valid or None))
            work = _talk_cloud(cloud, options.agent)
        tell(url)
        await until_signal(work)
    return 0


async def _talk_cloud(cloud: Cloud, number: int) -> None:
    agent = cloud.agent(number)
    async for line in typed_lines():
        async with _told():
            if not await _obey(agent, line):
                await _break(cloud, number, *line.split(maxsplit=1))


async def _talk_self_hosted(url: str, timing: Timing) -> None:
    async for line in typed_lines():
        async with _told(), SelfHostedAgent.connected(url, timing) as agent:
            await agent.ready()
            if not await _obey(agent, line):
                tell("! not a command")


@asynccontextmanager
async def _told() -> AsyncIterator[None]:
    try:
        yield
    except (LinkClosedError, ValueError, LookupError) as err:
        tell(f"! {err}")


async def _obey(caller: ToolCaller, line: str) -> bool:
    """Say a sentence or do what both kinds can; return False for other commands."""
    match line.split(maxsplit=2):
        case ["/tools"]:
            for name, tool in sorted(caller.tools.items()):
                tell(f"  {name}: {tool.get('description', '')}")
            tell(f"{len(caller.tools)} tools, {len(json.dumps([*caller.tools.values()]))} bytes")
        case ["/call", name]:
            _tell_answer(await caller.call(name, {}))
        case ["/call", name, arguments]:
            _tell_answer(await caller.call(name, json.loads(arguments)))
        case [word, *_] if word.startswith("/"):
            return False
        case [_, *_]:
            spoken = await ask(caller, line)
            if spoken.answer is None:
                tell("! no tool fits this sentence")
            else:
                tell(f"> {spoken.called} {json.dumps(spoken.arguments, ensure_ascii=False)}")
                _tell_answer(spoken.answer)
    return True


async def _break(cloud: Cloud, number: int, command: str, rest: str = "") -> None:
    sessions = cloud.agent(number).sessions
    match command:
        case "/drop":
            for session in sessions:
                await session.drop()
        case "/freeze":
            for session in sessions:
                session.freeze()
        case "/close":
            for session in sessions:
                await session.close(int(rest or 4004))
        case "/garbage":
            for session in sessions:
                tell(f"< {await provoke(session, GARBAGE[rest].frame)}")
        case "/restart":
            await cloud.stop()
            await cloud.start()
        case _:
            raise ValueError("not a command")


def _tell_answer(answer: Answer) -> None:
    tell(f"< {answer.text} ({answer.milliseconds:.1f} ms{', spoken to the user' if answer.spoken else ''})")


def _hints(kind: type[_Faults]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _set_faults(texts: list[str], *targets: _Faults) -> None:
    for text in texts:
        name, _, raw = text.partition("=")
        for target in targets:
            if name in (hints := _hints(type(target))):
                setattr(target, name, _value(name, raw, hints[name]))
                break
        else:
            raise ValueError(f"no such fault: {name}")


def _value(name: str, raw: str, hint: type | UnionType) -> object:
    try:
        value = json.loads(raw) if raw else True
    except ValueError:
        value = raw
    if isinstance(value, int) and not isinstance(value, bool) and isinstance(1.0, hint):
        value = float(value)
    if isinstance(value, hint) and isinstance(value, bool) == (hint is bool):
        return value
    raise ValueError(f"the fault {name} does not take {raw or 'no value'}")
