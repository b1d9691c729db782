"""Files that an owner puts into folders of Home Assistant's configuration."""

from pathlib import Path
from stat import S_ISREG


def read_file(path: Path, limit: int) -> bytes:
    """Return a file, or one byte more than `limit` of a larger one. Raises `OSError`.

    Not in the event loop.
    """
    if not S_ISREG(path.stat().st_mode):
        # Reading a pipe may never end.
        raise OSError(f"{path} is no file")
    with path.open("rb") as file:
        return file.read(limit + 1)
