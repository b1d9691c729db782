"""Pictures are made as large as a screen, and in its colours; the form of an action offers its faces."""

import io
from pathlib import Path

from PIL import Image
import pytest
import yaml

import custom_components.xiaozhi
from custom_components.xiaozhi.pictures.decoder import fit, open_picture
from custom_components.xiaozhi.protocol.faces import Face


def fitted(size: tuple[int, int], screen: tuple[int, int], *, monochrome: bool = False) -> Image.Image:
    """Return a picture of this size as the screen gets it."""
    output = io.BytesIO()
    Image.new("RGBA", size, (200, 30, 30, 128)).save(output, "PNG")
    return Image.open(io.BytesIO(fit(open_picture(output.getvalue()), screen, monochrome=monochrome)))


def test_a_picture_for_a_black_and_white_screen_has_these_colours() -> None:
    picture = fitted((256, 128), (128, 64), monochrome=True)
    assert (picture.mode, picture.size) == ("1", (128, 64))


@pytest.mark.parametrize(
    ("size", "shown"),
    [((5000, 1), (240, 1)), ((1, 5000), (1, 240)), ((2000, 3), (240, 1)), ((480, 320), (240, 160))],
)
def test_of_a_long_thin_picture_a_line_is_left(size: tuple[int, int], shown: tuple[int, int]) -> None:
    assert fitted(size, (240, 240)).size == shown


def test_the_form_offers_the_faces_that_the_action_takes() -> None:
    path = Path(custom_components.xiaozhi.__file__).parent / "services.yaml"
    services = yaml.safe_load(path.read_text())
    for service in ("show_text", "set_face"):
        assert tuple(services[service]["fields"]["face"]["selector"]["select"]["options"]) == tuple(Face)
