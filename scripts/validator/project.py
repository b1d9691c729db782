"""The repository to check."""

import ast
from functools import cached_property
import json
from pathlib import Path
from typing import Any

import yaml

from .strings import Code

type JsonObject = dict[str, Any]


class Project:
    """A repository with one integration. Missing or broken files count as empty."""

    def __init__(self, root: Path) -> None:
        """Read the integration's files."""
        self.root = root
        self.broken: list[str] = []
        self.integration = min(root.glob("custom_components/[a-z]*"), default=root / "custom_components")
        self.english = self.integration / "translations" / "en.json"
        self.texts = self.read(self.english)
        self.icons = self.read(self.integration / "icons.json")
        self.services = self.read(self.integration / "services.yaml")

    @cached_property
    def code(self) -> Code:
        """All modules of the integration."""
        modules = {}
        for path in sorted(self.integration.rglob("*.py")):
            parts = path.relative_to(self.root).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            try:
                modules[name] = ast.parse(path.read_text(), str(path.relative_to(self.root)))
            except SyntaxError as err:
                self.broken.append(self.fault(path, f"is not Python: {err}"))
        return Code(modules)

    def fault(self, path: Path, text: str) -> str:
        """Return a fault of a file."""
        return f"{path.relative_to(self.root)}: {text}"

    def read(self, path: Path) -> JsonObject:
        """Read an object from JSON or YAML."""
        try:
            content = path.read_text() if path.is_file() else "{}"
            value = json.loads(content) if path.suffix == ".json" else yaml.safe_load(content)
        except (ValueError, yaml.YAMLError) as err:
            self.broken.append(self.fault(path, f"cannot be read: {err}"))
            return {}
        return value if isinstance(value, dict) else {}


def at(value: Any, *keys: str) -> JsonObject:
    """Return the object at the end of a path of keys; an empty one where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
