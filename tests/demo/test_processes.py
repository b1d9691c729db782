"""What the demo needs to start its processes."""

from pathlib import Path
from socket import SOCK_DGRAM, SOCK_STREAM, SocketKind

import pytest

from demo.processes import free_port

RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


@pytest.mark.skipif(not RANGE.exists(), reason="this system does not tell which ports it gives away")
@pytest.mark.parametrize("transport", [SOCK_STREAM, SOCK_DGRAM])
def test_a_free_port_is_not_given_to_an_outgoing_connection(transport: SocketKind) -> None:
    """One that is could be taken while Home Assistant restarts."""
    first, last = map(int, RANGE.read_text().split())
    ports = [free_port(0, transport=transport) for _ in range(20)]
    assert [port for port in ports if first <= port <= last] == []
    assert free_port(ports[0], transport=transport) == ports[0]
