"""How long the far side waits, in seconds of the event loop's clock."""

from dataclasses import dataclass, fields
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds of the event loop's clock, which may be a virtual one. See section 4 of the reference."""

    answer: float = 10
    """For a reply to `initialize`, `tools/list` and `ping`."""
    ping: float = 60
    """From one JSON-RPC `ping` of the cloud to the next."""
    call: float = 300
    """For a reply to `tools/call` in the cloud; it was 10 until the summer of 2026."""
    agent_call: float = 30
    """For a reply to `tools/call` with a self-hosted agent."""
    keepalive: float = 20
    """Between WebSocket pings of a self-hosted server, and for the pong."""
    close: float = 20
    """For the answer to a self-hosted server's close frame; meanwhile it forwards nothing."""

    def scaled(self, factor: float) -> Self:
        """Return the same with every duration multiplied."""
        return type(self)(**{field.name: factor * getattr(self, field.name) for field in fields(self)})
