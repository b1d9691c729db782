"""References within a JSON schema (`$ref`). No address is ever fetched."""

from typing import Any, Final

from ..messages import JsonObject

MAX_SCHEMA: Final = 8192
"""Characters of a schema as the device sends it."""
# A schema without references always fits.
_MAX_RESOLVED: Final = 2 * MAX_SCHEMA
_MAX_DEPTH: Final = 32


def resolved(schema: JsonObject) -> JsonObject:
    """Return a schema with its own parts in the place of references to them.

    A reference that is circular or leads elsewhere means anything, and so does what is nested too deep or
    makes the whole too large.
    """
    whole = {key: part for key, part in schema.items() if key not in {"$defs", "definitions"}}
    return dict(_Resolver(schema).resolve(whole))


class _Resolver:
    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._room = _MAX_RESOLVED
        """Characters that are left."""

    def resolve(self, part: Any, depth: int = 0, entered: frozenset[str] = frozenset("#")) -> Any:
        """Return a part; `entered` are the references that it lies in."""
        self._room -= 2 + (len(part) if isinstance(part, str) else 0)
        if isinstance(part, list):
            return [self.resolve(each, depth + 1, entered) for each in part] if depth < _MAX_DEPTH else []
        if not isinstance(part, dict):
            return part
        if self._room < 0 or depth >= _MAX_DEPTH:
            return {}
        while isinstance(reference := part.get("$ref"), str):
            found = {} if reference in entered else self._find(reference)
            entered |= {reference}
            part = found | {key: member for key, member in part.items() if key != "$ref"}
        self._room -= sum(map(len, part))
        return {key: self.resolve(member, depth + 1, entered) for key, member in part.items()}

    def _find(self, reference: str) -> JsonObject:
        found: Any = self._root
        start, *names = reference.split("/")
        for name in names:
            key = name.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, dict) else None
        return found if start == "#" and isinstance(found, dict) else {}
