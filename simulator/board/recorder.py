"""The device for an observer: its screen and a list of events."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to the device."""

    time: float
    """Seconds since the device was made."""
    kind: str
    """`state`, `sent`, `received`, `screen`, `tool`, `sound`, `http`, `error`, `crash`, ..."""
    data: dict[str, Any]


class Recorder:
    """Stores the events, and wakes all that wait for one."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.started = asyncio.get_running_loop().time()
        """Seconds of the event loop."""
        self.listeners: list[Callable[[Event], None]] = []
        self._waiters: set[asyncio.Future[None]] = set()

    def now(self) -> float:
        """Return the seconds since the start."""
        return asyncio.get_running_loop().time() - self.started

    def add(self, kind: str, /, **data: Any) -> None:
        """Record an event."""
        event = Event(self.now(), kind, data)
        self.events.append(event)
        for listener in self.listeners:
            listener(event)
        self.pulse()

    def pulse(self) -> None:
        """Have all waiting conditions evaluated again."""
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def wait_for(self, condition: Callable[[], bool], timeout: float | None) -> None:  # noqa: ASYNC109
        """Wait until `condition` holds. Raises `TimeoutError` after `timeout` seconds, if given."""
        async with asyncio.timeout(timeout):
            while not condition():
                waiter = asyncio.get_running_loop().create_future()
                self._waiters.add(waiter)
                try:
                    await waiter
                finally:
                    self._waiters.discard(waiter)

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the data of all events of one kind."""
        return [event.data for event in self.events if event.kind == kind]


@dataclass(slots=True)
class Screen:
    """The current and former content of the display."""

    recorder: Recorder
    status: str = ""
    """The status bar."""
    status_changes: int = 0
    user_text: str = ""
    assistant_text: str = ""
    system_text: str = ""
    emotion: str = "neutral"
    emotions: list[str] = field(default_factory=list)
    """Every face in order, including the neutral ones of state changes."""
    captions: list[str] = field(default_factory=list)
    """Every text of the assistant in order."""

    def show_status(self, status: str) -> None:
        """Set the status bar."""
        self.status = status
        self.status_changes += 1
        self.recorder.add("screen", status=status)

    def show_emotion(self, emotion: str) -> None:
        """Set the face."""
        self.emotion = emotion
        self.emotions.append(emotion)
        self.recorder.add("screen", emotion=emotion)

    def show_message(self, role: str, text: str) -> None:
        """Show a chat message of `user`, `assistant` or `system`. An empty one clears their label."""
        if not text:
            self.clear_messages()
            return
        match role:
            case "user":
                self.user_text = text
            case "assistant":
                self.assistant_text = text
                self.captions.append(text)
            case _:
                self.system_text = text
        self.recorder.add("screen", role=role, text=text)

    def show_alert(self, status: str, text: str, emotion: str) -> None:
        """Show a status, a face and a message at once."""
        self.show_status(status)
        self.show_emotion(emotion)
        self.show_message("system", text)

    def clear_messages(self) -> None:
        """Remove the chat texts."""
        self.user_text = self.assistant_text = self.system_text = ""
        self.recorder.add("screen", cleared=True)
