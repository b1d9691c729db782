"""Failures that tools report in a successful answer, as makers of boards write them.

Stock firmware answers `false`. Others answer an object with the outcome, an error or a code, or begin a text
with the word.
"""

from collections.abc import Iterator
import re
from typing import Any, Final

from ..messages import JsonObject
from ..untrusted_text import one_line

# Names of members by their meaning.
_OUTCOMES: Final = ("success", "succeeded", "ok")
_STATUSES: Final = ("status", "state", "result", "outcome")
_ERRORS: Final = ("error", "errors", "err", "exception")
_CODES: Final = ("code", "errcode", "err_code", "errno", "errorcode", "error_code", "ret", "retcode")
_REASONS: Final = (
    *("message", "msg", "error", "errors", "errmsg", "error_message", "reason", "detail", "description"),
)
# Absence of an error, in an answer that always has the member for it.
_NO_ERROR: Final = re.compile(
    r"(?:0|no(?: errors?)?|none|null|false|ok|okay|success.*|done|.*成功|无|正常)?[.!。！]?", re.DOTALL
)
_FAILED: Final = re.compile(r"err(?:or)?|fail(?:ed|ure)?|false|失败|错误|异常|出错")
_FAILED_IN_WORDS: Final = re.compile(
    r"(?:(?:error|fail(?:ed|ure)?|失败|错误)(?:\s?[:：,，!！.。]|$|\s-\s)|failed to\b)", re.IGNORECASE
)
_MAX_REASON: Final = 500


def reported_failure(answer: Any) -> str | None:
    """Return the reason of a failure that an answer reports, "" if it has none; None for success."""
    match answer:
        case False:
            return ""
        case str() if _FAILED_IN_WORDS.match(answer.strip()):
            return one_line(answer, _MAX_REASON)
        case {**members}:
            named: JsonObject = {str(name).lower(): given for name, given in members.items()}
            if _has_failed(named):
                return one_line(reason_in(named), _MAX_REASON)
            inner = (named.get(name) for name in ("result", "data"))
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
    outcomes = [_word(answer[name]) for name in _OUTCOMES if name in answer]
    if any(word in {"0", "no"} or _FAILED.fullmatch(word) for word in outcomes):
        return True
    if any(_FAILED.fullmatch(_word(answer.get(name))) for name in _STATUSES):
        return True
    # What says of itself that it has succeeded may have any code.
    if "true" in outcomes or answer.get("result") is True:
        return False
    reason = reason_in(answer)
    return any(_is_error(answer.get(name)) for name in _ERRORS) or (
        _is_error(reason) and any(_is_error_code(answer.get(name)) for name in _CODES)
    )


def _word(given: object) -> str:
    return str(given).strip().lower() if isinstance(given, bool | int | str) else ""


def _is_error(given: object) -> bool:
    match given:
        case str():
            return not _NO_ERROR.fullmatch(_word(given))
        case {"code": 0 | 200}:
            return False
    return bool(given)


def _is_error_code(given: object) -> bool:
    try:
        code = int(given) if isinstance(given, str | int) else 0
    except ValueError:
        return False
    # 200 and its like are those of the web.
    return code != 0 and not 200 <= code < 300 and not isinstance(given, bool)
