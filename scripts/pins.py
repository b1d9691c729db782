"""Prints uv's settings for a pyproject.toml, with the pins of the Home Assistant that this Python has."""

from importlib.metadata import distribution, version
import json
from pathlib import Path
import re
import tomllib
from typing import Final

_PROJECT: Final = Path(__file__).parents[1] / "pyproject.toml"
_PIN: Final = re.compile(r"^([\w.-]+)==([\w.]+)$", re.MULTILINE)


def pins() -> dict[str, str]:
    """Return the version that Home Assistant pins of each package that it or pyproject.toml names.

    Those of integrations, which are not installed with it, only where pyproject.toml has them.
    """
    home = Path(str(distribution("homeassistant").locate_file("homeassistant")))
    found = {"homeassistant": version("homeassistant")}
    found |= dict(_PIN.findall((home / "package_constraints.txt").read_text()))
    groups = tomllib.loads(_PROJECT.read_text())["dependency-groups"]
    used = {line.partition("==")[0] for line in groups["homeassistant"]}
    for manifest in home.glob("components/*/manifest.json"):
        for requirement in json.loads(manifest.read_text()).get("requirements", ()):
            if (pin := _PIN.match(requirement)) and pin[1] in used:
                found[pin[1]] = pin[2]
    return found


if __name__ == "__main__":
    overrides = [f"{name}=={pinned}" for name, pinned in pins().items()]
    print("[tool.uv]\noverride-dependencies =", json.dumps(overrides))
