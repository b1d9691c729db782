"""Home Assistant as a later release may be: only calls of this integration are refused."""

from collections.abc import Callable
import inspect
import sys
from typing import Any

import pytest

type Change = Callable[[pytest.MonkeyPatch], None]


def is_ours() -> bool:
    """Whether the integration calls the function that asks."""
    return bool(sys._getframe(2).f_globals["__name__"].startswith("custom_components."))


def wrapped(before: Any, called: Callable[[tuple[Any, ...], dict[str, Any]], None]) -> Any:
    """Return a function or class like `before`, whose calls by the integration pass through `called`."""

    def call(*args: Any, **named: Any) -> Any:
        if is_ours():
            called(args, named)
        return before(*args, **named)

    def create(self: Any, *args: Any, **named: Any) -> None:
        if is_ours():
            called(args, named)
        before.__init__(self, *args, **named)

    return type(before.__name__, (before,), {"__init__": create}) if inspect.isclass(before) else call


def refuses(
    where: Any, name: str, *also: Any, without: str = "", more: str = "", says_so: bool = True
) -> Change:
    """Return a change: something knows an argument no more, or needs another; its signature says so."""

    def check(_: tuple[Any, ...], named: dict[str, Any]) -> None:
        if more or without in named:
            raise TypeError(f"{name} has changed")

    def change(monkeypatch: pytest.MonkeyPatch) -> None:
        before = getattr(where, name)
        changed = wrapped(before, check)
        if says_so:
            known = [each for each in inspect.signature(before).parameters.values() if each.name != without]
            needed = [inspect.Parameter(more, inspect.Parameter.KEYWORD_ONLY)] if more else []
            changed.__signature__ = inspect.Signature([*known, *needed])
        for each in (where, *also):
            monkeypatch.setattr(each, name, changed)

    return change
