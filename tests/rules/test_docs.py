"""What the documentation promises to a reader who clicks and copies."""

import ast
import json
from pathlib import Path
import re
from urllib.parse import unquote

import pytest
import yaml

from scripts.validator.languages import fingerprint
from tests.paths import ROOT

_INTEGRATION = ROOT / "custom_components" / "xiaozhi"
_CHINESE = sorted((ROOT / "docs" / "zh-CN").glob("*.md"))
_TRANSLATIONS = sorted((ROOT / "docs").glob("*/*.md"))
_PAGES = sorted([*ROOT.glob("README*.md"), ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
_TRANSLATED = re.compile(r"<!-- (\S+) ([0-9a-f]{8}) -->\n")
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
_PICTURE = re.compile(r'(?:src|srcset)="([^"#]*)()"')
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_DEFINITION = re.compile(r"`([\w/]+\.py):([\w.]+)`")
_CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_IMPORT = re.compile(r"https://my\.home-assistant\.io/redirect/blueprint_import/\?blueprint_url=([^)\s]+)")


class _Blueprint(yaml.SafeLoader):
    """Reads a blueprint, whose inputs do not matter here."""


_Blueprint.add_constructor("!input", lambda loader, node: node.value)


def _anchor(heading: str) -> str:
    """Return the anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", _CHINESE, ids=lambda page: page.name)
def test_a_chinese_page_is_of_the_english_page_of_today(page: Path) -> None:
    """Its first line names the English page, and the digest of what it was translated from."""
    head = _TRANSLATED.match(page.read_text())
    assert head is not None
    digest = fingerprint((page.parent / head[1]).read_text())
    assert head[2] == digest, f"translate the changes of {head[1]}, then write {digest} into line 1"


@pytest.mark.parametrize("page", _TRANSLATIONS, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_a_translated_page_and_the_english_one_link_to_each_other(page: Path) -> None:
    """In their first lines."""
    english = ROOT / "docs" / page.name
    for one, other in (page, f"../{page.name}"), (english, f"{page.parent.name}/{page.name}"):
        assert f"]({other})" in one.read_text().partition("\n#")[0]


def test_every_definition_that_a_walk_names_exists() -> None:
    named = _DEFINITION.findall((ROOT / "CONTRIBUTING.md").read_text())
    assert len(named) >= 10
    for path, name in named:
        body = ast.parse((ROOT / "custom_components" / "xiaozhi" / path).read_text()).body
        for part in name.split("."):
            found = [node for node in body if getattr(node, "name", None) == part]
            assert found, f"{path} has no {name}"
            body = found[0].body


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    """Files, pictures and headings."""
    text = _CODE.sub("", page.read_text())
    pictures = [found for found in _PICTURE.findall(text) if not found[0].startswith("https:")]
    for path, anchor in _LINK.findall(text) + pictures:
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {path}"
        if anchor:
            headings = _HEADING.findall(_CODE.sub("", target.read_text()))
            assert anchor in map(_anchor, headings), f"{page.name} links to {path}#{anchor}"


def test_pictures_and_licence_of_the_readme_have_whole_addresses() -> None:
    """HACS shows the page elsewhere, and rewrites links in Markdown only."""
    text = (ROOT / "README.md").read_text()
    manifest = json.loads((ROOT / "custom_components/xiaozhi/manifest.json").read_text())
    repository = manifest["documentation"]
    raw = repository.replace("https://github.com/", "https://raw.githubusercontent.com/") + "/main/"
    pictures = re.findall(r'(?:src|srcset)="([^"]+)"', text) + re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    own = [address for address in pictures if "docs/images" in address]
    assert len(own) > 4
    for address in own:
        assert address.startswith(raw), address
        assert (ROOT / address.removeprefix(raw)).is_file(), address
    assert f"({repository}/blob/main/LICENSE)" in text


def test_every_picture_is_small_and_shown() -> None:
    """A picture that no page shows is forgotten when the web page changes."""
    shown = "".join(page.read_text() for page in _PAGES)
    pictures = list((ROOT / "docs/images").iterdir())
    assert pictures
    for picture in pictures:
        assert f"images/{picture.name}" in shown, f"{picture.name} is shown nowhere"
        assert picture.stat().st_size < 200_000, f"{picture.name} is too large"


def test_every_blueprint_can_be_imported_by_a_link() -> None:
    """Also one that is added later; `test_blueprints.py` sees to what its file calls its source."""
    files = sorted((ROOT / "blueprints").glob("**/*.yaml"))
    sources = {yaml.load(file.read_text(), _Blueprint)["blueprint"]["source_url"] for file in files}
    assert sources
    pages = "".join(page.read_text() for page in _PAGES)
    assert {unquote(address) for address in _IMPORT.findall(pages)} == sources


def test_every_promise_of_the_threat_model_names_a_test_that_exists() -> None:
    """A promise without a test is none, and a test that was renamed shows nothing."""
    page = (ROOT / "docs/security.md").read_text()
    promises = [line for line in page.splitlines() if line.startswith("| ") and "| `tests/" in line]
    assert len(promises) > 20
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page)
    assert len(named) >= len(promises)
    for path, name in named:
        file = ROOT / path
        assert file.is_file(), f"docs/security.md names {path}, which does not exist"
        assert re.search(rf"def {name}\(", file.read_text()), f"docs/security.md names {path}::{name}"


def test_the_files_to_begin_with_are_few_and_short() -> None:
    section = (
        (ROOT / "docs" / "architecture.md")
        .read_text()
        .partition("\n## Where to begin\n")[2]
        .partition("\n## ")[0]
    )
    files = re.findall(r"^\d+\. `([\w/]+\.py)`", section, re.MULTILINE)
    lines = [len((_INTEGRATION / file).read_text().splitlines()) for file in files]
    assert 10 <= len(files) <= 14
    assert sum(lines) <= 3500


def test_the_public_names_of_the_protocol_are_listed() -> None:
    """Whole modules that are imported are listed by their own name."""
    used: dict[str, set[str]] = {}
    for path in _INTEGRATION.rglob("*.py"):
        folder = path.relative_to(_INTEGRATION).parent.parts
        if folder[:1] == ("protocol",):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level:
                module = (*folder[: len(folder) + 1 - node.level], *(node.module or "").split("."))
                if module[0] == "protocol":
                    used.setdefault("/".join(module[1:]), set()).update(alias.name for alias in node.names)
    rows = [
        f"| `{module or '.'}` | {', '.join(f'`{name}`' for name in sorted(used[module]))} |"
        for module in sorted(used)
    ]
    page = (ROOT / "docs" / "architecture.md").read_text()
    table = page.partition("| Module | Names |\n|---|---|\n")[2].partition("\n\n")[0]
    assert table == "\n".join(rows)
