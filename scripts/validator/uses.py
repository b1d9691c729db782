"""What the code asks of the texts: translation keys, and every string that could be one."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
import re
from typing import Final

from homeassistant.const import Platform

from .code import Code, Module, assigned, keyword, last_name, members
from .project import Project
from .values import Reading, Scope, Values

PLATFORMS: Final = frozenset(platform.value for platform in Platform)

_SECTIONS: Final = (
    (r".*Selector(Config)?|selector", "selector"),
    (r"(Child)?DeviceInfo|async_get_or_create", "device"),
)
_CONSTANT: Final = re.compile(r"[A-Z][A-Z0-9_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A text that the code asks for."""

    section: str
    """The part of the texts that has it: entity, exceptions, issues, selector or device."""
    key: str
    path: Path
    line: int
    placeholders: frozenset[str] | None = None
    """What the code fills in; None if that cannot be told."""
    platform: str | None = None
    """Of an entity, if the file says it."""
    options: frozenset[str] = frozenset()
    """The states or choices that need a text, as far as they are known."""
    optional: bool = False
    """Whether it may be an entity without a name of its own, which needs no text."""
    fixable: bool | None = None
    """Of an issue: whether there is a flow that fixes it."""


class Uses:
    """Collects from the integration's code."""

    def __init__(self, project: Project) -> None:
        """Read the code of a project."""
        self.project = project
        self.code = Code(project)
        self.values = Values(self.code)

    @cached_property
    def texts(self) -> list[Use]:
        """All uses that name their text by `translation_key`."""
        return [
            *(
                use
                for calls in self.code.calls.values()
                for module, call in calls
                for use in self._of_call(module, call)
            ),
            *(use for module in self.code.modules.values() for use in self._of_attributes(module)),
            *(use for use, _, _ in self._bases),
        ]

    def _of_call(self, module: Module, call: ast.Call) -> Iterator[Use]:
        key = keyword(call, "translation_key")
        if key is None:
            return
        filled = keyword(call, "translation_placeholders")
        section = _section(call)
        platform = module.path.stem if section == "entity" and module.path.stem in PLATFORMS else None
        fixable = keyword(call, "is_fixable")
        # An entity or device may get them from a property; all others get them here or not at all.
        elsewhere = filled is None and section in {"entity", "device"}
        for reading in self.values.readings(module, call, (key, filled)):
            named = call.args[1] if section == "issues" and len(call.args) > 1 else None
            domains = self.values.strings(reading.scope, keyword(call, "translation_domain") or named)
            if domains and self.project.domain not in domains:
                continue
            for name in self.values.strings(reading.scope, key):
                yield Use(
                    section=section,
                    key=name,
                    path=reading.module.path,
                    line=_line(reading),
                    placeholders=None if elsewhere else self.values.keys(reading.scope, filled),
                    platform=platform,
                    optional=section == "entity" and _has_nameless(module),
                    options=frozenset(
                        option
                        for option in self.values.items(reading.scope, keyword(call, "options"))
                        if not option.isdigit()
                    ),
                    fixable=fixable.value is True if isinstance(fixable, ast.Constant) else None,
                )

    def _of_attributes(self, module: Module) -> Iterator[Use]:
        """Yield what `_attr_translation_key = ...` names."""
        platform = module.path.stem if module.path.stem in PLATFORMS else None
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.Assign) or last_name(node.targets[0]) != "_attr_translation_key":
                continue
            for key in self.values.strings(Scope(module=module), node.value):
                yield Use(
                    section="entity",
                    key=key,
                    path=module.path,
                    line=node.lineno,
                    platform=platform,
                    optional=_has_nameless(module),
                )

    @cached_property
    def _bases(self) -> list[tuple[Use, Module, ast.ClassDef]]:
        """The base classes of other integrations that expect ours to have a text, with that use."""
        result = []
        for module, node in self.code.classes:
            for base in node.bases:
                match self.code.definition(module, last_name(base)):
                    case (source, ast.ClassDef() as parent) if source.name not in self.code.modules:
                        uses = self._of_base(source, parent, module.path, node.lineno)
                        result += [(use, source, parent) for use in uses]
        return result

    def _of_base(self, source: Module, parent: ast.ClassDef, path: Path, line: int) -> Iterator[Use]:
        platform = source.path.stem if source.path.stem in PLATFORMS else None
        for item in parent.body:
            if isinstance(item, ast.Assign) and isinstance(item.value, ast.Call):
                for key in self.values.strings(Scope(module=source), keyword(item.value, "translation_key")):
                    yield Use(section="entity", key=key, path=path, line=line, platform=platform)

    def mentions(self, key: str) -> bool:
        """Say whether the code holds a string that is, or by its f-string could become, this key."""
        return key in self.literals or any(pattern.fullmatch(key) for pattern in self._patterns)

    @cached_property
    def literals(self) -> frozenset[str]:
        """All strings of the code, of the constants that it imports, and of base classes that need texts."""
        result: set[str] = set()
        for module in self.code.modules.values():
            result |= _strings(module.tree)
            for node in ast.walk(module.tree):
                if isinstance(node, ast.ImportFrom):
                    result |= self._imported(module, node)
        for _, source, parent in self._bases:
            result |= _strings(parent) | self._named_in(source, parent)
        return frozenset(result)

    def _imported(self, module: Module, node: ast.ImportFrom) -> set[str]:
        result: set[str] = set()
        for name in (alias.asname or alias.name for alias in node.names):
            match self.code.definition(module, name) if _CONSTANT.fullmatch(name) else None:
                case (source, ast.expr() as value):
                    result |= self.values.strings(Scope(module=source), value)
        return result

    def _named_in(self, source: Module, node: ast.ClassDef) -> set[str]:
        """Return the strings that the constants and enumerations named in a class stand for."""
        result: set[str] = set()
        for name in {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}:
            match self.code.definition(source, name):
                case (_, ast.ClassDef() as found):
                    result.update(members(found).values())
                case (where, ast.expr() as value):
                    result |= self.values.strings(Scope(module=where), value)
        return result

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        """What the f-strings of the code can become, for those with a fixed part that tells something."""
        result = []
        for module in self.code.modules.values():
            for node in ast.walk(module.tree):
                if isinstance(node, ast.JoinedStr):
                    parts = [part.value if isinstance(part, ast.Constant) else None for part in node.values]
                    fixed = "".join(part for part in parts if isinstance(part, str))
                    if re.fullmatch(r"[a-z0-9_]{3,}", fixed):
                        pattern = "".join(".+" if part is None else re.escape(str(part)) for part in parts)
                        result.append(re.compile(pattern))
        return result


def _section(call: ast.Call) -> str:
    name = last_name(call.func)
    if keyword(call, "translation_domain") or re.fullmatch(r".*(Error|Exception|NotReady|Failed)", name):
        return "exceptions"
    if keyword(call, "is_fixable"):
        return "issues"
    return next((section for pattern, section in _SECTIONS if re.fullmatch(pattern, name)), "entity")


def _has_nameless(module: Module) -> bool:
    values = (assigned(node, "_attr_name") for node in ast.walk(module.tree))
    return any(isinstance(value, ast.Constant) and value.value is None for value in values)


def _line(reading: Reading) -> int:
    return reading.node.lineno if isinstance(reading.node, ast.expr | ast.stmt) else 1


def _strings(tree: ast.AST) -> set[str]:
    """Return the strings of a piece of code, with what `auto()` makes of an enumeration's names."""
    found = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func)) if (
                last_name(func) == "auto"
            ):
                found.add(name.lower())
    return found
