"""Probes in a separate process whether loading the model of speech would end the process."""

import asyncio
from contextlib import suppress
from importlib import util
from pathlib import Path
import signal
import sys

from . import silero
from .silero import PROBE_WORKS, SILERO_PACKAGE, ModelUnavailable


def find_model() -> str:
    """Return the folder from which the package would be loaded, without loading it.

    Reads files: call it outside the event loop. Raises `ModelUnavailable`.
    """
    try:
        spec = util.find_spec(SILERO_PACKAGE)
    except ValueError:
        spec = None
    if spec is None or spec.origin is None:
        raise ModelUnavailable(f"{SILERO_PACKAGE} is not installed")
    return str(Path(spec.origin).parent.parent)


async def probe(folder: str, limit: float) -> None:
    """Load the package of a folder and run it, in a process that has ended when this returns.

    It may take `limit` seconds. Raises `ModelUnavailable`.
    """
    if not sys.executable:
        raise ModelUnavailable("it is not known which program runs Home Assistant's Python")
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            # Only Python's own modules and those of the folder can be imported.
            "-IS",
            silero.__file__,
            folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except (OSError, ValueError) as err:
        raise ModelUnavailable(f"{SILERO_PACKAGE} cannot be tried: {err}") from err
    try:
        async with asyncio.timeout(limit):
            status = await process.wait()
    except TimeoutError as err:
        raise ModelUnavailable(f"{SILERO_PACKAGE} was tried and did not end in {limit:g} seconds") from err
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if status != PROBE_WORKS:
        raise ModelUnavailable(f"{SILERO_PACKAGE} was tried and ended with {_status_text(status)}")


def _status_text(status: int) -> str:
    if status == -signal.SIGILL:
        return "an illegal instruction: it is made for newer processors"
    return f"signal {-status}" if status < 0 else f"exit status {status}"
