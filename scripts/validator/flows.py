"""What the flows in the code ask of the texts: their steps, fields, errors and reasons to stop."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from .code import Module, keyword, last_name
from .uses import Uses
from .values import Scope

type Section = tuple[str, ...]
"""Where the texts of a flow are; `*` stands for each key there."""

REPAIRS: Final = ("issues", "*", "fix_flow")
_BASES: Final[dict[str, Section]] = {
    "ConfigFlow": ("config",),
    "OptionsFlow": ("options",),
    "OptionsFlowWithReload": ("options",),
    "RepairsFlow": REPAIRS,
    "ConfirmRepairFlow": REPAIRS,
}
_MAX_DEPTH: Final = 12
_STEP: Final = "async_step_"
_FORMS: Final = {"async_show_form", "async_show_menu", "async_show_progress", "async_external_step"}
_CONFIGURED: Final = {"_abort_if_unique_id_configured", "_async_abort_entries_match"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowUse:
    """A text that a flow asks for."""

    sections: frozenset[Section]
    """All of them need it; if there is none, one of the flows must have it."""
    kind: str
    """step, error, abort, progress or create_entry."""
    key: str
    path: Path
    line: int
    placeholders: frozenset[str] | None = None
    """What the code fills in; None if that cannot be told."""
    fields: frozenset[tuple[str, str]] = frozenset()
    """Of a step: what needs a text in it, as (data, menu_options or sections, key)."""


class Flows:
    """Collects from the flows of the integration."""

    def __init__(self, uses: Uses) -> None:
        """Read the flows of this code."""
        self._uses = uses
        self._code = uses.code
        self._values = uses.values
        self._project = uses.project

    @cached_property
    def subentry_types(self) -> dict[str, str]:
        """The types of subentries that can be added, with the names of their flows."""
        result: dict[str, str] = {}
        for module in self._code.modules.values():
            for node in ast.walk(module.tree):
                match node:
                    case ast.FunctionDef(name="async_get_supported_subentry_types"):
                        for table in (item for item in ast.walk(node) if isinstance(item, ast.Dict)):
                            for key, value in zip(table.keys, table.values, strict=True):
                                names = self._values.strings(Scope(module=module), key)
                                result |= dict.fromkeys(names, last_name(value))
        return result

    @cached_property
    def _sections(self) -> dict[str, frozenset[Section]]:
        """The sections of each class of the code: its own, and those of the flows that descend from it."""
        result: dict[str, set[Section]] = {}
        flows = {name: ("config_subentries", kind) for kind, name in self.subentry_types.items()}
        for module, node in self._code.classes:
            ancestry = self._code.ancestry(module, node)
            own = {_BASES[name] for name in ancestry if name in _BASES} | {
                flows[name] for name in ancestry & set(flows)
            }
            for name in ancestry:
                result.setdefault(name, set()).update(own)
        return {name: frozenset(sections) for name, sections in result.items()}

    @cached_property
    def steps(self) -> frozenset[str]:
        """All steps that the code has a method for, and that of repairs which only wait for a yes."""
        methods = (
            node.name
            for module in self._code.modules.values()
            for node in ast.walk(module.tree)
            if isinstance(node, ast.AsyncFunctionDef)
        )
        return frozenset(
            {"confirm", *(name.removeprefix(_STEP) for name in methods if name.startswith(_STEP))}
        )

    @cached_property
    def uses(self) -> list[FlowUse]:
        """All texts that flows ask for."""
        return [
            use
            for module in self._code.modules.values()
            for node in ast.walk(module.tree)
            for use in self._of_node(module, node)
        ]

    def _of_node(self, module: Module, node: ast.AST) -> Iterator[FlowUse]:
        match node:
            case ast.Call() if last_name(node.func) in _FORMS:
                yield from self._of_form(module, node)
            case ast.Call() if last_name(node.func) in _CONFIGURED:
                if keyword(node, "error") is None:
                    yield self._use(
                        module, node, "abort", "already_configured", self._placeholders(module, node)
                    )
            case ast.Call(args=[ast.expr() as reason, *_]) if last_name(node.func) == "AbortFlow":
                if keyword(node, "translation_domain") is None:
                    yield from self._of_values(module, node, "abort", reason)
            case ast.Call() if (
                "abort" in last_name(node.func) and keyword(node, "translation_domain") is None
            ):
                yield from self._of_values(module, node, "abort", keyword(node, "reason"))
                yield from self._of_values(module, node, "abort", keyword(node, "error"))
            case ast.Call() if last_name(node.func) == "async_create_entry":
                yield from self._of_values(module, node, "create_entry", keyword(node, "description"))
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id="errors"))], value=value):
                yield from self._of_values(module, node, "error", value)
            case (
                ast.Assign(targets=[ast.Name(id="errors")], value=value)
                | ast.AnnAssign(target=ast.Name(id="errors"), value=value)
            ):
                yield from self._of_errors(module, node, value)

    def _of_form(self, module: Module, call: ast.Call) -> Iterator[FlowUse]:
        step = keyword(call, "step_id")
        scope = Scope(module=module)
        names = self._values.strings(scope, step)
        if step is None:
            methods = [function.name for function in module.functions_of(call)]
            names = frozenset(
                name.removeprefix("async_step_") for name in methods if name.startswith("async_step_")
            )
        menu = self._values.items(scope, keyword(call, "menu_options"))
        fields = {("menu_options", name) for name in menu} | set(
            self._fields(scope, keyword(call, "data_schema"))
        )
        filled = self._placeholders(module, call)
        if filled is not None and "reauth_confirm" in names:
            filled |= {"name"}  # which Home Assistant gives to this step
        for name in names:
            yield self._use(module, call, "step", name, filled, frozenset(fields))
        yield from self._of_errors(module, call, keyword(call, "errors"))
        yield from self._of_values(module, call, "progress", keyword(call, "progress_action"))

    def _of_errors(self, module: Module, node: ast.AST, value: ast.expr | None) -> Iterator[FlowUse]:
        for table in [value] if isinstance(value, ast.Dict) else []:
            for error in table.values:
                yield from self._of_values(module, node, "error", error)

    def _of_values(
        self, module: Module, node: ast.AST, kind: str, value: ast.expr | None
    ) -> Iterator[FlowUse]:
        filled = self._placeholders(module, node) if isinstance(node, ast.Call) and kind == "abort" else None
        for reading in self._values.readings(module, node, [value]):
            for key in self._values.strings(reading.scope, value):
                yield self._use(module, node, kind, key, filled)

    def _placeholders(self, module: Module, call: ast.Call) -> frozenset[str] | None:
        return self._values.keys(Scope(module=module), keyword(call, "description_placeholders"))

    def _fields(self, scope: Scope, schema: ast.AST | None, depth: int = 0) -> Iterator[tuple[str, str]]:
        """Yield the fields that a form's schema is known to have."""
        inner: list[tuple[Scope, ast.AST | None]] = []
        match schema:
            case ast.Call(func=func, args=[ast.Dict(keys=keys, values=values)]) if (
                last_name(func) == "Schema"
            ):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Call) and key.args:
                        section = isinstance(value, ast.Call) and last_name(value.func) == "section"
                        for name in self._values.strings(scope, key.args[0]):
                            yield "sections" if section else "data", name
            case ast.Call(func=func, args=[first, *_]) if last_name(func) == "add_suggested_values_to_schema":
                inner = [(scope, first)]
            case ast.Call(func=ast.Name(id=name)):
                match self._code.definition(scope.module, name):
                    case (source, ast.FunctionDef() as function):
                        returns = (item for item in ast.walk(function) if isinstance(item, ast.Return))
                        inner = [(Scope(module=source), item.value) for item in returns]
            case ast.Name():
                inner = list(self._values.meanings(scope, schema))
        for where, meaning in inner if depth < _MAX_DEPTH else []:
            yield from self._fields(where, meaning, depth + 1)

    def _use(
        self,
        module: Module,
        node: ast.AST,
        kind: str,
        key: str,
        placeholders: frozenset[str] | None = None,
        fields: frozenset[tuple[str, str]] = frozenset(),
    ) -> FlowUse:
        owner = module.class_of(node)
        return FlowUse(
            sections=self._sections.get(owner.name, frozenset()) if owner else frozenset(),
            kind=kind,
            key=key,
            path=module.path,
            line=node.lineno if isinstance(node, ast.expr | ast.stmt) else 1,
            placeholders=placeholders,
            fields=fields,
        )
