"""How long things may take on the connection to an access point."""

from dataclasses import dataclass

__all__ = ["AccessPointTimeouts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPointTimeouts:
    """Time-outs and pauses of an access point, in seconds."""

    open: float = 10
    """For the opening handshake, TLS and the look-up of the name included."""
    close: float = 3
    """For the closing handshake. Home Assistant waits ten seconds for all of an unloaded entry."""
    ping_interval: float = 20
    pong: float = 20
    """To answer a ping of ours."""
    hold: float = 3
    """For which a new address is tested: self-hosted servers accept any token, and refuse it after that."""
    listing: float = 8
    """To make the list of tools. The cloud waits 10 s for any answer."""
    call: float = 25
    """For an action, until the model is told that it is still running. Self-hosted servers wait 30 s."""
    quick_call: float = 8
    """The same for a cloud that has closed the connection because of a longer call."""
    impatient: float = 9
    """A connection that is closed while a call has taken so long was closed because of it."""
    finish: float = 300
    """For an action in all. Then it is cancelled."""
    first_retry: float = 1
    """Until the next attempt to connect. Each pause is twice as long as the one before."""
    restart: float = 60
    """For which a server that cannot be reached may be restarting: so long the pauses do not grow."""
    last_retry: float = 300
    """Between two attempts at most, and at once after a refusal."""
    steady: float = 60
    """A connection that has lasted so long is healthy: the pauses begin again with the shortest."""
    listed: float = 15
    """So long after a list of tools has been sent, the other side has accepted it."""
    half_open: float = 45
    """Until the next attempt after the network was lost. A self-hosted server that still believes in the old
    connection would otherwise stop for all its users (mcp-endpoint-server 0.0.6)."""
    first_self_test: float = 5
    """From the connection to the first test whether a self-hosted server still hands us requests."""
    second_self_test: float = 60
    """From the first to the second: when a server gives up an older connection, it may forget this one."""
    self_test: float = 600
    """Between two of these tests after that."""
    self_test_answer: float = 5
    """For our own answer to come back in such a test."""
    quiet: float = 60
    """Without calls, until a connection is renewed because the list of tools has changed."""
    changes: float = 10
    """Until the list of tools is made again after a change in the house: changes often come together."""
