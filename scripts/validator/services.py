"""Checks that code, texts and icons have the actions, triggers and conditions of the YAML files."""

from collections.abc import Iterator

from .project import JsonObject, Project, at


def check(project: Project) -> Iterator[str]:
    """Check services.yaml against code, texts and icons."""
    for name, action in project.services.items():
        own = fields(action)
        texts = at(project.texts, "services", name)
        wanted = {name: "action", **dict.fromkeys(own, f"field of {name}")}
        for key, what in wanted.items():
            if not project.code.mentions(key):
                yield project.fault(project.integration / "services.yaml", f"{key}: no {what} in the code")
        for key in own.keys() ^ at(texts, "fields").keys():
            yield project.fault(project.english, f"services.{name}.fields.{key}: is not in both files")
        for key, field in own.items():
            select = at(field, "selector", "select")
            options = at(project.texts, "selector", select.get("translation_key", ""), "options")
            for option in select.get("options", []):
                if "translation_key" in select and option not in options:
                    yield project.fault(
                        project.english, f"selector: {name}.{key} offers {option!r} without a text"
                    )
    for path, content in (
        (project.english, project.texts),
        (project.integration / "icons.json", project.icons),
    ):
        for name in project.services.keys() ^ at(content, "services").keys():
            yield project.fault(path, f"services.{name}: is not in both files")
    for kind in ("triggers", "conditions"):
        yield from _check_parts(project, kind)


def _check_parts(project: Project, kind: str) -> Iterator[str]:
    """Check triggers or conditions against code, texts and icons."""
    path = project.integration / f"{kind}.yaml"
    described = project.read(path)
    for name, part in described.items():
        if not project.code.mentions(name):
            yield project.fault(path, f"{name}: is not in the code")
        for key in fields(part).keys() ^ at(project.texts, kind, name, "fields").keys():
            yield project.fault(project.english, f"{kind}.{name}.fields.{key}: is not in both files")
    for other, content in (
        (project.english, project.texts),
        (project.integration / "icons.json", project.icons),
    ):
        for name in described.keys() ^ at(content, kind).keys():
            yield project.fault(other, f"{kind}.{name}: is not in both files")


def fields(action: object) -> JsonObject:
    """Return the fields of an action, including those in sections."""
    result: JsonObject = {}
    for name, field in at(action, "fields").items():
        result |= at(field, "fields") or {name: field}
    return result
