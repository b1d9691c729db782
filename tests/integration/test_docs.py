"""What the documentation promises to a reader who clicks and copies."""

from pathlib import Path
import re

from homeassistant.components.automation.config import async_validate_config_item
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest
import yaml

_ROOT = Path(__file__).parent.parent.parent
_PAGES = sorted([_ROOT / "README.md", _ROOT / "CONTRIBUTING.md", *(_ROOT / "docs").glob("*.md")])
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_AUTOMATION = re.compile(r"^```yaml\n(alias: .*?)^```", re.MULTILINE | re.DOTALL)
_AUTOMATIONS = [text for page in _PAGES for text in _AUTOMATION.findall(page.read_text())]


def _anchor(heading: str) -> str:
    """Return the anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    """Files, pictures and headings."""
    for path, anchor in _LINK.findall(_CODE.sub("", page.read_text())):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {path}"
        if anchor:
            headings = _HEADING.findall(_CODE.sub("", target.read_text()))
            assert anchor in map(_anchor, headings), f"{page.name} links to {path}#{anchor}"


def test_every_picture_is_small_and_shown() -> None:
    """A picture that no page shows is forgotten when the web page changes."""
    shown = "".join(page.read_text() for page in _PAGES)
    pictures = list((_ROOT / "docs/images").iterdir())
    assert pictures
    for picture in pictures:
        assert f"images/{picture.name}" in shown, f"{picture.name} is shown nowhere"
        assert picture.stat().st_size < 200_000, f"{picture.name} is too large"


@pytest.mark.parametrize("text", _AUTOMATIONS, ids=lambda text: str(yaml.safe_load(text)["alias"]))
async def test_every_example_is_an_automation_that_home_assistant_takes(
    hass: HomeAssistant, text: str
) -> None:
    """As it stands, copied into the editor."""
    assert await async_setup_component(hass, "automation", {})
    config = await async_validate_config_item(hass, "example", yaml.safe_load(text))
    assert config is not None
    assert config.validation_error is None
