"""Connects commands with the running demo, by an address in a file that only its user can read."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
import fcntl
import hmac
import json
from pathlib import Path
import secrets
from typing import Any, Final

from .errors import DemoError
from .processes import HOST
from .stage import ANSWER, Demo, Said

_FILE: Final = "control.json"
_LOCK: Final = "lock"
_KNOW_LITTLE: Final = "; small engines know only what the demo lists"
_NOT_RUNNING: Final = "the demo does not run. Start it with scripts/demo, and leave that terminal open."
_SAY_SECONDS: Final = 90


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Make sure that only one demo uses a folder. Raises `DemoError`."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DemoError("the demo runs already, in another terminal") from None
        yield


@asynccontextmanager
async def control(demo: Demo, talk: str) -> AsyncGenerator[None]:
    """Serve `ask` while the block runs, one request after the other.

    `talk` is the address of the page to talk to.
    """
    token = secrets.token_urlsafe()
    turn = asyncio.Lock()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with turn:
            answer = await _answer(demo, token, await reader.readline())
        writer.write(json.dumps(answer).encode() + b"\n")
        writer.close()

    server = await asyncio.start_server(connected, HOST, 0)
    file = demo.folder / _FILE
    try:
        file.touch(mode=0o600)
        port = server.sockets[0].getsockname()[1]
        where = {"port": port, "token": token, "url": demo.url, "talk": talk}
        file.write_text(json.dumps(where))
        yield
    finally:
        file.unlink(missing_ok=True)
        server.close()
        server.close_clients()
        await server.wait_closed()


async def ask(folder: Path, **request: str) -> str:
    """Have the running demo `say` a text by a `link`, `notify` a text, or say one to the `cloud`.

    Returns what has come of it, for the user. Raises `DemoError`.
    """
    try:
        where = json.loads(await asyncio.to_thread((folder / _FILE).read_text))
        async with asyncio.timeout(_SAY_SECONDS):
            reader, writer = await asyncio.open_connection(HOST, where["port"])
            writer.write(json.dumps({"token": where["token"]} | request).encode() + b"\n")
            line = await reader.readline()
            writer.close()
    except FileNotFoundError, ConnectionError:
        raise DemoError(_NOT_RUNNING) from None
    except TimeoutError:
        raise DemoError(f"the demo does not answer within {_SAY_SECONDS} s") from None
    if not line:
        raise DemoError("the demo has ended meanwhile")
    answer: dict[str, str] = json.loads(line)
    if "error" in answer:
        raise DemoError(answer["error"])
    return answer["output"]


async def _answer(demo: Demo, token: str, line: bytes) -> dict[str, str]:
    try:
        request = json.loads(line)
        offered = str(request["token"])
    except ValueError, TypeError, KeyError:
        return {"error": "not a request"}
    if not hmac.compare_digest(offered.encode(), token.encode()):
        return {"error": "another demo was asked"}
    try:
        return {"output": await _obey(demo, request)}
    except DemoError as err:
        return {"error": str(err)}


async def _obey(demo: Demo, request: dict[str, Any]) -> str:
    """Raise `DemoError` for an invalid request."""
    match request:
        case {"say": str(text), "link": str(link)} if link in demo.owners:
            said = await demo.say(text, link=link)
            return describe(said, demo.owners[link].name, demo.folder, small=demo.speech.small)
        case {"notify": str(text)}:
            owner = demo.owners["mqtt"]
            owner.notify(text)
            return f"The {owner.name} has notified: {text}"
        case {"cloud": str(text)} if demo.cloud is not None:
            spoken = await demo.cloud.ask(text)
            arguments = json.dumps(spoken.arguments, ensure_ascii=False)
            result = spoken.answer and spoken.answer.text
            return f"Called:      {spoken.called} {arguments}\nResult:      {result}"
    raise DemoError("not a request")


def describe(said: Said, name: str, folder: Path, *, small: bool) -> str:
    """Return what was said to the device of this name, and its result. `small` engines know few sentences."""
    lines = {
        "Said": f"{said.said}, to the {name}",
        "Understood": said.heard or f"(nothing{_KNOW_LITTLE * small})",
        "Answer": said.answer or "(none)",
        "Kitchen": f"the light is {said.light}",
    }
    if said.account.played_seconds:
        sound = f"{said.account.played_seconds:.1f} s of sound, in {folder / ANSWER}"
        lines["Answer"] += f"\n{' ' * 13}{sound}"
    return "\n".join(f"{f'{label}:':13}{text}" for label, text in lines.items())
