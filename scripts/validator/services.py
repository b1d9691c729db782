"""The actions: services.yaml against the code, the texts and the icons."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from .code import keyword, last_name
from .project import JsonObject, Problem, Project
from .uses import Uses

_REGISTER: Final = {
    # What is called, and which of its arguments is the action's name.
    "async_register": 1,
    "async_register_admin_service": 2,
    "async_register_platform_entity_service": 2,
    "async_register_batched_platform_entity_service": 2,
    "async_register_entity_service": 0,
}
_NAMES: Final = ("service", "service_name", "name")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of an action."""

    action: str
    name: str
    section: str | None
    selection: JsonObject
    """The choices and where their texts are, if it has choices."""


def fields(services: JsonObject) -> Iterator[Field]:
    """Yield the fields of all actions."""
    for action, content in services.items():
        for name, item in _object(content, "fields").items():
            inside = _object(item, "fields")
            for key, value in (inside or {name: item}).items():
                selection = _object(_object(value, "selector"), "select")
                yield Field(action=action, name=key, section=name if inside else None, selection=selection)


def _object(value: Any, key: str) -> JsonObject:
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}


def check(project: Project, uses: Uses) -> Iterator[Problem]:
    """Check that code, services.yaml, texts and icons have the same actions."""
    path = project.integration / "services.yaml"
    declared = set(project.services)
    registered, unclear = _registered(uses)
    for fault in _doubled(project.services):
        yield project.problem(path, fault)
    for name in sorted(registered - declared):
        yield project.problem(path, f"{name}: the code registers it, but it is not described here")
    for name in sorted(declared - registered):
        if not (unclear and uses.mentions(name)):
            yield project.problem(path, f"{name}: the code does not register it")
    icons = project.integration / "icons.json"
    for where, content in ((project.english, project.texts), (icons, project.icons)):
        for name in sorted(declared ^ _object(content, "services").keys()):
            yield project.problem(
                where, f"services.{name}: {'is missing' if name in declared else 'is no action'}"
            )
    for name in sorted(declared):
        for fault in _text_faults(project, name):
            yield project.problem(project.english, fault)
    for field in fields(project.services):
        if not uses.mentions(field.name):
            yield project.problem(path, f"{field.action}.fields.{field.name}: nothing in the code reads it")


def _doubled(services: JsonObject) -> Iterator[str]:
    for (action, name), times in Counter((field.action, field.name) for field in fields(services)).items():
        if times > 1:
            yield f"{action}: the field {name!r} is there twice"


def _text_faults(project: Project, action: str) -> Iterator[str]:
    own = [field for field in fields(project.services) if field.action == action]
    content = _object(_object(project.texts, "services"), action)
    for part, wanted in (
        ("fields", {field.name for field in own}),
        ("sections", {field.section for field in own if field.section}),
    ):
        for name in sorted(wanted ^ _object(content, part).keys()):
            fault = "is missing" if name in wanted else f"is not one of the {part}"
            yield f"services.{action}.{part}.{name}: {fault}"
    for field in own:
        if key := field.selection.get("translation_key"):
            choices = _object(_object(_object(project.texts, "selector"), key), "options")
            for option in field.selection.get("options", []):
                if isinstance(option, str) and option not in choices:
                    yield f"selector.{key}.options.{option}: is missing, {action}.{field.name} offers it"


def _registered(uses: Uses) -> tuple[set[str], bool]:
    """Return the actions that the code registers, and whether it registers some whose name is not clear."""
    names: set[str] = set()
    unclear = False
    for called, position in _REGISTER.items():
        for module, call in uses.code.calls.get(called, []):
            if called == "async_register" and last_name(getattr(call.func, "value", call)) != "services":
                continue
            given = next((value for name in _NAMES if (value := keyword(call, name))), None)
            given = given or (call.args[position] if len(call.args) > position else None)
            found = {
                name
                for reading in uses.values.readings(module, call, [given])
                for name in uses.values.strings(reading.scope, given)
            }
            names |= found
            unclear = unclear or not found
    return names, unclear
