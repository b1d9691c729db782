"""What all tests share."""

from pathlib import Path

import pytest


@pytest.fixture
def hass_config_dir(tmp_path: Path) -> str:
    """Let Home Assistant keep its files in an empty folder, beside no other integration."""
    return str(tmp_path)
