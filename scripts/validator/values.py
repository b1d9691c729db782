"""Works out which strings an expression of the code can stand for, without running it."""

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from .code import Code, Function, Module, assigned, keyword, last_name, members

_MAX_CALLS: Final = 3
"""How many helpers a value is followed out of."""
_MAX_DEPTH: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Where an expression is read: its module, and what the parameters around it were called with."""

    module: Module
    arguments: Mapping[str, tuple[ast.expr, Scope]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One way to read an expression: its scope, and the place that decided what it stands for."""

    scope: Scope
    module: Module
    node: ast.AST


class Values:
    """Answers for the integration's code."""

    def __init__(self, code: Code) -> None:
        """Read this code."""
        self._code = code

    def readings(
        self, module: Module, node: ast.AST, parts: Iterable[ast.expr | None], calls: int = _MAX_CALLS
    ) -> list[Reading]:
        """Return how `parts` of a node are read: once, or once per call of the helper that is handed them."""
        plain = [Reading(scope=Scope(module=module), module=module, node=node)]
        function = next(iter(module.functions_of(node)), None)
        if function is None or not calls:
            return plain
        arguments = function.args
        parameters = {item.arg for item in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
        if arguments.kwarg:
            parameters.add(arguments.kwarg.arg)
        if not parameters & {
            item.id for part in parts if part for item in ast.walk(part) if isinstance(item, ast.Name)
        }:
            return plain
        owner = module.parents.get(function)
        constructs = isinstance(owner, ast.ClassDef) and function.name == "__init__"
        called = owner.name if isinstance(owner, ast.ClassDef) and constructs else function.name
        return [
            Reading(
                scope=Scope(module=module, arguments=_bind(module, function, call, outer.scope)),
                module=outer.module,
                node=outer.node,
            )
            for caller, call in self._code.calls.get(called, [])
            for outer in self.readings(
                caller, call, (*call.args, *(item.value for item in call.keywords)), calls - 1
            )
        ] or plain

    def strings(self, scope: Scope, node: ast.AST | None, depth: int = 0) -> frozenset[str]:
        """Return the strings that an expression is known to stand for; none if that cannot be told."""
        result: frozenset[str] = frozenset()
        inner: Iterable[tuple[Scope, ast.AST | None]] = ()
        if depth > _MAX_DEPTH:
            return result
        match node:
            case ast.Constant(value=str(value)):
                result = frozenset({value})
            case ast.IfExp(body=body, orelse=other):
                inner = ((scope, body), (scope, other))
            case ast.BoolOp(values=values):
                inner = ((scope, value) for value in values)
            case ast.NamedExpr(value=value) | ast.Attribute(value=value, attr="value"):
                inner = ((scope, value),)
            case ast.Subscript(value=ast.Name(id=table)):
                match self._code.definition(scope.module, table):
                    case (source, ast.Dict(values=values)):
                        inner = ((Scope(module=source), value) for value in values)
            case ast.Attribute(value=ast.Name(id=owner), attr=attribute):
                match self._code.definition(scope.module, owner):
                    case (_, ast.ClassDef() as found):
                        result = frozenset(
                            value for name, value in members(found).items() if name == attribute
                        )
                    case _:
                        rows = self._loop_items(scope, node, owner)
                        inner = (
                            (row, keyword(item, attribute))
                            for row, item in rows
                            if isinstance(item, ast.Call)
                        )
            case ast.Name():
                inner = self.meanings(scope, node)
        return result.union(*(self.strings(where, value, depth + 1) for where, value in inner))

    def keys(self, scope: Scope, node: ast.AST | None, depth: int = 0) -> frozenset[str] | None:
        """Return the keys of a mapping; None if they cannot be told."""
        parts: list[frozenset[str] | None] = [None]
        if depth > _MAX_DEPTH:
            return None
        match node:
            case None | ast.Constant(value=None):
                parts = []
            case ast.Dict(keys=keys, values=values):
                parts = [
                    self.keys(scope, value, depth + 1) if key is None else self.strings(scope, key) or None
                    for key, value in zip(keys, values, strict=True)
                ]
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                parts = [self.keys(scope, left, depth + 1), self.keys(scope, right, depth + 1)]
            case ast.Name():
                meanings = self.meanings(scope, node)
                parts = [self.keys(where, value, depth + 1) for where, value in meanings] or [None]
        known = [part for part in parts if part is not None]
        return frozenset[str]().union(*known) if len(known) == len(parts) else None

    def items(self, scope: Scope, node: ast.AST | None, depth: int = 0) -> frozenset[str]:
        """Return the strings in a list that are known: written out, or all members of an enumeration."""
        result: frozenset[str] = frozenset()
        inner: list[tuple[Scope, ast.AST]] = []
        if depth > _MAX_DEPTH:
            return result
        match node:
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                result = result.union(*(self.strings(scope, part) for part in parts))
                inner = [(scope, part.value) for part in parts if isinstance(part, ast.Starred)]
            case ast.ListComp(elt=ast.Name() | ast.Attribute(attr="value"), generators=[generator]):
                inner = [(scope, generator.iter)]
            case ast.Call(func=ast.Name(id="list" | "tuple" | "sorted"), args=[argument]):
                inner = [(scope, argument)]
            case ast.Dict(keys=keys):
                result = result.union(*(self.strings(scope, key) for key in keys))
            case ast.Name():
                inner = self.meanings(scope, node)
            case ast.ClassDef():
                result = frozenset(members(node).values())
        return result.union(*(self.items(where, value, depth + 1) for where, value in inner))

    def meanings(self, scope: Scope, node: ast.Name) -> list[tuple[Scope, ast.AST]]:
        """Return what a name may stand for, the nearest first: argument, local, loop, module."""
        if bound := scope.arguments.get(node.id):
            return [(bound[1], bound[0])]
        functions = scope.module.functions_of(node)
        inside = ast.walk(functions[-1]) if functions else ()
        if local := [value for item in inside if (value := assigned(item, node.id))]:
            return [(scope, value) for value in local]
        if rows := self._loop_items(scope, node, node.id):
            return list(rows)
        found = self._code.definition(scope.module, node.id)
        return [(Scope(module=found[0]), found[1])] if found else []

    def _loop_items(self, scope: Scope, node: ast.AST, name: str) -> list[tuple[Scope, ast.expr]]:
        """Return what a loop's name runs through, if that is a table of the module or written in place."""
        for above in scope.module.above(node):
            match above:
                case ast.For(target=target, iter=table):
                    loops = [(target, table)]
                case ast.ListComp(generators=generators) | ast.GeneratorExp(generators=generators):
                    loops = [(generator.target, generator.iter) for generator in generators]
                case _:
                    loops = []
            for target, table in loops:
                if rows := self._rows(scope, target, table, name):
                    return rows
        return []

    def _rows(
        self, scope: Scope, target: ast.expr, table: ast.AST, name: str
    ) -> list[tuple[Scope, ast.expr]]:
        names = (
            [last_name(item) for item in target.elts]
            if isinstance(target, ast.Tuple)
            else [last_name(target)]
        )
        if name not in names:
            return []
        if isinstance(table, ast.Call) and isinstance(table.func, ast.Attribute):
            table = table.func.value  # of .items()
        if isinstance(table, ast.Name) and (found := self._code.definition(scope.module, table.id)):
            scope, table = Scope(module=found[0]), found[1]
        column: list[ast.expr] = []
        match table:
            case ast.Dict(keys=keys, values=values):
                column = values if names.index(name) else [key for key in keys if key]
            case ast.Tuple(elts=rows) | ast.List(elts=rows) if len(names) == 1:
                column = rows
            case ast.Tuple(elts=rows) | ast.List(elts=rows):
                column = [row.elts[names.index(name)] for row in rows if isinstance(row, ast.Tuple)]
        return [(scope, item) for item in column]


def _bind(
    module: Module, function: Function, call: ast.Call, outer: Scope
) -> dict[str, tuple[ast.expr, Scope]]:
    """Return what the parameters of a function stand for in one call of it."""
    arguments = function.args
    positional = [parameter.arg for parameter in (*arguments.posonlyargs, *arguments.args)]
    static = any(last_name(decorator) == "staticmethod" for decorator in function.decorator_list)
    if isinstance(module.parents.get(function), ast.ClassDef) and not static:
        positional = positional[1:]
    named = {*positional, *(parameter.arg for parameter in arguments.kwonlyargs)}
    by_position = zip(reversed(positional), reversed(arguments.defaults), strict=False)
    by_name = zip((parameter.arg for parameter in arguments.kwonlyargs), arguments.kw_defaults, strict=True)
    own = Scope(module=module)
    bound = {name: (default, own) for name, default in (*by_position, *by_name) if default}
    bound |= {name: (value, outer) for name, value in zip(positional, call.args, strict=False)}
    bound |= {item.arg: (item.value, outer) for item in call.keywords if item.arg in named}
    if arguments.kwarg:
        rest = [item for item in call.keywords if item.arg not in named]
        names = [ast.Constant(item.arg) if item.arg else None for item in rest]
        bound[arguments.kwarg.arg] = (ast.Dict(keys=list(names), values=[item.value for item in rest]), outer)
    return bound
