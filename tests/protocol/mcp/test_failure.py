"""Failures that tools of real boards report in a successful answer."""

import json
from typing import Any

from hypothesis import given
import pytest

from custom_components.xiaozhi.protocol.mcp.failure import reported_failure
from custom_components.xiaozhi.protocol.mcp.result import ToolResult
from tests.protocol.mcp.device import JSON_VALUES


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (False, ""),
        ({"success": False, "message": "index out of range"}, "index out of range"),
        ({"Success": "false", "msg": "no\nsuch line"}, "no such line"),
        ({"ok": 0, "reason": "busy"}, "busy"),
        ({"result": False}, ""),
        ({"result": "failed", "detail": "no power"}, "no power"),
        ({"status": "ERROR"}, ""),
        ({"state": "失败", "message": "舵机未连接"}, "舵机未连接"),
        ({"error": "servo driver board not connected"}, "servo driver board not connected"),
        ({"error": {"code": -3, "message": "jammed"}}, "jammed"),
        ({"errors": ["too hot"], "message": ""}, "too hot"),
        ({"error": True, "description": "out of paper"}, "out of paper"),
        ({"code": -1, "message": "out of range"}, "out of range"),
        ({"errcode": "40013", "errmsg": "invalid"}, "invalid"),
        ({"code": 500, "msg": "internal"}, "internal"),
        ({"result": {"success": False, "message": "stuck"}}, "stuck"),
        ({"data": {"error": "offline"}}, "offline"),
        ("Error: I2C not found", "Error: I2C not found"),
        ("Failed to move", "Failed to move"),
        ("失败：超出范围", "失败：超出范围"),
        # Success, or a value.
        (True, None),
        (None, None),
        (0, None),
        ("done", None),
        ("error correction is on", None),
        ("Failover is on", None),
        ({}, None),
        ({"success": True, "message": "error log cleared", "code": 7}, None),
        ({"ok": True, "error": ""}, None),
        ({"error": None, "message": "moved"}, None),
        ({"error": "none"}, None),
        ({"error": 0, "level": 5}, None),
        ({"error": {"code": 0, "message": "ok"}}, None),
        ({"code": 0, "message": "ok"}, None),
        ({"code": 200, "message": "moved"}, None),
        ({"code": 1, "msg": "设置成功"}, None),
        ({"code": 55}, None),
        ({"code": True, "message": "x"}, None),
        ({"result": 0}, None),
        ({"status": "ready", "errors": []}, None),
        ([False], None),
    ],
)
def test_a_failure_is_found_with_its_reason(answer: Any, reason: str | None) -> None:
    assert reported_failure(answer) == reason
    text = answer if isinstance(answer, str) else json.dumps(answer)
    assert ToolResult(text=text).failure == reason
    if isinstance(answer, dict):
        assert ToolResult(structured=answer).failure == reason
        assert ToolResult(text="Called.", structured=answer).failure == reason


@given(JSON_VALUES)
def test_any_answer_is_judged(answer: Any) -> None:
    assert isinstance(reported_failure(answer), str | None)
