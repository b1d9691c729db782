"""Fixtures of the end-to-end tests: a running demo, shared by the tests of a file."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
import time
import uuid

import pytest
import pytest_asyncio
import pytest_socket

from demo.stage import LINKED, demo
from tests.e2e.demo_process import MARK, START_SECONDS, DemoProcess, started_demo, wait_gone
from tests.e2e.house import PACE, House


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


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_loop() -> None:
    """An event loop for a whole file, whose connections outlive a test."""
    # Before each test the plugin forbids sockets.
    pytest_socket.enable_socket()
    # Its one thread starts before the first test: a thread that starts in a test counts as left behind.
    executor = ThreadPoolExecutor(1, "asyncio")
    executor.submit(int).result()
    asyncio.get_running_loop().set_default_executor(executor)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(shared_loop: None, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[House]:
    """A house with a device on each link."""
    mark = uuid.uuid4().hex
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MARK, mark)
        async with (
            demo(
                tmp_path_factory.mktemp("house"), lambda _text: None, pace=PACE, boxes=LINKED, small=True
            ) as running,
            AsyncExitStack() as stack,
        ):
            house = House(running, mark, stack)
            # Home Assistant saves new areas, for example, only minutes later, or at this event when it stops.
            await running.client.post("/api/events/homeassistant_final_write")
            yield house
    wait_gone(mark)
