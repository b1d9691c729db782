"""What all tests share."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
import gc
import logging
import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

from aiohttp.resolver import AsyncResolver
from hypothesis import HealthCheck, settings
import pytest
import pytest_asyncio

from tests.virtual_time import VirtualTimeLoop

# A loaded machine is no fault of what is tested.
settings.register_profile("loaded", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("loaded")

# A Home Assistant lives as long as its test, so there is little garbage to find: to look for it every 2,000
# objects, as Python does by itself, takes a tenth of the processor time.
gc.set_threshold(20_000)

# Folders of tests that start other processes, in the order in which they run: the longest first.
_REAL_TIME = ("e2e", "benchmarks", "demo", "scripts", "validator")


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(item.config.rootpath / "tests").parts[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Run one worker more than there are cores, since tests in real time mostly wait."""
    return (os.process_cpu_count() or 1) + 1


def pytest_configure(config: pytest.Config) -> None:
    """Log only warnings, since pytest writes each record three times; `-vv` and `caplog` show the rest."""
    if config.get_verbosity() <= 0:
        logging.getLogger().setLevel(logging.WARNING)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests in real time, so that the others run while those wait."""
    items.sort(key=lambda item: _REAL_TIME.index(_folder(item)) if _folder(item) in _REAL_TIME else 99)


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Run tests in virtual time, but for those in which other processes have a part."""
    if _folder(item) in _REAL_TIME or item.get_closest_marker("real_time"):
        return {"real": asyncio.new_event_loop}
    return {"virtual": VirtualTimeLoop}


@pytest.fixture
def hass_config_dir(tmp_path: Path) -> str:
    """Let Home Assistant keep its files in an empty folder, beside no other integration."""
    return str(tmp_path)


def _of_home_assistant(name: str, request: pytest.FixtureRequest) -> None:
    """Use a fixture that the Home Assistant plugin has for all tests, in those with a Home Assistant only."""
    if "hass" in request.fixturenames:
        request.getfixturevalue(name)


@pytest.fixture(autouse=True)
def configure_event_loop(request: pytest.FixtureRequest) -> None:
    """Give the event loop Home Assistant's threads, where there is one."""
    _of_home_assistant("configure_event_loop", request)


@pytest.fixture(autouse=True)
def disable_http_server(request: pytest.FixtureRequest) -> None:
    """Keep Home Assistant from serving on its usual port, where there is one."""
    _of_home_assistant("disable_http_server", request)


@pytest.fixture(autouse=True)
def skip_stop_scripts(request: pytest.FixtureRequest) -> None:
    """Let no timer of Home Assistant's scripts outlive a test, where there are any."""
    _of_home_assistant("skip_stop_scripts", request)


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
