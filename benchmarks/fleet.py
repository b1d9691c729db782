"""Control of the simulated devices in another process."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
import json
from pathlib import Path
import sys
from typing import Any, Final

from .devices import Account
from .house import PairedDevice

_ROOT: Final = Path(__file__).parent.parent
_MAX_LINE: Final = 1 << 22
_COMMAND_SECONDS: Final = 180
_PLAY_SECONDS: Final = 60
_END_SECONDS: Final = 10


class Fleet:
    """Sends commands to the process, one at a time. Raises `RuntimeError` for failures there."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        """Use a running process that serves commands."""
        self._process = process

    async def boot(self, url: str, devices: Sequence[PairedDevice], **impairment: float) -> None:
        """Switch devices on, at the same time; `impairment` holds the fields of `UdpImpairment`."""
        who = [{"mac": device.mac, "client_id": device.client_id} for device in devices]
        await self.do("boot", url=url, devices=who, impairment=impairment)

    async def converse(self, texts: Sequence[str], *, later: float = 0.0) -> list[Account]:
        """Wake a device for each text and say it, all at once; return their measurements.

        The voices begin so many seconds later than the microphones: words end anywhere in a packet.
        """
        accounts = await self.do("converse", texts=list(texts), later=later)
        return [Account(**account) for account in accounts]

    async def say_recording(self, file: Path, end: float) -> Account:
        """Play a file of 16 kHz mono 16-bit PCM to the first device, and hear the answer to it.

        `end` is when its speech ends, in seconds.
        """
        return Account(**await self.do("say_recording", file=str(file), end=end))

    async def play(self, files: Sequence[str]) -> list[str]:
        """Play files of 16 kHz mono 16-bit PCM, each to a device, and return what is understood."""
        heard: list[str] = await self.do("play", patience=_PLAY_SECONDS * len(files), files=list(files))
        return heard

    async def power_off(self) -> None:
        """Switch all off."""
        await self.do("power_off")

    async def do(self, command: str, *, patience: float = _COMMAND_SECONDS, **arguments: Any) -> Any:
        """Execute a command within `patience` seconds, and return its result."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": command, **arguments}).encode() + b"\n")
        async with asyncio.timeout(patience):
            await self._process.stdin.drain()
            line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the devices' process has ended during {command}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{command}: {answer['error']}")
        return answer["result"]


@asynccontextmanager
async def fleet(module: str = "benchmarks.devices") -> AsyncGenerator[Fleet]:
    """Run a process for devices; `module` is what it runs."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        cwd=_ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_MAX_LINE,
    )
    assert process.stdin is not None
    try:
        yield Fleet(process)
    finally:
        # The end of its input ends it, also when this process is killed.
        process.stdin.close()
        try:
            async with asyncio.timeout(_END_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
