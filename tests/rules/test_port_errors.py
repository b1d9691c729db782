"""Why a port cannot be opened, in words of our own: those of the operating system are English."""

import errno

import pytest

from custom_components.xiaozhi.links.listeners import PortError


@pytest.mark.parametrize(
    ("number", "key"),
    [
        (errno.EADDRINUSE, "port_in_use"),
        (errno.EACCES, "port_not_allowed"),
        (errno.EPERM, "port_not_allowed"),
        (errno.ENOBUFS, "port_failed"),
    ],
)
def test_the_reason_is_a_translation(number: int, key: str) -> None:
    assert PortError(80, OSError(number, "no such luck")).key == key
