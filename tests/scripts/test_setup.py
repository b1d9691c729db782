"""How `scripts/setup` finds a Python, on a computer of which only the programs that it calls are made up."""

from pathlib import Path
import shutil
import subprocess

import pytest

from tests.paths import ROOT

SETUP = ROOT / "scripts" / "setup"
REAL = ("bash", "cat", "chmod", "cksum", "cp", "dirname", "env", "grep", "id", "mkdir", "readlink", "rm")
# An old uv knows groups, but of Python 3.14 only the first ones.
OLD_UV = 'case "$*" in "pip install --help") echo --group ;; *) exit 2 ;; esac'
NEW_UV = """
case "$*" in
  *"python install"*) exit "$DOWNLOAD" ;;
  *"python find"*) echo "$HOME/bin/new-python" ;;
  *venv*) mkdir -p .venv && echo "$@" > "$HOME/venv" ;;
esac
"""
# Its environment's pip brings the new uv.
PYTHON3 = """
mkdir -p "$3/bin" && printf '#!/bin/sh\\ncp "$HOME/bin/new-uv" "%s/bin/uv"\\n' "$3" > "$3/bin/pip"
chmod +x "$3/bin/pip"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A computer with an old uv and no Python 3.14, on which nothing else is missing."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "bin").mkdir()
    shutil.copy(SETUP, tmp_path / "scripts")
    (tmp_path / "pyproject.toml").touch()
    for name in REAL:
        found = shutil.which(name)
        assert found is not None
        (tmp_path / "bin" / name).symlink_to(found)
    programs = {"uv": OLD_UV, "new-uv": NEW_UV, "python3": PYTHON3, "uname": 'echo "$SYSTEM"'}
    for name in ("new-python", "chromium", "mosquitto", "mosquitto_pub"):
        programs[name] = ""
    for name, script in programs.items():
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    return tmp_path


def set_up(home: Path, *, system: str = "Linux", can_download: bool) -> subprocess.CompletedProcess[str]:
    """Run it."""
    environment = {
        "HOME": str(home),
        "PATH": str(home / "bin"),
        "SYSTEM": system,
        "DOWNLOAD": "0" if can_download else "1",
        "LC_ALL": "C",
    }
    return subprocess.run(
        [home / "scripts" / "setup"], env=environment, capture_output=True, text=True, timeout=30, check=False
    )


def test_an_old_uv_is_replaced_where_its_pythons_are_too_old(home: Path) -> None:
    """The project's own uv goes on from there."""
    result = set_up(home, can_download=True)
    assert result.returncode == 0, result.stderr
    assert (home / "venv").read_text().split() == [
        *("--quiet", "venv", "--clear", "--python"),
        *(str(home / "bin" / "new-python"), ".venv"),
    ]


@pytest.mark.parametrize(("system", "advice"), [("Darwin", "python.org"), ("Linux", "headers")])
def test_where_no_python_can_be_had_the_advice_is_one_that_helps(
    home: Path, system: str, advice: str
) -> None:
    """Not to ask again what could not download one."""
    result = set_up(home, system=system, can_download=False)
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert advice in last
    assert "uv python install" not in last
