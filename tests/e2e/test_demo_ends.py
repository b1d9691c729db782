"""A demo that is ended while it starts leaves nothing behind."""

from pathlib import Path
import signal

import pytest

from tests.e2e.demo_process import started_demo

pytestmark = [pytest.mark.weekly, pytest.mark.timeout(460), pytest.mark.usefixtures("socket_enabled")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_demo_leaves_no_process(number: signal.Signals, tmp_path: Path) -> None:
    """Whatever ends it, even while it starts."""
    with started_demo(tmp_path, "--check") as demo:
        demo.wait_for("homeassistant")
        demo.wait_for_processes(4)
        demo.process.send_signal(number)
        demo.process.wait(timeout=60)
        demo.wait_gone()
        expected = -number if number == signal.SIGKILL else 128 + number
        assert demo.process.returncode == expected
