"""The resources of a device whose updates are events."""

from typing import Final

from homeassistant.core import HomeAssistant
from homeassistant.util.hass_dict import HassKey

from ..const import DOMAIN
from ..device.device import Device
from ..errors import InputError
from ..protocol.mcp.client import McpClient
from ..protocol.mcp.model import McpCallError

MAX_FOLLOWED: Final = 32

_FOLLOWED: Final[HassKey[dict[str, FollowedResources]]] = HassKey(f"{DOMAIN}_followed_resources")
"""By MAC."""


class FollowedResources:
    """Subscribes to resources of one device, again on each new link.

    The device reports their updates, which become events like all its notifications.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._uris: set[str] = set()
        device.handshake_steps.append(self._subscribe_again)
        device.hass.data.setdefault(_FOLLOWED, {})[device.mac] = self

    async def follow(self, mcp: McpClient, uri: str, *, wanted: bool) -> None:
        """Begin or end to follow a resource. Raises `InputError` and `McpError`."""
        if not wanted:
            self._uris.discard(uri)
            await mcp.request("resources/unsubscribe", {"uri": uri})
            return
        if len(self._uris | {uri}) > MAX_FOLLOWED:
            raise InputError("too_many_followed", name=self._device.name, limit=str(MAX_FOLLOWED))
        await mcp.request("resources/subscribe", {"uri": uri})
        self._uris.add(uri)

    async def _subscribe_again(self, mcp: McpClient) -> None:
        for uri in sorted(self._uris):
            try:
                await mcp.request("resources/subscribe", {"uri": uri})
            except McpCallError:
                # Other firmware, which does not have this resource.
                self._uris.discard(uri)


def followed_resources(hass: HomeAssistant, device: Device) -> FollowedResources:
    """Return the followed resources of a device."""
    return hass.data[_FOLLOWED][device.mac]
