"""The integration's files, and the strings of its code."""

import ast
from functools import cached_property
import json
from pathlib import Path
import re
from typing import Any, Final

from homeassistant import const
import yaml

type JsonObject = dict[str, Any]

_KEY_PART: Final = re.compile(r"[a-z0-9_]{3,}")


class Project:
    """A repository with one integration. Missing files count as empty."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.integration = min(root.glob("custom_components/[a-z]*"), default=root / "custom_components")
        self.english = self.integration / "translations" / "en.json"
        self.texts = self.read(self.english)
        self.icons = self.read(self.integration / "icons.json")

    def read(self, path: Path) -> JsonObject:
        """Read an object from JSON or YAML. Raises `ValueError` or `YAMLError` if it is damaged."""
        if not path.is_file():
            return {}
        value = json.loads(path.read_text()) if path.suffix == ".json" else yaml.safe_load(path.read_text())
        return value if isinstance(value, dict) else {}

    def fault(self, path: Path, text: str) -> str:
        """Return a fault of a file."""
        return f"{path.relative_to(self.root)}: {text}"

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All syntax nodes of the integration."""
        modules = (ast.parse(path.read_text()) for path in sorted(self.integration.rglob("*.py")))
        return [node for module in modules for node in ast.walk(module)]

    @cached_property
    def _strings(self) -> frozenset[str]:
        """All strings of the code, among them names of functions and of members of enumerations."""
        found: set[str] = set()
        for node in self.nodes:
            match node:
                case ast.Constant(value=str(value)):
                    found.add(value)
                case ast.AsyncFunctionDef(name=name):
                    found.add(name.removeprefix("async_step_"))
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="auto"))):
                    found.add(name.lower())
                case ast.ImportFrom(module=const.__name__, names=names):
                    found |= {str(getattr(const, alias.name)) for alias in names}
        return frozenset(found)

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        """Patterns of the f-strings that have a fixed part."""
        result = []
        for node in self.nodes:
            if isinstance(node, ast.JoinedStr):
                parts = [str(part.value) if isinstance(part, ast.Constant) else None for part in node.values]
                if _KEY_PART.fullmatch("".join(filter(None, parts))):
                    result.append(re.compile("".join(".+" if part is None else part for part in parts)))
        return result

    def mentions(self, key: str) -> bool:
        """Whether a string of the code is this key, or an f-string could become this key."""
        return key in self._strings or any(pattern.fullmatch(key) for pattern in self._patterns)


def at(value: Any, *keys: str) -> JsonObject:
    """Return the object at the end of a path of keys; an empty one where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
