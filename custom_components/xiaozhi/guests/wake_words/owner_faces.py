"""Faces of the owner's: pictures in the place of those in an asset pack.

A device decodes a face when it shows it (`LcdDisplay::SetEmotion`), and how much memory it has for that is
not known. So each gets the size and the kind of the one that it replaces.
"""

from collections.abc import Mapping
from dataclasses import replace
import io
from itertools import islice
from pathlib import Path
from typing import Any, Final

from PIL import Image, ImageOps, ImageSequence

from ..firmware.firmware_image import FirmwareError
from ..firmware.owner_files import read_file
from .assets_pack import Asset

FACES_FOLDER: Final = ("xiaozhi", "faces")
"""Relative to Home Assistant's configuration folder."""
_KINDS: Final = ("PNG", "GIF")
_MAX_BYTES: Final = 1024 * 1024
_MAX_PIXELS: Final = 20_000_000
"""Sum of all frames."""


def own_faces(assets: Mapping[str, Asset], index: Mapping[str, Any], folder: Path) -> dict[str, Asset]:
    """Return the files of a pack to be replaced by pictures in a folder. Raises `FirmwareError`.

    A picture has the name of its face. Faces that the pack does not have are ignored.
    """
    own = {path.stem: path for path in folder.glob("*") if path.suffix.lower() in {".png", ".gif"}}
    faces = index.get("emoji_collection")
    found: dict[str, Asset] = {}
    for face in faces if isinstance(faces, list) else ():
        match face:
            case {"name": str(name), "file": str(file)} if name in own and file in assets:
                try:
                    content = _fitted(own[name], assets[file].content)
                # Pillow passes on whatever its decoders raise.
                except Exception as err:
                    raise FirmwareError("face_unusable", file=f"xiaozhi/faces/{own[name].name}") from err
                found[file] = replace(assets[file], content=content)
    return found


def _fitted(path: Path, before: bytes) -> bytes:
    """Return a picture in the size and kind of another; raises if it is damaged or too large."""
    data = read_file(path, _MAX_BYTES)
    if len(data) > _MAX_BYTES:
        raise ValueError
    target = io.BytesIO()
    with (
        Image.open(io.BytesIO(before), formats=_KINDS) as old,
        Image.open(io.BytesIO(data), formats=_KINDS) as new,
    ):
        number, moves = getattr(new, "n_frames", 1), old.format == "GIF"
        if max(each.width * each.height for each in (old, new)) * number > _MAX_PIXELS:
            raise ValueError
        frames, durations = [], []
        for frame in islice(ImageSequence.Iterator(new), number if moves else 1):
            durations.append(frame.info.get("duration", 0))
            frames.append(ImageOps.pad(frame.convert("RGBA"), old.size))
        motion = {"append_images": frames[1:], "duration": durations, "loop": 0, "disposal": 2}
        frames[0].save(target, old.format, save_all=moves, **motion)
    return target.getvalue()
