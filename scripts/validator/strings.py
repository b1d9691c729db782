"""Finds strings in the integration's code, and the possible values of expressions."""

import ast
from collections.abc import Iterator, Mapping
from functools import cached_property
import re

from homeassistant import const

type Function = ast.FunctionDef | ast.AsyncFunctionDef

_MAX_DEPTH = 6
"""Longest chain of names, tables and helpers to follow."""


def last_name(node: ast.AST) -> str:
    """Return the last part of a dotted name: `c` for `a.b.c`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """Return the keyword argument of a call."""
    return next((item.value for item in call.keywords if item.arg == name), None)


class Code:
    """All modules of the integration. A constant may have any value that a module assigns to its name."""

    def __init__(self, modules: Mapping[str, ast.Module]) -> None:
        """Take parsed modules by their full names."""
        self.modules = modules
        self._parents = {child: node for node in self.walk() for child in ast.iter_child_nodes(node)}

    def walk(self) -> Iterator[ast.AST]:
        """Yield all nodes of all modules."""
        for tree in self.modules.values():
            yield from ast.walk(tree)

    @cached_property
    def calls(self) -> list[ast.Call]:
        """All calls."""
        return [node for node in self.walk() if isinstance(node, ast.Call)]

    @cached_property
    def _assigned(self) -> dict[str, list[ast.expr]]:
        result: dict[str, list[ast.expr]] = {}
        for node in self.walk():
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    result.setdefault(name, []).append(value)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    result.setdefault(name, []).append(value)
        return result

    @cached_property
    def literals(self) -> frozenset[str]:
        """All strings of the code, and those that `auto()` makes of the names in an enumeration."""
        found = {
            node.value
            for node in self.walk()
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        for node in self.walk():
            if isinstance(node, ast.ImportFrom) and node.module == const.__name__:
                found |= {str(getattr(const, alias.name)) for alias in node.names}
        automatic = (
            name
            for name, values in self._assigned.items()
            if any(isinstance(value, ast.Call) and last_name(value.func) == "auto" for value in values)
        )
        return frozenset(found | {name.lower() for name in automatic})

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        """Patterns of the f-strings with a useful fixed part."""
        result = []
        for node in self.walk():
            if isinstance(node, ast.JoinedStr):
                parts = [part.value if isinstance(part, ast.Constant) else None for part in node.values]
                if re.fullmatch(r"[a-z0-9_]{3,}", "".join(part for part in parts if isinstance(part, str))):
                    result.append(
                        re.compile("".join(".+" if part is None else re.escape(str(part)) for part in parts))
                    )
        return result

    def mentions(self, key: str) -> bool:
        """Whether a string of the code is this key, or an f-string could become this key."""
        return key in self.literals or any(pattern.fullmatch(key) for pattern in self._patterns)

    def strings(self, node: ast.AST | None, depth: int = _MAX_DEPTH) -> frozenset[str]:
        """Return the possible strings of an expression, if known."""
        inner: list[ast.AST] = []
        match node:
            case ast.Constant(value=str(value)):
                return frozenset({value})
            case ast.IfExp(body=body, orelse=other):
                inner = [body, other]
            case ast.NamedExpr(value=value):
                inner = [value]
            case ast.Subscript(value=ast.Name(id=table)):
                tables = (value for value in self._assigned.get(table, []) if isinstance(value, ast.Dict))
                inner = [value for table in tables for value in table.values]
            case ast.Attribute(attr=name) if name.isupper():
                inner = [*self._assigned.get(name, [])]
            case ast.Name(id=name):
                inner = [*self._meanings(node, name)]
        if not depth:
            return frozenset()
        return frozenset[str]().union(*(self.strings(value, depth - 1) for value in inner))

    def keys(self, node: ast.AST | None) -> frozenset[str] | None:
        """Return the keys of a mapping; None if unknown."""
        match node:
            case None:
                return frozenset()
            case ast.Dict(keys=keys, values=values):
                parts = [
                    self.keys(value) if key is None else self.strings(key) or None
                    for key, value in zip(keys, values, strict=True)
                ]
                known = [part for part in parts if part is not None]
                return frozenset[str]().union(*known) if len(known) == len(parts) else None
            case ast.Name(id=name) if function := self._function(node):
                values = [
                    item.value
                    for item in ast.walk(function)
                    if isinstance(item, ast.Assign) and last_name(item.targets[0]) == name
                ]
                return self.keys(values[0]) if len(values) == 1 else None
        return None

    def _meanings(self, node: ast.AST, name: str) -> Iterator[ast.expr]:
        """Yield the possible values of a name: arguments of calls for a parameter, or assigned values."""
        function = self._function(node)
        arguments = function.args if function else ast.arguments([], [], None, [], [], None, [])
        positional = [item.arg for item in (*arguments.posonlyargs, *arguments.args)]
        if function is None or name not in (*positional, *(item.arg for item in arguments.kwonlyargs)):
            inside = ast.walk(function) if function and name.islower() else ()
            local = [
                node.value
                for node in inside
                if isinstance(node, ast.Assign) and last_name(node.targets[0]) == name
            ]
            yield from local or (() if name.islower() else self._assigned.get(name, []))
            return
        method = positional[:1] in (["self"], ["cls"])
        owner = self._parents.get(function)
        called = (
            owner.name if isinstance(owner, ast.ClassDef) and function.name == "__init__" else function.name
        )
        for call in self.calls:
            if last_name(call.func) == called:
                by_place = dict(zip(positional[method:], call.args, strict=False))
                if value := keyword(call, name) or by_place.get(name):
                    yield value

    def _function(self, node: ast.AST) -> Function | None:
        while (parent := self._parents.get(node)) is not None:
            if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
                return parent
            node = parent
        return None
