"""The error that ends the demo."""

__all__ = ["DemoError"]


class DemoError(Exception):
    """The demo cannot continue; the text tells the user why."""
