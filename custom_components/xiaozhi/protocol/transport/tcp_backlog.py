"""Bytes on their way over TCP. Linux and macOS report them."""

import asyncio
import fcntl
import sys
import termios


def unacknowledged(transport: asyncio.WriteTransport) -> int:
    """Return how many bytes the other side's network has not acknowledged."""
    if transport.is_closing():
        return 0
    waiting = fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
    return transport.get_write_buffer_size() + int.from_bytes(waiting, sys.byteorder)
