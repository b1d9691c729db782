"""A demo that runs, shared by the tests of a file."""

from collections.abc import Iterator
import time

import pytest

from tests.e2e.demo_process import START_SECONDS, DemoProcess, started_demo


@pytest.fixture(scope="module")
def running_demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoProcess]:
    """A demo that is ready to be used."""
    folder = tmp_path_factory.mktemp("demo")
    with started_demo(folder, "--folder", str(folder), "--port", "0") as demo:
        deadline = time.monotonic() + START_SECONDS
        while not (folder / "control.json").exists():
            assert demo.process.poll() is None, f"the demo has ended: {demo.process.communicate()[1]}"
            assert time.monotonic() < deadline, "the demo does not become ready"
            time.sleep(0.2)
        yield demo
