"""No text of a device, a user or a model is Markdown in a form, a repair or a notification."""

import ast
from collections.abc import Iterator
from functools import cache
from typing import Final

from hypothesis import given, strategies as st
from markdown_it import MarkdownIt

from custom_components.xiaozhi.util.text import plain_markdown, plain_name
from tests.paths import ROOT

_INTEGRATION: Final = ROOT / "custom_components/xiaozhi"
_CLEANING: Final = {"plain_name", "plain_markdown", "len", "str", "isoformat"}
_OUR_TEXTS: Final = {"async_text", "async_explain", "known_text"}
_OURS: Final = {
    # Sentences and addresses of ours, which hold none of the others' texts.
    "forms/pairing_form.py": {
        *("first", "check_in_link", "check_in_url", "portal_url", "docs_url", "problem", "say_url", "speech")
    },
    "forms/device_form.py": {"notes", None},
    "config_flow.py": {"problem", "found", "subscribe_topic"},
    "guests/firmware/gateway_form.py": {"releases_example"},
    # Descriptions in Markdown, of names that were made plain.
    "guests/alarms/ring.py": {None},
    "gateway.py": {"deleted"},
}
"""Placeholders that are Markdown of ours, by module."""


@cache
def _modules() -> dict[str, ast.Module]:
    files = _INTEGRATION.rglob("*.py")
    return {str(path.relative_to(_INTEGRATION)): ast.parse(path.read_text()) for path in files}


def _placeholders(tree: ast.Module) -> Iterator[tuple[str | None, ast.expr]]:
    """Return the placeholders that a module gives to forms, repairs and notifications, by their names."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(keywords=keywords):
                for keyword in keywords:
                    if (keyword.arg or "").endswith("placeholders"):
                        yield from _members(keyword.value)
                if _name_of(node.func) in {*_OUR_TEXTS, "async_notify"}:
                    yield from ((keyword.arg, keyword.value) for keyword in keywords)
            case ast.Assign(targets=[target], value=value) | ast.AugAssign(target=target, value=value):
                match target:
                    case ast.Subscript(value=of, slice=ast.Constant(value=str(key))) if _is_of_a_form(of):
                        yield key, value
                    case _ if _is_of_a_form(target):
                        yield from _members(value)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.endswith(
                "placeholders"
            ):
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Return) and inner.value is not None:
                        yield from _members(inner.value)


def _is_of_a_form(target: ast.expr) -> bool:
    """Whether these are placeholders, also those of a form to which guests add."""
    return ast.unparse(target) in {"placeholders", "form.placeholders"}


def _members(value: ast.expr) -> Iterator[tuple[str | None, ast.expr]]:
    match value:
        case ast.Dict(keys=keys, values=values):
            for key, member in zip(keys, values, strict=True):
                if key is None:
                    yield from _members(member)
                else:
                    yield (str(key.value) if isinstance(key, ast.Constant) else None), member
        case ast.BinOp(left=left, right=right):
            yield from _members(left)
            yield from _members(right)
        case ast.BoolOp(values=values):
            for each in values:
                yield from _members(each)
        case ast.DictComp(value=member):
            yield None, member
        case _:
            yield None, value


def _name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_plain(value: ast.expr) -> bool:
    """Whether a text is a constant, a number, a sentence of ours, or made plain."""
    match value:
        case ast.Await(value=inner):
            parts = [inner]
        case ast.IfExp(body=first, orelse=second):
            parts = [first, second]
        case ast.BoolOp(values=values):
            parts = values
        case ast.JoinedStr(values=values):
            formatted = [part for part in values if isinstance(part, ast.FormattedValue)]
            parts = [part.value for part in formatted if part.format_spec is None]
        # Looked at where they are made.
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.endswith("placeholders")
        case ast.Call(func=function, args=args):
            name = _name_of(function)
            made = name == "join" and any(_is_made_plain(each) for each in args)
            return (
                made or name in _CLEANING | _OUR_TEXTS or name.endswith(("placeholders", "hint", "_labels"))
            )
        case _:
            return isinstance(value, ast.Constant)
    return all(map(_is_plain, parts))


def _is_made_plain(value: ast.expr) -> bool:
    return any(isinstance(node, ast.Name) and node.id in _CLEANING for node in ast.walk(value))


def _shown_in() -> list[str]:
    steps = ("show_form", "show_menu", "abort", "create_entry")
    makers = {f"self.async_{step}" for step in steps}
    makers |= {"ir.async_create_issue", "persistent_notification.async_create", "async_notify"}
    calls = {
        module: {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for module, tree in _modules().items()
    }
    shown = [module for module, called in calls.items() if not makers.isdisjoint(called)]
    return shown + [module for module in _modules() if module.endswith("_form.py") and module not in shown]


def test_what_is_shown_is_made_plain() -> None:
    wrong = [
        f"{module}: {name}: {ast.unparse(value)}"
        for module in _shown_in()
        for name, value in _placeholders(_modules()[module])
        if not _is_plain(value) and name not in _OURS.get(module, set())
    ]
    assert not wrong


def test_what_shows_texts_is_found() -> None:
    found = {
        "config_flow.py",
        "guests/alarms/ring.py",
        "guests/mcp_extras/question_flow.py",
        "texts/issues.py",
    }
    assert found <= {*_shown_in()}


HOSTILE: Final = (
    "![x](http://192.168.1.66/x.png) **[Update now](http://192.168.1.66/)**",
    "www.evil.example",
    "WWW.Evil.example",
    "HTTPS://evil.example/a",
    "<http://evil.example>",
    '<img src="http://evil.example/x.png">',
    "[a][b] [b]: http://evil.example",
    "[b]: http://evil.example",
    "anna@evil.example",
    "[a]\\(http://evil.example) `[a](b)`",
)
_TEXTS = st.lists(
    st.sampled_from([*HOSTILE, *"[]()<>!*_`\\:@/. ", "http://", "www.", "a.b", "javascript:"]), max_size=12
).map("".join)


@given(text=_TEXTS | st.sampled_from(HOSTILE))
def test_hostile_texts_are_no_links_pictures_or_elements(text: str) -> None:
    markdown = MarkdownIt("gfm-like", {"linkify": False, "html": True})
    for shown in (plain_name(text), plain_markdown(text)):
        found = {
            token.type
            for block in markdown.parse(f"Called: {shown} (it waits)\n\n{shown}")
            for token in [block, *(block.children or [])]
        }
        assert found.isdisjoint({"link_open", "image", "html_inline", "html_block"})
        # What becomes a link by itself.
        assert not any(link in shown.casefold() for link in ("://", "www."))
    words = plain_name(text).replace("\u200b", "")
    assert words == text


@given(text=st.text(st.sampled_from("ab*_`[]()<>!#~&.:\\"), max_size=20))
def test_markdown_shows_a_text_as_it_is(text: str) -> None:
    (paragraph, *rest) = [
        token for token in MarkdownIt().parse(f"a{plain_markdown(text)}a") if token.type == "inline"
    ]
    assert not rest
    shown = "".join(child.content for child in paragraph.children or [])
    assert shown.replace("\u200b", "") == f"a{text}a"
