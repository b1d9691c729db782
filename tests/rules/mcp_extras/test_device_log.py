"""Log messages of a device, in bounded form and number."""

from collections.abc import Generator
import logging
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from custom_components.xiaozhi.mcp_extras.device_log import DeviceLog


@pytest.fixture
def clock() -> list[float]:
    """The time, in seconds."""
    return [0.0]


@pytest.fixture
def log(clock: list[float]) -> DeviceLog:
    """The log of a device with a name of its own."""
    hass = SimpleNamespace(loop=SimpleNamespace(time=lambda: clock[0]))
    device: Any = SimpleNamespace(hass=hass, name=f"box {uuid4()}", notification_handlers={})
    log = DeviceLog(device)
    assert device.notification_handlers == {"notifications/message": log.write}
    return log


@pytest.fixture
def records(log: DeviceLog) -> Generator[list[logging.LogRecord]]:
    """What is logged at the level INFO and above."""
    found: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = found.append  # type: ignore[method-assign]
    logger = log.logger
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(handler)
    yield found
    logger.removeHandler(handler)


@pytest.mark.parametrize(
    ("params", "line"),
    [
        ({"level": "emergency", "data": "fire", "logger": "a\nb"}, (50, "a b: fire")),
        ({"level": "notice", "data": [1]}, (20, "[1]")),
        ({"level": "loud", "data": None}, (20, "null")),
        ({"level": 7}, (20, "null")),
        ({"level": "debug", "data": "x"}, None),
        ({"level": "error", "data": "x" * 1000}, (40, "x" * 500)),
    ],
)
def test_a_log_message_is_one_short_line(
    log: DeviceLog, records: list[logging.LogRecord], params: dict[str, Any], line: tuple[int, str] | None
) -> None:
    log.write(params)
    assert [(record.levelno, record.getMessage()) for record in records] == ([line] if line else [])


def test_a_flood_of_log_messages_is_cut_to_one_a_minute(
    log: DeviceLog, records: list[logging.LogRecord], clock: list[float]
) -> None:
    """After 100 in an hour, for the rest of it; that is said once."""
    for second in range(2 * 3600):
        clock[0] = second
        log.write({"level": "error", "data": "x"})
    said = [record.getMessage() for record in records if record.levelno == logging.WARNING]
    assert len(said) == 1
    assert "one message a minute" in said[0]
    assert len(records) - 1 == 2 * (100 + 58)
