"""Tasks (MCP 2025-11-25): calls that a device answers at once with a task, whose result is fetched later."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

from ..messages import JsonObject
from ..text import label
from .model import McpCallError, McpError, McpProtocolError, McpTimeoutError
from .rpc import McpTimeouts, Progress, Rpc, refusal

__all__ = ["fetch_result", "is_task", "task_params"]

_MAX_ID: Final = 256
_MAX_INTERVAL: Final = 30
_MAX_TEXT: Final = 200

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


async def fetch_result(
    rpc: Rpc,
    result: JsonObject,
    timeouts: McpTimeouts,
    *,
    cancels: bool,
    on_progress: Callable[[Progress], None] | None = None,
) -> JsonObject:
    """Look at a task until it has ended, and return the result of its call. Raises `McpError`.

    With `cancels`, a task whose result is not awaited any more is cancelled.
    """
    task = _Task.from_dict(result["task"])
    ended = False
    try:
        async with asyncio.timeout(timeouts.progress):
            while task.status == "working":
                await asyncio.sleep(max(task.interval, timeouts.task_poll))
                latest = _Task.from_dict(await rpc.request("tasks/get", _about(task), timeouts.read))
                if on_progress and latest.message and latest.message != task.message:
                    on_progress(Progress(progress=0, message=latest.message))
                task = latest
            if task.status == "cancelled":
                ended = True
                raise McpCallError("the device has cancelled the task")
            # With `input_required`, this request carries what the device asks, and then the result.
            answer = await rpc.request("tasks/result", _about(task), timeouts.progress, progress=True)
            ended = True
    except TimeoutError as err:
        raise McpTimeoutError("the task has not ended in time", sent=True) from err
    finally:
        if cancels and not ended:
            with suppress(McpError, TimeoutError):
                async with asyncio.timeout(timeouts.send):
                    await rpc.request("tasks/cancel", _about(task), timeouts.send)
    if task.status == "failed" and answer.get("isError") is not True and "content" not in answer:
        raise refusal(task.message or "")
    return answer


def _about(task: _Task) -> JsonObject:
    return {"taskId": task.task_id}
