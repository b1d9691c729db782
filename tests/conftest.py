"""What all tests share."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress
import fcntl
from functools import cache
import gc
import inspect
from itertools import chain, zip_longest
import logging
import os
from pathlib import Path
import re
from tempfile import gettempdir
from typing import Any, TextIO
from unittest.mock import patch

from aiohttp import web_app
from aiohttp.resolver import ThreadedResolver
from homeassistant.components.ffmpeg import FFVersion
from hypothesis import HealthCheck, settings
import pytest
import pytest_asyncio
from pytest_homeassistant_custom_component import plugins

from demo.processes import PORTS
from tests.complaints import Complaints
from tests.paths import ROOT
from tests.virtual_time import RealTimeLoop, VirtualTimeLoop

# A loaded machine is no fault of what is tested. CI sets the variable to more, once a week; only then are the
# examples other ones each time, so that no change fails for a fault that was there before.
_EXAMPLES = os.environ.get("XIAOZHI_EXAMPLES")
settings.register_profile(
    "loaded",
    max_examples=int(_EXAMPLES or 40),
    derandomize=_EXAMPLES is None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("loaded")

# A Home Assistant lives as long as its test, so there is little garbage to find: to look for it every 2,000
# objects, as Python does by itself, takes a tenth of the processor time.
gc.set_threshold(20_000)

# Folders of tests whose fixtures have a Home Assistant, and what needs one in the imports of other files.
_WITH_HOME_ASSISTANT = ("e2e", "integration")
_NEEDS_HOME_ASSISTANT = re.compile(
    r"^\s*(?:from|import) (?:homeassistant|custom_components\.xiaozhi(?!\.(?:protocol|util)\b)|demo)\b",
    re.MULTILINE,
)
# Folders of tests that start other processes.
_REAL_TIME = ("e2e", "benchmarks", "demo", "scripts", "validator")
# Their files that take longest, mostly waiting. All but one of the workers on two cores begin with them; the
# rest of those folders comes soon after, between files that keep the processor busy.
_FIRST = ("e2e/test_kill.py", "e2e/test_first_hour.py", "e2e/test_demo.py", "benchmarks/test_quick.py")
_SECOND = ("e2e/test_browser.py", "benchmarks/test_soak.py")
# The workers that begin with a file of one or two tests get a second one at once, which then has to wait.
_BUSY_BEFORE_SECOND = 3
# Characters of a parameter's text in the name of a test.
_MAX_ID = 200
_PORTS = range(12_000, 32_000, 500)
_LOCKED = list[TextIO]()


@cache
def _name(path: Path) -> str:
    return path.relative_to(ROOT / "tests").as_posix()


def _folder(item: pytest.Item) -> str:
    return _name(item.path).partition("/")[0]


@cache
def _needs_home_assistant(path: Path) -> bool:
    is_needed = _name(path).startswith(_WITH_HOME_ASSISTANT)
    return is_needed or _NEEDS_HOME_ASSISTANT.search(path.read_text()) is not None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Run more workers than there are cores, since tests in real time mostly wait."""
    return (os.process_cpu_count() or 1) + 3


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a test by the length of a long text: its name goes to each process of tests and back."""
    return f"{argname}-{len(val)}" if isinstance(val, str | bytes) and len(val) > _MAX_ID else None


def _own_ports() -> range:
    """Ports for this process; none if too many processes run tests.

    None is to take a port that another one has found free and not yet opened, or opens again in a moment.
    """
    for first in _PORTS:
        # Another process has it, or the file is another user's.
        with suppress(OSError):
            file = (Path(gettempdir()) / f"xiaozhi-tests-{first}.lock").open("w")
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # As long as this process lives.
            _LOCKED.append(file)
            return range(first, first + _PORTS.step)
    return range(0)


def pytest_configure(config: pytest.Config) -> None:
    """Log only warnings, since pytest writes each record three times; `-vv` and `caplog` show the rest.

    And choose ports that no other process of tests has.
    """
    if config.get_verbosity() <= 0:
        logging.getLogger().setLevel(logging.WARNING)
    if ports := _own_ports():
        os.environ[PORTS] = f"{ports[0]}-{ports[-1]}"


@pytest.fixture(autouse=True)
def other_timeouts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change the time-outs for a test that is marked so; the nearest mark counts."""
    for mark in reversed(list(request.node.iter_markers("timeouts"))):
        for name, seconds in mark.kwargs.items():
            monkeypatch.setattr(mark.args[0], name, seconds)


@pytest.fixture(autouse=True)
def no_complaints() -> Iterator[None]:
    """Fail a test in which Home Assistant complains of the integration."""
    complaints = Complaints()
    logging.getLogger().addHandler(complaints)
    yield
    logging.getLogger().removeHandler(complaints)
    assert not complaints.lines


def pytest_collection_finish() -> None:
    """Look for no garbage among Home Assistant's modules and the tests, which stay until the end."""
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests in real time, so that the others run while those wait."""
    for item in items:
        if not _needs_home_assistant(item.path):
            item.add_marker("any_version")
    files: dict[str, str] = {_name(item.path): _folder(item) for item in items}
    first = [file for file in _FIRST if file in files]
    in_real_time = [file for file, folder in files.items() if folder in _REAL_TIME and file not in first]
    in_real_time.sort(key=lambda file: _SECOND.index(file) if file in _SECOND else len(_SECOND))
    busy = [file for file, folder in files.items() if folder not in _REAL_TIME]
    begin = [*first, *busy[:_BUSY_BEFORE_SECOND]]
    mixed = chain.from_iterable(zip_longest(in_real_time, busy[_BUSY_BEFORE_SECOND:]))
    order = {file: place for place, file in enumerate((*begin, *mixed)) if file is not None}
    items.sort(key=lambda item: order[_name(item.path)])


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Run tests in virtual time, but for those in which other processes have a part."""
    if _folder(item) in _REAL_TIME or item.get_closest_marker("real_time"):
        return {"real": RealTimeLoop}
    return {"virtual": VirtualTimeLoop}


@pytest.fixture(autouse=True, scope="session")
def ffmpeg_without_version() -> Iterator[None]:
    """Need no ffmpeg where none is used."""

    async def none(_: FFVersion) -> None:
        pass

    with patch.object(FFVersion, "get_version", none):
        yield


@pytest.fixture(autouse=True)
def forget_handlers() -> Iterator[None]:
    """Let no test's Home Assistant live on in aiohttp's list of the handlers that were called last."""
    yield
    web_app._cached_build_middleware.cache_clear()


@pytest.fixture
def hass_config_dir(tmp_path: Path) -> str:
    """Let Home Assistant keep its files in an empty folder, beside no other integration."""
    return str(tmp_path)


def _with_home_assistant(name: str) -> Any:
    """Use a fixture that the Home Assistant plugin has for all tests, in those with a Home Assistant only."""

    @pytest.fixture(autouse=True, name=name)
    def use(request: pytest.FixtureRequest) -> None:
        if "hass" in request.fixturenames:
            request.getfixturevalue(name)

    return use


# They give the event loop Home Assistant's threads, and let no timer of its scripts outlive a test.
configure_event_loop = _with_home_assistant("configure_event_loop")
skip_stop_scripts = _with_home_assistant("skip_stop_scripts")


# Keeps Home Assistant from serving on its usual port: once, as that takes a millisecond.
disable_http_server = pytest.fixture(autouse=True, scope="session")(
    inspect.unwrap(plugins.disable_http_server)
)


@pytest.fixture(autouse=True, scope="module")
def garbage_collection(request: pytest.FixtureRequest) -> None:
    """Collect before each file with a Home Assistant, and not before all others."""
    if _name(request.path).startswith(_WITH_HOME_ASSISTANT):
        gc.collect()
        gc.freeze()


@pytest.fixture(autouse=True)
def enable_event_loop_debug() -> None:
    """Leave debug mode off, which takes half of the time; PYTHONASYNCIODEBUG=1 switches it on."""


@pytest_asyncio.fixture(autouse=True, scope="session", loop_scope="session")
async def mock_zeroconf_resolver() -> AsyncIterator[Any]:
    """Resolve names without zeroconf.

    As the Home Assistant plugin does, but closed: with a loop factory there is one for every test, and each
    holds a thread and files.
    """
    resolver: Any = ThreadedResolver()
    resolver.real_close = resolver.close
    with patch("homeassistant.helpers.aiohttp_client._async_make_resolver", return_value=resolver) as patched:
        yield patched
    await resolver.real_close()
