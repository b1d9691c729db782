"""Failures that tools report in a successful answer, as makers of boards write them.

Stock firmware answers `false`. Others answer an object with the outcome, an error or a code, or begin a text
with the word.
"""

from collections.abc import Iterator
import re
from typing import Any, Final

from ...util.text import one_line
from ..messages import JsonObject

# Names of members by their meaning.
_OUTCOMES: Final = ("success", "succeeded", "succ", "ok", "成功")
_CODES: Final = ("code", "errcode", "err_code", "errno", "errorcode", "error_code", "ret", "retcode")
_STATUSES: Final = ("status", "state", "result", "outcome", "type", "状态", "结果", *_CODES)
_HTTP_CODES: Final = ("status", "statuscode", "status_code")
_FLAGS: Final = ("iserror", "is_error", "failed", "fail")
_ERRORS: Final = ("error", "errors", "err", "exception", "错误", "fehler")
_REASONS: Final = (
    *("message", "msg", "error", "errors", "errmsg", "error_message", "reason", "detail", "description"),
    *("消息", "原因", "错误", "fehler"),
)
# Values of an error member that mean no error.
_NO_ERROR: Final = re.compile(
    r"(?:(?:e|0x)?0+|no(?:[ _]?err(?:or)?s?)?|none|n/?a|null|nil|false|ok|okay|esp_ok|success.*|done|keiner?"
    r"|.*成功|[无没無沒]有?(?:错误|錯誤)?|正常)?[.!。！]?",
    re.DOTALL,
)
_FAILED: Final = re.compile(
    r"err(?:or)?|fail(?:ed|ure)?|false|ng|exception|time[d_ ]*out|denied|rejected|unsupported"
    r"|not[ _-]?(?:found|supported|connected)|失败|失敗|错误|錯誤|异常|出错|超时"
)
# At the beginning of a text, perhaps after a sign or a bracket.
_FAILED_IN_WORDS: Final = re.compile(
    r"""❌ | \W{0,4}(?:
        (?:err(?:or|eur|ore)?|error|fail(?:ed|ure)?|exception|fehler|fehlgeschlagen|[ée]chec|fallo|ошибка|エラー|오류|실패
            |[\u4e00-\u9fff]{0,8}(?:失败|失敗|错误|錯誤)(?:しました)?)(?:\s?[:：,，!！.。\]]|$|\s-\s)
        |(?:failed|unable)\ to\b | could\ ?n[o'’]t\b | can(?:not|'t|’t)\b | 无法 | 無法 | 不支持
        |(?:operation|command|request|call)\ failed\b | timed\ out\b | timeout[.!]?$ | traceback\ \(
        |invalid\ (?:argument|parameter|value|index|input|command)\b | (?:esp_)?err_ | esp_fail
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_MAX_REASON: Final = 500


def reported_failure(answer: Any) -> str | None:
    """Return the reason of a failure that an answer reports, "" if it has none; None for success."""
    match answer:
        case False:
            return ""
        case str() if (match := _FAILED_IN_WORDS.match(text := answer.strip())) and not (
            _NO_ERROR.fullmatch(_word(text)) or _NO_ERROR.fullmatch(_word(text[match.end() :]) or "?")
        ):
            return one_line(answer, _MAX_REASON)
        case {**members}:
            named: JsonObject = {str(name).lower(): given for name, given in members.items()}
            if _has_failed(named):
                return one_line(reason_in(named), _MAX_REASON)
            inner = (named.get(name) for name in ("result", "data", "response"))
            return next((reported_failure(each) for each in inner if isinstance(each, dict)), None)
    return None


def reason_in(answer: JsonObject) -> str:
    """Return the reason among the members of an answer, "" without one."""
    return next(filter(None, _reasons(answer)), "")


def _reasons(answer: JsonObject) -> Iterator[str]:
    for name in _REASONS:
        given = answer.get(name)
        first = given[0] if isinstance(given, list) and given else given
        text = first.get("message") if isinstance(first, dict) else first
        if isinstance(text, str):
            yield text.strip()


def _has_failed(answer: JsonObject) -> bool:
    outcomes = {_word(answer.get(name)) for name in _OUTCOMES}
    statuses = {_word(answer.get(name)) for name in _STATUSES}
    if outcomes & {"0", "no"} or any(map(_FAILED.fullmatch, outcomes | statuses)):
        return True
    # An explicit success may have any code.
    if "true" in outcomes or answer.get("result") is True:
        return False
    if any(_is_error(answer.get(name)) for name in _ERRORS) or any(
        answer.get(name) is True for name in _FLAGS
    ):
        return True
    codes = [_code(answer.get(name)) for name in _CODES]
    codes += [code for name in _HTTP_CODES if 400 <= (code := _code(answer.get(name))) < 600]
    # With a message, as a number alone may be a reading. 200 and its like are those of the web.
    failed = any(code and not 200 <= code < 300 for code in codes)
    return min(codes) < 0 or (failed and _is_error(reason_in(answer)))


def _word(given: object) -> str:
    return str(given).strip().lower() if isinstance(given, bool | int | str) else ""


def _is_error(given: object) -> bool:
    match given:
        case str():
            return not _NO_ERROR.fullmatch(_word(given))
        case {"code": 0 | 200}:
            return False
    return bool(given)


def _code(given: object) -> int:
    try:
        return int(given) if isinstance(given, str | int) and not isinstance(given, bool) else 0
    except ValueError:
        return 0
