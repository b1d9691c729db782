"""What all tests share."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

from aiohttp.resolver import AsyncResolver
import pytest
import pytest_asyncio

from tests.virtual_time import VirtualTimeLoop

# Folders of tests that start other processes.
_REAL_TIME = {"benchmarks", "demo", "e2e", "scripts", "validator"}


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Run tests in virtual time, but for those in which other processes have a part."""
    folder = item.path.relative_to(config.rootpath / "tests").parts[0]
    if folder in _REAL_TIME or item.get_closest_marker("real_time"):
        return {"real": asyncio.new_event_loop}
    return {"virtual": VirtualTimeLoop}


@pytest.fixture
def hass_config_dir(tmp_path: Path) -> str:
    """Let Home Assistant keep its files in an empty folder, beside no other integration."""
    return str(tmp_path)


@pytest.fixture(autouse=True)
def enable_event_loop_debug() -> None:
    """Leave debug mode off, which takes half of the time; PYTHONASYNCIODEBUG=1 switches it on."""


@pytest_asyncio.fixture(autouse=True, scope="session", loop_scope="session")
async def mock_zeroconf_resolver() -> AsyncIterator[Any]:
    """Resolve names without zeroconf.

    As the Home Assistant plugin does, but closed: with a loop factory there is one for every test, and each
    holds a thread and files.
    """
    resolver: Any = AsyncResolver()
    resolver.real_close = resolver.close
    with patch("homeassistant.helpers.aiohttp_client._async_make_resolver", return_value=resolver) as patched:
        yield patched
    await resolver.real_close()
