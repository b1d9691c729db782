"""The demo as a process. It and its children are found by a variable in their environment."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
import json
import os
from pathlib import Path
import subprocess
import sys
import time
import uuid

from demo.processes import ROOT

# On a machine with eight times as much to do as it can, a start has taken two minutes.
START_SECONDS = 300
_END_SECONDS = 60
MARK = "XIAOZHI_DEMO_TEST"
"""Variable of the environment by which processes are found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoProcess:
    """A demo, as `scripts/demo` starts it."""

    process: subprocess.Popen[str]
    folder: Path
    mark: str = field(repr=False)

    def where(self, what: str) -> str:
        """Return the address of Home Assistant, `url`, or of the page to `talk`."""
        url: str = json.loads((self.folder / "control.json").read_text())[what]
        return url

    def say(self, *arguments: str) -> str:
        """Say something as the user does, at another terminal; return what is printed."""
        return self.run("say", *arguments)

    def run(self, *arguments: str) -> str:
        """Run a command of the demo as the user does, at another terminal; return what is printed."""
        command = [sys.executable, "-m", "demo", "--folder", str(self.folder), *arguments]
        return subprocess.run(
            command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=200
        ).stdout

    def processes(self) -> dict[int, str]:
        """Return all processes of this demo that run: their ids and commands."""
        return marked_processes(self.mark)

    def wait_for(self, module: str) -> int:
        """Wait until a process of this demo runs a Python module, and return its id.

        Looked for again, a process that is just starting may not be readable.
        """
        deadline = time.monotonic() + START_SECONDS
        while not (found := [pid for pid, command in self.processes().items() if f"-m {module}" in command]):
            assert self.process.poll() is None, "the demo has ended"
            assert time.monotonic() < deadline, f"{module} does not start"
            time.sleep(0.1)
        return found[0]

    def wait_for_processes(self, number: int) -> None:
        """Wait until so many processes of this demo run. One that is just starting may not be readable."""
        deadline = time.monotonic() + START_SECONDS
        while len(running := self.processes()) != number:
            assert time.monotonic() < deadline, f"not {number} processes: {running}"
            time.sleep(0.1)

    def wait_gone(self) -> None:
        """Wait until no process is left."""
        wait_gone(self.mark)


def marked_processes(mark: str) -> dict[int, str]:
    """Return the processes that were started with this mark in their environment: ids and commands."""
    found: dict[int, str] = {}
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                found[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
    return found


def wait_gone(mark: str) -> None:
    """Wait until no process that was started with this mark is left: the kernel ends it a moment later."""
    deadline = time.monotonic() + _END_SECONDS
    while left := marked_processes(mark):
        assert time.monotonic() < deadline, f"still running: {left}"
        time.sleep(0.1)


@contextmanager
def started_demo(folder: Path, *arguments: str) -> Iterator[DemoProcess]:
    """Start a demo and end it afterwards."""
    mark = uuid.uuid4().hex
    process = subprocess.Popen(
        [sys.executable, "-m", "demo", "--small-speech", *arguments],
        cwd=ROOT,
        env=os.environ | {MARK: mark, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    demo = DemoProcess(process=process, folder=folder, mark=mark)
    with process:
        try:
            yield demo
        finally:
            process.terminate()
            process.wait(timeout=200)
            demo.wait_gone()
