"""Reads the integration's Python code, and Home Assistant's where it leads there."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Final

import homeassistant

from .project import Project

type Function = ast.FunctionDef | ast.AsyncFunctionDef
type Found = tuple[Module, ast.AST]

_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_MAX_IMPORTS: Final = 12
"""How many modules a name is followed through."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Module:
    """A parsed file."""

    name: str
    """As it is imported, from the root."""
    path: Path
    tree: ast.Module
    parents: Mapping[ast.AST, ast.AST]

    @property
    def package(self) -> str:
        """Where its relative imports begin."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield what a node is in, from the inside out."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def functions_of(self, node: ast.AST) -> list[Function]:
        """Return the functions that a node is in, from the inside out."""
        return [above for above in self.above(node) if isinstance(above, _FUNCTIONS)]

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """Return the class that a node is in."""
        return next((above for above in self.above(node) if isinstance(above, ast.ClassDef)), None)


def parse(name: str, path: Path) -> Module:
    """Parse a file.

    Raises:
        SyntaxError: it is not Python.
    """
    tree = ast.parse(path.read_text(), str(path))
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    return Module(name=name, path=path, tree=tree, parents=parents)


@cache
def _library(name: str) -> Module | None:
    """Return a module of Home Assistant."""
    top, *rest = name.split(".")
    if top != "homeassistant":
        return None
    base = Path(homeassistant.__file__).parent.joinpath(*rest)
    path = next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)
    return parse(name, path) if path else None


def last_name(node: ast.AST) -> str:
    """Return the last part of a dotted name: `c` for `a.b.c`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return last_name(value)
    return ""


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """Return what a call passes by this name."""
    return next((item.value for item in call.keywords if item.arg == name), None)


def imported_module(module: Module, node: ast.ImportFrom) -> str:
    """Return the absolute name of the module that `from ... import` reads."""
    if not node.level:
        return node.module or ""
    base = module.package.split(".")
    base = base[: len(base) - node.level + 1]
    return ".".join([*base, *([node.module] if node.module else [])])


def members(node: ast.ClassDef) -> dict[str, str]:
    """Return the members of a string enumeration with their values."""
    result = {}
    for item in node.body:
        match item:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(value))):
                result[name] = value
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func)):
                if last_name(func) == "auto":
                    result[name] = name.lower()
    return result


def assigned(node: ast.AST, name: str) -> ast.expr | None:
    """Return what a statement assigns to a name."""
    match node:
        case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
            return value
        case ast.AnnAssign(target=ast.Name(id=target), value=value) if target == name:
            return value
        case ast.NamedExpr(target=ast.Name(id=target), value=value) if target == name:
            return value
    return None


class Code:
    """All modules of the integration."""

    def __init__(self, project: Project) -> None:
        """Parse the integration. Broken files are left out and reported."""
        self.modules: dict[str, Module] = {}
        for path in sorted(project.integration.rglob("*.py")):
            parts = path.relative_to(project.root).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            try:
                self.modules[name] = parse(name, path)
            except SyntaxError as err:
                project.broken.append(project.problem(path, f"is not Python: {err.msg}", err.lineno))

    @cached_property
    def calls(self) -> Mapping[str, list[tuple[Module, ast.Call]]]:
        """All calls of the integration by the last part of what they call."""
        result: dict[str, list[tuple[Module, ast.Call]]] = {}
        for module in self.modules.values():
            for node in ast.walk(module.tree):
                if isinstance(node, ast.Call):
                    result.setdefault(last_name(node.func), []).append((module, node))
        return result

    @cached_property
    def classes(self) -> list[tuple[Module, ast.ClassDef]]:
        """All classes of the integration."""
        return [
            (module, node)
            for module in self.modules.values()
            for node in ast.walk(module.tree)
            if isinstance(node, ast.ClassDef)
        ]

    def module(self, name: str) -> Module | None:
        """Return a module of the integration or of Home Assistant."""
        return self.modules.get(name) or _library(name)

    def definition(self, module: Module, name: str, depth: int = 0) -> Found | None:
        """Find what a module-level name stands for: a class, a function or the value assigned last."""
        found: Found | None = None
        for node in module.tree.body:
            match node:
                case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef() if node.name == name:
                    found = module, node
                case ast.ImportFrom(names=names) if depth < _MAX_IMPORTS:
                    original = next((item.name for item in names if name == (item.asname or item.name)), None)
                    if original and (source := self.module(imported_module(module, node))):
                        found = self.definition(source, original, depth + 1)
                case _ if value := assigned(node, name):
                    found = module, value
        return found

    def ancestry(self, module: Module, node: ast.ClassDef) -> frozenset[str]:
        """Return the names of a class, of its bases, and of theirs as far as they are the integration's."""
        names = {node.name}
        for base in node.bases:
            names.add(last_name(base))
            match self.definition(module, last_name(base)):
                case (source, ast.ClassDef() as parent) if source.name in self.modules and parent is not node:
                    names |= self.ancestry(source, parent)
        return frozenset(names)
