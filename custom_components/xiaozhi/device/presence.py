"""Presence of a device: signs of it, and the silence after which the device counts as gone."""

import logging
from typing import TYPE_CHECKING, Final

from homeassistant.core import callback

from ..protocol.mcp.model import McpError, McpTimeoutError
from ..protocol.transport.link import LinkClosedError

if TYPE_CHECKING:
    from .link_session import LinkSession

_LOGGER = logging.getLogger(__name__)

# Polls in a row without an answer, after which a device on a broker counts as gone.
_UNANSWERED: Final = 2
# The same for one without tools: only in a conversation it shows that it is there.
_UNANSWERED_WITHOUT_TOOLS: Final = 10


class Presence:
    """Presence of a device, by what happens on one link.

    Our own listeners notice that a device is gone. A broker does not, and most deliver nothing to a device
    that never subscribes: there, only its answers show that messages reach it, and silence that it is gone.
    """

    def __init__(self, session: LinkSession) -> None:
        self._session = session
        self._link = session.link
        self._unanswered = 0
        firmware = session.device.state.firmware_version
        self._limit = _UNANSWERED if firmware is None or firmware.has_tools else _UNANSWERED_WITHOUT_TOOLS
        self._reached = False

    def begin(self, *, can_answer: bool) -> None:
        """Begin with a new link, over which the device may not be able to answer yet."""
        self._reached = self._link.notices_loss and can_answer

    @property
    def linked(self) -> bool:
        """Whether a message would arrive now. A WebSocket accepts messages only after both hellos."""
        return self._reached and (self._link.stays_connected or self._link.channel is not None)

    @callback
    def answered(self) -> None:
        """Note an answer, or something else that the device sends only after a message of ours."""
        self._unanswered = 0
        if not self._reached:
            self._reached = True
            self._session.show()

    async def not_answered(self) -> None:
        """Note a poll without an answer; the link ends after too many of them."""
        if self._link.notices_loss:
            return
        self._unanswered += 1
        if self._unanswered >= self._limit:
            await self._link.close("the device does not answer any more")

    async def ping(self) -> bool:
        """Return whether the device is there, by its answer where the link does not tell."""
        if self._link.notices_loss:
            return True
        try:
            await self._session.mcp.request("ping", {})
        except McpTimeoutError:
            return False
        except (McpError, LinkClosedError) as err:
            # Stock firmware does not know it, and says so.
            _LOGGER.debug("Pinged: %s", err)
        return True
