"""Resources that are followed: the device reports their updates, which become events."""

from functools import partial
from typing import Final

from homeassistant.core import callback

from ...device.device import Device
from ...errors import InputError
from ...protocol.json_rpc import INVALID_PARAMS, METHOD_NOT_FOUND
from ...protocol.mcp.client import McpClient
from ...protocol.mcp.model import RESOURCE_NOT_FOUND, McpCallError, McpError

MAX_FOLLOWED: Final = 32
_GONE: Final = frozenset({INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND})


@callback
def async_follow_again(device: Device) -> None:
    """Subscribe on each new link to the resources that are followed.

    The device reports their updates, which become events like all its notifications.
    """
    device.handshake.steps.append(partial(_subscribe_again, device))


async def _subscribe_again(device: Device, mcp: McpClient) -> None:
    """Subscribe to all resources that are followed. Raises `McpError` if some are to be tried again."""
    refusal: McpCallError | None = None
    for uri in device.state.followed:
        try:
            await mcp.request("resources/subscribe", {"uri": uri})
        except McpCallError as err:
            if err.code in _GONE:
                # Other firmware, which does not have this resource.
                _remember(device, uri, followed=False)
            else:
                refusal = err
    if refusal is not None:
        raise McpError(f"a resource is refused for now: {refusal}")


async def follow(device: Device, mcp: McpClient, uri: str, *, wanted: bool) -> None:
    """Begin or end to follow a resource. Raises `InputError` and `McpError`."""
    if not wanted:
        _remember(device, uri, followed=False)
        await mcp.request("resources/unsubscribe", {"uri": uri})
        return
    if len({*device.state.followed, uri}) > MAX_FOLLOWED:
        raise InputError("too_many_followed", name=device.name, limit=str(MAX_FOLLOWED))
    await mcp.request("resources/subscribe", {"uri": uri})
    _remember(device, uri, followed=True)


@callback
def _remember(device: Device, uri: str, *, followed: bool) -> None:
    others = (known for known in device.state.followed if known != uri)
    device.record.update(followed=(*others, uri) if followed else tuple(others))
