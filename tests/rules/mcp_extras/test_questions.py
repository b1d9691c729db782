"""What a device asks of a language model and of people is read strictly, and bounded."""

import contextlib
from typing import Any

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.guests.mcp_extras.ai_questions import read_question
from custom_components.xiaozhi.guests.mcp_extras.question_form import parse_question_form
from custom_components.xiaozhi.protocol.mcp.model import RequestError
from custom_components.xiaozhi.protocol.messages import JsonObject
from tests.protocol.mcp.device import JSON_VALUES

TEXT = {"type": "text", "text": "Is it raining?"}
IMAGE = {"type": "image", "data": "", "mimeType": "image/png"}


def question(*content: Any, **more: Any) -> JsonObject:
    messages = [{"role": "user", "content": item} for item in content]
    return {"messages": messages, "maxTokens": 10, **more}


def form(**properties: Any) -> JsonObject:
    return {"message": "Well?", "requestedSchema": {"type": "object", "properties": properties}}


def test_texts_are_read_in_both_forms_of_the_standard() -> None:
    """One content in a message, or several since 2025-11-25; what is asked for is cut to what is given."""
    text, characters = read_question(question(TEXT, [TEXT, TEXT], maxTokens=10**6, systemPrompt="Short."))
    assert text == (
        "Short.\n\nuser: Is it raining?\n\nuser: Is it raining?\nIs it raining?\n\n"
        "Answer with plain text of at most 4096 tokens."
    )
    assert characters == 4 * 4096
    assert read_question(question(TEXT))[0].startswith("Is it raining?\n\nAnswer")


@pytest.mark.parametrize(
    "params",
    [
        {},
        question(),
        question(TEXT, maxTokens=0),
        question(TEXT, maxTokens=True),
        question(TEXT, tools=[{"name": "a"}]),
        question(TEXT, toolChoice={"mode": "auto"}),
        question(*[TEXT] * 33),
        question(IMAGE),
        question({"type": "text", "text": "x" * 20_000}),
        question({"type": "text", "text": 7}),
        question("text"),
        {"messages": [{"role": "system", "content": TEXT}], "maxTokens": 1},
        {"messages": "all", "maxTokens": 1},
    ],
)
def test_other_questions_to_a_model_are_refused(params: JsonObject) -> None:
    with pytest.raises(RequestError):
        read_question(params)


def test_a_flat_form_is_read() -> None:
    params = form(
        name={"type": "string", "title": "Name\u202e", "minLength": 2, "maxLength": 10**6, "default": "Ann"},
        mail={"type": "string", "format": "email"},
        age={"type": "integer", "minimum": 1, "maximum": 120, "default": True},
        warm={"type": "boolean", "default": False, "description": "or not"},
        colour={"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"], "default": "g"},
        size={"type": "string", "oneOf": [{"const": "s", "title": "Small"}], "default": "x"},
        stars={"type": "integer", "default": 1e300},
    )
    params["requestedSchema"]["required"] = ["name", 7]
    _, listed = parse_question_form(params)
    fields = {field.name: field for field in listed}
    assert {name: field.kind for name, field in fields.items()} == {
        "name": "string",
        "mail": "string",
        "age": "integer",
        "warm": "boolean",
        "colour": "choice",
        "size": "choice",
        "stars": "integer",
    }
    assert [name for name, field in fields.items() if field.required] == ["name"]
    assert (fields["name"].title, fields["name"].minimum, fields["name"].maximum) == ("Name", 2, 1000)
    assert [fields[name].default for name in ("name", "age", "warm", "colour", "size", "stars")] == [
        "Ann", None, False, "g", None, None,
    ]  # fmt: skip
    assert fields["colour"].choices == (("r", "Red"), ("g", "Green"))
    assert fields["warm"].description == "or not"


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"message": " "},
        {"message": 7},
        {"message": "a"},
        {"message": "a", "requestedSchema": {"type": "object", "properties": []}},
        form(a={"type": "object", "properties": {}}),
        form(a={"type": "array", "items": {"type": "string"}}),
        form(a={"type": "string", "enum": [1, 2]}),
        form(a={"type": "string", "enum": ["a", "a"]}),
        form(a={"type": "string", "enum": [f"{number}" for number in range(65)]}),
        form(a={"type": "string", "oneOf": ["a"]}),
        form(a="string"),
        form(**{"a\nb": {"type": "string"}}),
        form(**{f"a{number}": {"type": "string"} for number in range(17)}),
        {"message": "Sign in", "mode": "url", "url": "https://example.com/"},
    ],
)
def test_other_questions_to_people_are_refused(params: JsonObject) -> None:
    with pytest.raises(RequestError):
        parse_question_form(params)


@given(
    params=st.dictionaries(
        st.sampled_from(["message", "mode", "url", "requestedSchema", "messages", "maxTokens"]), JSON_VALUES
    ),
    rule=st.dictionaries(
        st.sampled_from(["type", "enum", "enumNames", "oneOf", "items", "default", "minimum", "title"]),
        JSON_VALUES | st.sampled_from(["string", "array", "integer", "boolean", "number"]),
    ),
)
def test_any_question_is_read_or_refused(params: JsonObject, rule: JsonObject) -> None:
    for read, given_params in (
        (read_question, params),
        (parse_question_form, params),
        (parse_question_form, form(a=rule)),
    ):
        with contextlib.suppress(RequestError):
            read(given_params)
