"""Why the demo cannot go on."""

__all__ = ["DemoError"]


class DemoError(Exception):
    """Something that the demo needs does not work; the text says what, for the person at the terminal."""
