"""The time in the status bar of an idle device. Source: the firmware's `lcd_display.cc` and `ota.cc`."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from ..board.cjson import JsonObject, find, is_number
from ..board.recorder import Recorder, Screen

_STATUS_SECONDS: Final = 10


class StatusClock:
    """Replaces the status of an idle device by the time once it is ten seconds old."""

    def __init__(self, screen: Screen, recorder: Recorder, idle: Callable[[], bool]) -> None:
        self._screen = screen
        self._recorder = recorder
        self._idle = idle
        self._at_start: datetime | None = None
        """The local time when the recorder started."""
        self._seen = self._handled = 0

    def set(self, reply: JsonObject) -> None:
        """Take the time from the answer to a check-in."""
        server_time = find(reply, "server_time")
        timestamp, offset = find(server_time, "timestamp"), find(server_time, "timezone_offset")
        if is_number(timestamp):
            minutes = offset if is_number(offset) else 0
            now = datetime.fromtimestamp(timestamp / 1000, UTC) + timedelta(minutes=minutes)
            self._at_start = now - timedelta(seconds=self._recorder.now())

    async def run(self) -> None:
        """Show the time whenever it is due."""
        while True:
            await self._recorder.wait_for(self._is_to_wait, None)
            self._seen = self._screen.status_changes
            try:
                await self._recorder.wait_for(self._is_too_early, _STATUS_SECONDS)
            except TimeoutError:
                self._show()

    def _is_to_wait(self) -> bool:
        return self._idle() and self._screen.status_changes != self._handled

    def _is_too_early(self) -> bool:
        return not self._idle() or self._screen.status_changes != self._seen

    def _show(self) -> None:
        if self._at_start is not None:
            now = self._at_start + timedelta(seconds=self._recorder.now())
            self._screen.show_status(f"{now:%H:%M}")
        self._handled = self._screen.status_changes
