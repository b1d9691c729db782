"""The error that ends the demo."""

from collections.abc import Iterator
from contextlib import contextmanager

from simulator import ConversationError, DeviceCrashed


class DemoError(Exception):
    """The demo cannot continue; the text tells the user why."""


@contextmanager
def naming_fault(fault: str) -> Iterator[None]:
    """Raise a `DemoError` with this fault and its reason for what a simulated device raises."""
    try:
        yield
    except (ConversationError, DeviceCrashed, TimeoutError) as err:
        raise DemoError(f"{fault}: {err or 'it takes too long'}") from err
