"""The demo's model: it says what a picture really shows."""

from pathlib import Path

from homeassistant.exceptions import HomeAssistantError
import pytest

from demo.abilities import VIEWS
from demo.vision.ai_task import describe
from simulator.board.picture import jpeg


@pytest.mark.parametrize("name", VIEWS)
def test_the_colour_of_a_picture_is_named(name: str, tmp_path: Path) -> None:
    photo = tmp_path / "photo.jpg"
    photo.write_bytes(jpeg(320, 240, VIEWS[name]))
    assert describe(photo) == f"I see mostly {name}."


def test_what_is_no_picture_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"no picture")
    with pytest.raises(HomeAssistantError, match="cannot read"):
        describe(tmp_path / "photo.jpg")
