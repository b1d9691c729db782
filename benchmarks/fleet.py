"""Groups of devices in processes of their own, so that their work is not counted as Home Assistant's."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
import traceback
from typing import Any, Concatenate

from custom_components.xiaozhi.protocol.transport.link import LinkKind

from .devices import DeviceGroup
from .house import House, Site


class Fleet[Group]:
    """A group in another process. One method of it is called at a time."""

    def __init__(self, connection: Connection) -> None:
        """Use a connection with the process."""
        self._connection = connection

    async def do[**Arguments, Result](
        self,
        method: Callable[Concatenate[Group, Arguments], Awaitable[Result]],
        *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> Result:
        """Call a method of the group. Raises `RuntimeError` for all that it raises."""
        self._connection.send((method, arguments, named))
        result: Any = await asyncio.to_thread(self._connection.recv)
        if isinstance(result, RuntimeError):
            raise result
        return result  # type: ignore[no-any-return]


@asynccontextmanager
async def fleet[Group](make: Callable[[], Group]) -> AsyncGenerator[Fleet[Group]]:
    """Run a process with a group, which `make` makes there."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(make, theirs), daemon=True)
    await asyncio.to_thread(process.start)
    theirs.close()
    try:
        yield Fleet(ours)
    finally:
        process.terminate()
        await asyncio.to_thread(process.join)
        ours.close()


@asynccontextmanager
async def linked(
    house: House, count: int, link: LinkKind, *, loss: float = 0
) -> AsyncGenerator[tuple[Site, Fleet[DeviceGroup]]]:
    """Pair devices, which lose so many per cent of their packets, and have them switched on for the block."""
    async with fleet(DeviceGroup) as devices, house.site(count, link) as site:
        await devices.do(DeviceGroup.boot, house.check_in_url, site.devices, loss)
        yield site, devices
        await devices.do(DeviceGroup.power_off)


def _run(make: Callable[[], object], connection: Connection) -> None:
    asyncio.run(_serve(make(), connection))


async def _serve(group: object, connection: Connection) -> None:
    """Call methods of the group until the other process closes the connection, or has ended."""
    with suppress(EOFError):
        while True:
            method, arguments, named = await asyncio.to_thread(connection.recv)
            try:
                result = await method(group, *arguments, **named)
            except Exception as err:  # noqa: BLE001 - the other process must hear of any failure
                traceback.print_exc()
                result = RuntimeError(f"{method.__name__}: {err!r}")
            connection.send(result)
