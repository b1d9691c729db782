"""Imports all modules of the integration anew, without a name of Home Assistant, for each name in turn.

`python -m tests.rules.imports_anew` prints what cannot be imported then, as JSON by name. Each import is in a
process of its own, in which Home Assistant is imported already.
"""

import importlib
import json
import os
import sys
from typing import Any

from tests.rules.test_missing_names import PACKAGE, graph, needed


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


def lost() -> list[str]:
    """Return the modules that cannot be imported; "" is the integration."""
    found = []
    for module in graph():
        try:
            importlib.import_module(module)
        except Exception:  # noqa: BLE001 - whatever it is, the module is lost
            found.append(module.removeprefix(PACKAGE).removeprefix("."))
    return found


def in_another_process(name: str) -> list[str]:
    """Return the modules that are lost without a name."""
    reader, writer = os.pipe()
    if not os.fork():
        with os.fdopen(writer, "w") as pipe:
            take_away(name)
            json.dump(lost(), pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        return list(json.load(pipe))


if __name__ == "__main__":
    if broken := lost():
        sys.exit(f"not even with all names: {broken}")
    for each in [each for each in sys.modules if each.startswith(PACKAGE)]:
        del sys.modules[each]
    names = sys.argv[1:] or sorted(needed())
    json.dump({name: in_another_process(name) for name in names}, sys.stdout)
