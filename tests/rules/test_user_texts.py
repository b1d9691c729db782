"""What users and language models read: why something failed, and in which language."""

import errno
import json
from typing import Any

import pytest

from custom_components.xiaozhi.device.tool_calls import call_error
from custom_components.xiaozhi.guests.firmware import available_firmware
from custom_components.xiaozhi.links.ports import port_error
from custom_components.xiaozhi.protocol.mcp.model import McpCallError, McpNoReasonError
from custom_components.xiaozhi.protocol.mcp.tool import ArgumentError, ToolProperty
from custom_components.xiaozhi.texts.translated import argument_error, language_of_texts
from tests.paths import ROOT

TEXTS = json.loads((ROOT / "custom_components/xiaozhi/translations/en.json").read_text())["exceptions"]


@pytest.mark.parametrize(
    ("err", "text"),
    [
        (McpCallError("Too hot"), "Box refused “Open oven”: Too hot"),
        (McpNoReasonError("silent"), "Box refused “Open oven” and gave no reason."),
    ],
)
def test_a_refusal_is_told_with_the_reason_that_the_device_gave(err: McpCallError, text: str) -> None:
    told = call_error(err, "Box", "Open oven")
    assert told.translation_key is not None
    assert TEXTS[told.translation_key]["message"].format(**told.translation_placeholders).startswith(text)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (None, "speed is not an argument of this tool"),
        ({"type": "boolean"}, "speed must be true or false"),
        ({"type": "integer", "minimum": 0, "maximum": 9}, "speed must be a whole number from 0 to 9"),
        ({"type": "integer"}, "speed must be a whole number from -2147483648 to 2147483647"),
        ({"type": "number"}, "speed must be a number"),
        ({"type": "number", "minimum": 0.5}, "speed must be a number of at least 0.5"),
        ({"type": "number", "maximum": 2}, "speed must be a number of at most 2"),
        ({"type": "number", "minimum": 0, "maximum": 1.5}, "speed must be a number from 0 to 1.5"),
        ({"type": "string"}, "speed must be a text of at most 4096 bytes"),
        ({"type": "string", "enum": ["slow", "fast"]}, "speed must be one of slow, fast"),
        ({"type": "array"}, "speed must be a JSON value of at most 4096 characters"),
    ],
)
def test_a_wrong_argument_is_told_with_what_is_expected(schema: dict[str, Any] | None, text: str) -> None:
    expected = None if schema is None else ToolProperty.from_schema(schema)
    err = ArgumentError("速度", expected)
    error = argument_error(err, tool="Fan turn", argument="speed")
    assert TEXTS[error.key]["message"].format(**error.placeholders) == f"“Fan turn” was not called: {text}."


@pytest.mark.parametrize(
    ("number", "key"),
    [
        (errno.EADDRINUSE, "port_in_use"),
        (errno.EACCES, "port_not_allowed"),
        (errno.EPERM, "port_not_allowed"),
        (errno.ENOBUFS, "port_failed"),
    ],
)
def test_why_a_port_cannot_be_opened_is_a_translation(number: int, key: str) -> None:
    """The operating system's words are English."""
    assert port_error(80, OSError(number, "no such luck")).translation_key == key


def test_a_file_that_may_not_be_read_is_told_by_a_translation() -> None:
    """Here because tests may run as root, who may read every file."""
    refused = PermissionError(errno.EACCES, "Permission denied")
    assert available_firmware._unreadable(refused).key == "firmware_not_allowed"


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("de", "de"),
        ("de_AT", "de"),
        ("DE", "de"),
        ("en-GB", "en"),
        ("pt", "pt-BR"),
        ("pt-PT", "pt-BR"),
        ("zh", "zh-Hans"),
        ("zh-CN", "zh-Hans"),
        ("zh-cmn-Hans-CN", "zh-Hans"),
        ("zh-Hans-HK", "zh-Hans"),
        ("cmn-CN", "zh-Hans"),
        ("zh-TW", "zh-Hant"),
        ("zh-HK", "zh-Hant"),
        ("zh_hant", "zh-Hant"),
        ("yue", "zh-Hant"),
        ("kok", "en"),
        ("", "en"),
        ("../de", "en"),
    ],
)
def test_a_language_of_an_assistant_is_found_among_the_translations(language: str, expected: str) -> None:
    assert language_of_texts(language) == expected


# In the languages of the translations.
PASSWORDS = (
    "password", "passwörter", "contraseña", "mots de passe", "パスワード", "비밀번호", "wachtwoord", "haseł",
    "senha", "парол", "parola", "mật khẩu", "密码", "密碼",
)  # fmt: skip


def test_a_form_says_in_every_language_that_no_password_belongs_into_it() -> None:
    """A list of words for passwords, to refuse fields, can always be got around."""
    for path in (ROOT / "custom_components/xiaozhi/translations").glob("*.json"):
        form = json.loads(path.read_text())["issues"]["device_question"]["fix_flow"]["step"]["answer"]
        assert any(word in form["description"].lower() for word in PASSWORDS), path.stem
