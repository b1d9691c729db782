"""The command behind `scripts/release`: builds the archive that HACS installs, and the notes of a version."""

import argparse
import json
from pathlib import Path
import re
import sys
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

_ROOT: Final = Path(__file__).parent.parent
_INTEGRATION: Final = _ROOT / "custom_components/xiaozhi"
# The same files give the same archive, whenever and wherever it is built.
_TIME: Final = (1980, 1, 1, 0, 0, 0)


class ReleaseError(Exception):
    """Something is missing for a release; the text says what."""


def main() -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(prog="scripts/release", description="Build a release.")
    parser.add_argument("tag", help="the version with a v before it, as in the manifest")
    parser.add_argument("folder", type=Path, help="where to write xiaozhi.zip and notes.md")
    arguments = parser.parse_args()
    try:
        build(arguments.tag, arguments.folder)
    except ReleaseError as err:
        sys.stderr.write(f"release: {err}\n")
        return 1
    return 0


def build(tag: str, folder: Path) -> None:
    """Write the archive and the notes. Raises `ReleaseError` if the tag is not the manifest's version."""
    version = json.loads((_INTEGRATION / "manifest.json").read_text())["version"]
    if tag != f"v{version}":
        raise ReleaseError(f"the tag is {tag}, but the version in the manifest is {version}")
    notes = _notes(version)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "notes.md").write_text(notes)
    _pack(folder / "xiaozhi.zip")


def _notes(version: str) -> str:
    """Return what the changelog says about a version."""
    changelog = (_ROOT / "CHANGELOG.md").read_text()
    heading = rf"^## {re.escape(version)}\b[^\n]*\n"
    part = re.search(rf"{heading}(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if part is None or not part[1].strip():
        raise ReleaseError(f"CHANGELOG.md says nothing about {version}")
    return part[1].strip() + "\n"


def _pack(archive: Path) -> None:
    """Pack the integration's files; HACS unpacks them into `custom_components/xiaozhi`."""
    with ZipFile(archive, "w", ZIP_DEFLATED) as packed:
        for file in sorted(_INTEGRATION.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                entry = ZipInfo(file.relative_to(_INTEGRATION).as_posix(), _TIME)
                entry.external_attr = 0o644 << 16
                packed.writestr(entry, file.read_bytes(), ZIP_DEFLATED)


if __name__ == "__main__":
    sys.exit(main())
