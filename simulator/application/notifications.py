"""Accepts and ends announcements. Source: the firmware's `application.cc`."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from ..board.cjson import JsonObject
from ..link.http_client import HttpClient
from .announcement import Announcement, Outcome, parse_notify
from .control import Control
from .hardware import Hardware
from .mainloop import MainLoop
from .notify_player import NotifyPlayer, Playback
from .state import State


class Notifications:
    """The announcements of a running firmware, on its main task."""

    def __init__(
        self,
        hardware: Hardware,
        loop: MainLoop,
        http: HttpClient,
        control: Control,
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> None:
        """`spawn` starts a task that ends with the firmware."""
        self._screen = hardware.screen
        self._speaker = hardware.speaker
        self._record = hardware.recorder.add
        self._all = hardware.announcements
        self._loop = loop
        self._control = control
        self._player = NotifyPlayer(hardware, http, spawn)
        self._current: Playback | None = None

    def received(self, message: JsonObject) -> None:
        """Check a message on the network task, and have the main task play it."""
        announcement = Announcement(message=message, received=_now())
        self._all.append(announcement)
        match parse_notify(message):
            case str(reason):
                self._end(announcement, Outcome.IGNORED, reason)
            case url, subtitles:
                announcement.url, announcement.subtitles = url, subtitles
                self._loop.schedule(lambda: self._start(announcement))

    async def _start(self, announcement: Announcement) -> None:
        if self._control.state is not State.IDLE:
            self._end(announcement, Outcome.IGNORED, f"the device is {self._control.state}")
            return
        if self._player.busy:
            self._end(announcement, Outcome.IGNORED, "the player is busy")
            return
        self._control.close_microphone()
        await self._control.set_state(State.NOTIFYING)
        self._speaker.flush()
        announcement.outcome, announcement.began = Outcome.PLAYING, _now()
        self._record("announcement", outcome=Outcome.PLAYING.value, url=announcement.url)
        self._record("sound", name="popup")
        self._speaker.popup()
        playback = Playback(
            announcement,
            show=lambda text: self._loop.schedule_call(lambda: self._show(playback, text)),
            finished=lambda failure: self._loop.schedule(lambda: self._finished(playback, failure)),
        )
        self._current = playback
        if not self._player.start(playback):
            await self._stop(Outcome.FAILED, "the address is neither http nor https")

    def _show(self, playback: Playback, text: str) -> None:
        if self._control.state is State.NOTIFYING and self._current is playback:
            playback.announcement.shown.append((_now(), text))
            self._screen.show_message("assistant", text)

    async def _finished(self, playback: Playback, failure: str) -> None:
        outcome = Outcome.FAILED if failure else Outcome.PLAYED
        if self._control.state is State.NOTIFYING and self._current is playback:
            await self._stop(outcome, failure)
        elif not playback.announcement.over:
            # The state was changed under it: it has played on, and ends without any effect.
            self._end(playback.announcement, outcome, failure)

    async def cancel(self, reason: str) -> None:
        """End what is played, if anything is, and go idle."""
        if self._control.state is State.NOTIFYING:
            await self._stop(Outcome.CANCELLED, reason)

    async def _stop(self, outcome: Outcome, reason: str) -> None:
        self._player.stop()
        if self._current is not None:
            self._end(self._current.announcement, outcome, reason)
        self._speaker.flush()
        self._screen.show_message("assistant", "")
        await self._control.set_state(State.IDLE)

    def power_off(self) -> None:
        """Note that what is played ends with the firmware."""
        for announcement in self._all:
            if not announcement.over:
                self._end(announcement, Outcome.CANCELLED, "the device was switched off")

    def _end(self, announcement: Announcement, outcome: Outcome, reason: str) -> None:
        announcement.outcome, announcement.reason, announcement.ended = outcome, reason, _now()
        self._record("announcement", outcome=outcome.value, reason=reason)


def _now() -> float:
    return asyncio.get_running_loop().time()
