"""The form of the texts, in every language."""

from collections.abc import Iterator
from typing import Any

from .forms import TEXTS
from .project import JsonObject, Problem, Project
from .shape import placeholders, text
from .uses import PLATFORMS


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield all texts of a file, with the keys that lead to them."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    else:
        yield path, str(value)


def check(project: Project) -> Iterator[Problem]:
    """Check the files in translations/."""
    folder = project.integration / "translations"
    english = project.english
    if not english.is_file():
        yield project.problem(english, "is missing: every integration has English texts")
    if (project.integration / "strings.json").exists():
        yield project.problem(
            project.integration / "strings.json", "is for core: put the texts into translations/"
        )
    for fault in _flow_faults(project.texts):
        yield project.problem(english, fault)
    for platform in project.texts.get("entity", {}):
        if platform not in PLATFORMS:
            yield project.problem(english, f"entity.{platform}: is no platform of Home Assistant")
    for path in sorted(folder.glob("*.json")):
        if path != english:
            for fault in _language_faults(project.texts, project.json(path, TEXTS)):
                yield project.problem(path, fault)


def _language_faults(english: JsonObject, texts: JsonObject) -> Iterator[str]:
    wanted, found = dict(leaves(english)), dict(leaves(texts))
    for path in sorted(wanted.keys() ^ found.keys()):
        yield f"{'.'.join(path)}: {'is missing' if path in wanted else 'is not in the English texts'}"
    for path in sorted(wanted.keys() & found.keys()):
        if (
            not text(wanted[path])
            and not text(found[path])
            and placeholders(wanted[path]) != placeholders(found[path])
        ):
            yield f"{'.'.join(path)}: has other placeholders than the English text"


def _flow_faults(texts: JsonObject) -> Iterator[str]:
    """Yield what the form alone cannot say."""
    for name, flow in flows(texts).items():
        if name in {"config", "options"} and "title" in flow:
            yield f"{name}.title: is no longer used"
        for step, content in flow.get("step", {}).items():
            for place, group in {"": content, **content.get("sections", {})}.items():
                where = f"{name}.step.{step}{place and f'.sections.{place}'}"
                for key in group.get("data_description", {}).keys() - group.get("data", {}).keys():
                    yield f"{where}.data_description.{key}: describes a field that is not in data"
    for key, issue in texts.get("issues", {}).items():
        if ("description" in issue) == ("fix_flow" in issue):
            yield f"issues.{key}: needs either a description or a fix_flow"


def flows(texts: JsonObject) -> dict[str, JsonObject]:
    """Return the texts of all flows, with where they are, as keys joined by dots."""
    result: dict[str, JsonObject] = {name: texts[name] for name in ("config", "options") if name in texts}
    result |= {f"config_subentries.{kind}": flow for kind, flow in texts.get("config_subentries", {}).items()}
    issues = texts.get("issues", {}).items()
    return result | {
        f"issues.{key}.fix_flow": issue["fix_flow"] for key, issue in issues if "fix_flow" in issue
    }
