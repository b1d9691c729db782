"""Checks of the sample."""

from pathlib import Path

import pytest

from scripts.validator.checks import problems
from tests.validator.sample import FILES, HOME, Change, Check, png


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Return a check of the sample repository, in which some pieces of some files are replaced."""
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    for name, size in (("icon", 256), ("icon@2x", 512), ("logo", 256), ("logo@2x", 512)):
        path = tmp_path / HOME / "brand" / f"{name}.png"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(png(size, size))

    def run(*changes: Change) -> list[str]:
        for name, old, new in changes:
            path = tmp_path / name
            content = path.read_text() if path.is_file() else ""
            assert old in content, f"{old!r} is not in {name}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content.replace(old, new, 1) if old else content + new)
        return [str(problem) for problem in problems(tmp_path)]

    return run
