"""Tasks (MCP 2025-11-25): calls that a device answers at once with a task, whose result is fetched later."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

from ..messages import JsonObject
from ..text import label
from ..timeouts import McpTimeouts
from .model import McpCallError, McpError, McpProtocolError, McpTimeoutError
from .rpc import Progress, Rpc, refusal

__all__ = ["Tasks", "is_task", "task_params"]

_MAX_ID: Final = 256
_MAX_INTERVAL: Final = 30
_MAX_TEXT: Final = 200
_STATUS: Final = "notifications/tasks/status"

type _Status = Literal["working", "input_required", "completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """State of a task."""

    task_id: str
    status: _Status
    message: str | None
    interval: float
    """Seconds until the next look that the device asks for, bounded; 0 if it asks for none."""

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Read a task. Raises `McpProtocolError`."""
        match data:
            case {
                "taskId": str(task_id),
                "status": "working" | "input_required" | "completed" | "failed" | "cancelled" as status,
            } if 0 < len(task_id) <= _MAX_ID:
                interval = data.get("pollInterval")
                seconds = interval / 1000 if type(interval) in {int, float} else 0
                return cls(
                    task_id=task_id,
                    status=status,
                    message=label(data.get("statusMessage"), _MAX_TEXT),
                    interval=min(max(seconds, 0), _MAX_INTERVAL),
                )
        raise McpProtocolError("the task has no id or no known status")


def task_params(seconds: float) -> JsonObject:
    """Return the member of a request's params that asks for a task whose result is kept for so long."""
    return {"task": {"ttl": round(seconds * 1000)}}


def is_task(result: JsonObject) -> bool:
    """Whether the result of a call is a task."""
    return "content" not in result and isinstance(result.get("task"), dict)


class Tasks:
    """The tasks of one device on one link whose results are awaited."""

    def __init__(self, rpc: Rpc, timeouts: McpTimeouts) -> None:
        """Look at the tasks over `rpc`."""
        self._rpc = rpc
        self._timeouts = timeouts
        self._changes: dict[str, asyncio.Event] = {}

    def notified(self, method: str, params: JsonObject) -> None:
        """Note that a task has changed, so that it is looked at sooner than the device has asked for."""
        task_id = params.get("taskId") if method == _STATUS else None
        if isinstance(task_id, str) and (changed := self._changes.get(task_id)):
            changed.set()

    async def fetch_result(
        self,
        created: JsonObject,
        *,
        cancels: bool,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> JsonObject:
        """Look at a task until it has ended, and return the result of its call. Raises `McpError`.

        With `cancels`, a task whose result is not awaited any more is cancelled.
        """
        task = _Task.from_dict(created["task"])
        if task.task_id in self._changes:
            raise McpProtocolError("the task has the id of another one")
        self._changes[task.task_id] = asyncio.Event()
        ended = False
        try:
            async with asyncio.timeout(self._timeouts.progress):
                task = await self._end_of(task, on_progress)
                if task.status == "cancelled":
                    ended = True
                    raise McpCallError("the device has cancelled the task")
                # With `input_required`, this request carries what the device asks, and then the result.
                answer = await self._rpc.request(
                    "tasks/result", _about(task), self._timeouts.progress, progress=True
                )
                ended = True
        except TimeoutError as err:
            raise McpTimeoutError("the task has not ended in time", sent=True) from err
        finally:
            del self._changes[task.task_id]
            if cancels and not ended:
                with suppress(McpError, TimeoutError):
                    async with asyncio.timeout(self._timeouts.send):
                        await self._rpc.request("tasks/cancel", _about(task), self._timeouts.send)
        if task.status == "failed" and answer.get("isError") is not True and "content" not in answer:
            raise refusal(task.message or "")
        return answer

    async def _end_of(self, task: _Task, on_progress: Callable[[Progress], None] | None) -> _Task:
        """Look at a task until it does not work any more, and return its last state."""
        changed = self._changes[task.task_id]
        while task.status == "working":
            # However often it reports a change, there is a pause between two looks.
            await asyncio.sleep(self._timeouts.task_poll)
            with suppress(TimeoutError):
                async with asyncio.timeout(max(task.interval - self._timeouts.task_poll, 0)):
                    await changed.wait()
            changed.clear()
            latest = _Task.from_dict(await self._rpc.request("tasks/get", _about(task), self._timeouts.read))
            if latest.task_id != task.task_id:
                raise McpProtocolError("the device answers with another task")
            if on_progress and latest.message and latest.message != task.message:
                on_progress(Progress(progress=0, message=latest.message))
            task = latest
        return task


def _about(task: _Task) -> JsonObject:
    return {"taskId": task.task_id}
