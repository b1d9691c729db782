"""Tasks of an MCP server, as in the specification of 2025-11-25: calls whose results are fetched later."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, Final

from ..board.cjson import JsonObject

__all__ = ["Refusal", "Tasks"]

_POLL_MILLISECONDS: Final = 500
_KEPT_MILLISECONDS: Final = 60_000
_BAD_PARAMS: Final = -32602
_RELATED: Final = "io.modelcontextprotocol/related-task"


class Refusal(Exception):  # noqa: N818 - an answer, no error of the program
    """A request is refused."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.error: JsonObject = {"code": code, "message": message}


class _Task:
    """A running or ended task."""

    def __init__(self, task_id: str, kept: int, work: asyncio.Task[JsonObject]) -> None:
        self.work = work
        self._task_id = task_id
        self._kept = kept
        self._created = _now()

    @property
    def status(self) -> str:
        if not self.work.done():
            return "working"
        if self.work.cancelled():
            return "cancelled"
        return "failed" if self.work.exception() else "completed"

    def as_dict(self) -> JsonObject:
        return {
            "taskId": self._task_id,
            "status": self.status,
            "createdAt": self._created,
            "lastUpdatedAt": _now(),
            "ttl": self._kept,
            "pollInterval": _POLL_MILLISECONDS,
        }


class Tasks:
    """The tasks of one client. They are kept until the firmware restarts."""

    def __init__(self, notify: Callable[..., None]) -> None:
        """`notify` sends a notification: its method without `notifications/`, and its params."""
        self._notify = notify
        self._tasks: dict[str, _Task] = {}

    def create(self, asked: JsonObject, work: Coroutine[Any, Any, JsonObject]) -> JsonObject:
        """Start a call as a task, with the member `task` of its params; return the first result."""
        task_id = f"task-{len(self._tasks) + 1}"
        kept = asked.get("ttl")
        running = asyncio.get_running_loop().create_task(work)
        task = _Task(task_id, kept if isinstance(kept, int) else _KEPT_MILLISECONDS, running)
        self._tasks[task_id] = task
        running.add_done_callback(lambda _: self._notify("tasks/status", **task.as_dict()))
        return {"task": task.as_dict()}

    def get(self, params: JsonObject) -> JsonObject:
        """Answer `tasks/get`."""
        return self._find(params).as_dict()

    def list(self, params: JsonObject) -> JsonObject:
        """Answer `tasks/list`, in one page."""
        return {"tasks": [task.as_dict() for task in self._tasks.values()]}

    def cancel(self, params: JsonObject) -> JsonObject:
        """Answer `tasks/cancel`."""
        task = self._find(params)
        if task.work.done():
            raise Refusal(_BAD_PARAMS, f"The task has ended: {task.status}")
        task.work.cancel()
        return task.as_dict() | {"status": "cancelled"}

    async def result(self, params: JsonObject) -> JsonObject:
        """Answer `tasks/result`, when the task has ended."""
        task = self._find(params)
        await asyncio.wait((task.work,))
        if task.work.cancelled():
            raise Refusal(_BAD_PARAMS, "The task was cancelled")
        return task.work.result() | {"_meta": {_RELATED: {"taskId": params["taskId"]}}}

    def end(self) -> None:
        """End all tasks, with the firmware."""
        for task in self._tasks.values():
            task.work.cancel()

    def _find(self, params: JsonObject) -> _Task:
        if (task := self._tasks.get(str(params.get("taskId")))) is None:
            raise Refusal(_BAD_PARAMS, "Task not found")
        return task


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
