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
        ({"status": "timeout"}, ""),
        ({"code": "ERROR", "message": "bad"}, "bad"),
        ({"type": "error", "message": "jammed"}, "jammed"),
        ({"ret": -1}, ""),
        ({"isError": True, "message": "jammed"}, "jammed"),
        ({"failed": True}, ""),
        ({"statusCode": 404, "message": "no such song"}, "no such song"),
        ({"response": {"succ": False}}, ""),
        ({"状态": "失败", "原因": "舵机未连接"}, "舵机未连接"),
        *(
            (text, text)
            for text in (
                *(
                    "Err: busy",
                    "[ERROR] servo",
                    "❌ Servo is stuck",
                    "Operation failed with code 3",
                    "ESP_ERR_TIMEOUT",
                ),
                *(
                    "Unable to connect",
                    "Can't move",
                    "Invalid argument: speed",
                    "Exception: KeyError",
                    "timed out",
                ),
                *(
                    "设置失败：舵机未连接",
                    "执行失败。",
                    "参数错误",
                    "无法连接",
                    "錯誤：參數",
                    "Fehler: Servo",
                    "Échec",
                    "Ошибка: серво",
                ),
                *("失敗しました", "오류: 서보", "Errore: servo"),
            )
        ),
        # Success, or a value.
        *(
            (text, None)
            for text in (
                *(
                    "Error: none",
                    "错误：无",
                    "没有错误",
                    "Errors: 0",
                    "Error log cleared",
                    "失败次数：0",
                    "Fail-safe mode on",
                ),
                *("Timeout: 30 s", "Invalid cards: 0", "Cancelled", "设置成功"),
            )
        ),
        ({"error": "ESP_OK"}, None),
        ({"error": "0x00"}, None),
        ({"error": "没有错误"}, None),
        ({"failed": 0, "errors": []}, None),
        ({"status": 404}, None),
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
