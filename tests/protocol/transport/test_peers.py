"""Which addresses count as those of the home network."""

import pytest

from custom_components.xiaozhi.protocol.transport.local_network import is_local

HOME = ("127.0.0.1", "127.0.0.2", "10.1.2.3", "172.16.0.9", "192.168.178.20", "169.254.7.7", "fd00::1", "::1")
AWAY = (
    "8.8.8.8",
    "172.32.0.1",
    "192.169.0.1",
    "100.64.0.1",
    "0.0.0.0",
    "2001:4860::8888",
    "",
    "home",
    "1.2.3",
)


@pytest.mark.parametrize("address", [*HOME, *AWAY])
def test_who_is_at_home_is_heard_and_nobody_else(address: str) -> None:
    assert is_local(address) is (address in HOME)
