"""Imports the integration anew, without a name of Home Assistant, for each name in turn.

`python -m tests.rules.imports_anew` prints the names for which other modules are lost than the graph of
imports says. Each import is in a process of its own, in which Home Assistant is imported already.
"""

from collections.abc import Iterable
import importlib
import os
import sys
from typing import Any

from tests.rules.test_missing_names import PACKAGE, graph, lost_without, needed


def take_away(name: str) -> None:
    """Remove a module, a name of a module or a member of a class from Home Assistant, as it is imported."""
    owner, _, last = name.rpartition(".")
    if name in sys.modules:
        sys.modules[name] = None  # type: ignore[assignment] # the import system reads it as missing
        vars(sys.modules[owner]).pop(last, None)
        return
    if owner in sys.modules:
        delattr(sys.modules[owner], last)
        return
    module, _, of = owner.rpartition(".")
    kept = getattr(sys.modules[module], of)

    class Without:
        """The class without that member, which an enumeration does not let go."""

        def __getattr__(self, wanted: str) -> Any:
            if wanted == last:
                raise AttributeError(name)
            return getattr(kept, wanted)

        def __call__(self, *args: Any) -> Any:
            return kept(*args)

        def __iter__(self) -> Any:
            return iter(kept)

    setattr(sys.modules[module], of, Without())


def lost(modules: Iterable[str]) -> set[str]:
    """Return the modules that cannot be imported."""
    found = set()
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception:  # noqa: BLE001 - whatever it is, the module is lost
            found.add(module.removeprefix(PACKAGE).removeprefix("."))
    return found


def differs(name: str) -> bool:
    """Whether something else is lost without a name than the graph says; "" is the integration."""
    said = lost_without(name)
    # Without the integration, nothing else counts.
    whole = "" in said
    if child := os.fork():
        return os.waitpid(child, 0)[1] != 0
    take_away(name)
    found = lost([PACKAGE] if whole else graph())
    os._exit(found != ({""} if whole else said))


def main() -> int:
    """Compare all names, or those that are given, and print those that differ."""
    if broken := lost(graph()):
        sys.stdout.write(f"not even with all names: {broken}\n")
        return 1
    for each in [each for each in sys.modules if each.startswith(PACKAGE)]:
        del sys.modules[each]
    differing = [name for name in sys.argv[1:] or sorted(needed()) if differs(name)]
    sys.stdout.write("".join(f"{name}\n" for name in differing))
    return bool(differing)


if __name__ == "__main__":
    sys.exit(main())
