"""What a device asks of a language model and of people is read strictly, and bounded."""

import base64
import contextlib
from typing import Any

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.mcp.client import RequestError
from custom_components.xiaozhi.protocol.mcp.elicitation import FormRequest, PageRequest, parse_elicitation
from custom_components.xiaozhi.protocol.mcp.sampling import SamplingRequest
from custom_components.xiaozhi.protocol.messages import JsonObject
from tests.protocol.mcp.device import JSON_VALUES

TEXT = {"type": "text", "text": "Is it raining?"}
IMAGE = {"type": "image", "data": base64.b64encode(b"picture").decode(), "mimeType": "image/png"}


def question(*content: Any, **more: Any) -> JsonObject:
    messages = [{"role": "user", "content": item} for item in content]
    return {"messages": messages, "maxTokens": 10, **more}


def form(**properties: Any) -> JsonObject:
    return {"message": "Well?", "requestedSchema": {"type": "object", "properties": properties}}


def test_texts_and_images_are_read_in_both_forms_of_the_standard() -> None:
    """One content in a message, or several since 2025-11-25; what is asked for is cut to what is given."""
    request = SamplingRequest.from_dict(question(TEXT, [TEXT, IMAGE], maxTokens=10**6, systemPrompt="Short."))
    assert [message.text for message in request.messages] == ["Is it raining?"] * 2
    assert [image.data for image in request.images] == [b"picture"]
    assert (request.max_tokens, request.system_prompt) == (4096, "Short.")


@pytest.mark.parametrize(
    "params",
    [
        {},
        question(),
        question(TEXT, maxTokens=0),
        question(TEXT, maxTokens=True),
        question(TEXT, maxTokens="10"),
        question(TEXT, tools=[{"name": "a"}]),
        question(TEXT, toolChoice={"mode": "auto"}),
        question(*[TEXT] * 33),
        question(*[[IMAGE]] * 5),
        question({"type": "text", "text": "x" * 20_000}),
        question({"type": "text", "text": 7}),
        question({"type": "audio", "data": "", "mimeType": "audio/wav"}),
        question({**IMAGE, "mimeType": "image/svg+xml"}),
        question({**IMAGE, "data": "no base64"}),
        question("text"),
        {"messages": [{"role": "system", "content": TEXT}], "maxTokens": 1},
        {"messages": "all", "maxTokens": 1},
    ],
)
def test_other_questions_to_a_model_are_refused(params: JsonObject) -> None:
    with pytest.raises(RequestError):
        SamplingRequest.from_dict(params)


def test_a_flat_form_is_read() -> None:
    params = form(
        name={"type": "string", "title": "Name\u202e", "minLength": 2, "maxLength": 10**6, "default": "Ann"},
        mail={"type": "string", "format": "email"},
        age={"type": "integer", "minimum": 1, "maximum": 120, "default": True},
        warm={"type": "boolean", "default": False, "description": "or not"},
        colour={"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"], "default": "g"},
        size={"type": "string", "oneOf": [{"const": "s", "title": "Small"}], "default": "x"},
        days={"type": "array", "items": {"enum": ["mon", "tue"]}, "minItems": 1, "default": ["mon"]},
        more={"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
    )
    params["requestedSchema"]["required"] = ["name", 7]
    request = parse_elicitation(params)
    assert isinstance(request, FormRequest)
    fields = {field.name: field for field in request.fields}
    assert {name: field.kind for name, field in fields.items()} == {
        "name": "string",
        "mail": "string",
        "age": "integer",
        "warm": "boolean",
        "colour": "choice",
        "size": "choice",
        "days": "choices",
        "more": "choices",
    }
    assert [name for name, field in fields.items() if field.required] == ["name"]
    assert (fields["name"].title, fields["name"].minimum, fields["name"].maximum) == ("Name", 2, 1000)
    assert [fields[name].default for name in ("name", "age", "warm", "colour", "size", "days")] == [
        "Ann", None, False, "g", None, ["mon"],
    ]  # fmt: skip
    assert fields["colour"].choices == (("r", "Red"), ("g", "Green"))
    assert (fields["mail"].text_format, fields["warm"].description) == ("email", "or not")


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"message": " "},
        {"message": 7},
        {"message": "a", "mode": "voice"},
        {"message": "a"},
        {"message": "a", "requestedSchema": {"type": "array", "properties": {}}},
        {"message": "a", "requestedSchema": {"type": "object", "properties": []}},
        form(a={"type": "object", "properties": {}}),
        form(a={"type": "array", "items": {"type": "string"}}),
        form(a={"type": "array", "items": {"type": "object"}}),
        form(a={"type": "string", "enum": [1, 2]}),
        form(a={"type": "string", "enum": ["a", "a"]}),
        form(a={"type": "string", "enum": [f"{number}" for number in range(65)]}),
        form(a={"type": "string", "oneOf": ["a"]}),
        form(a={"type": "null"}),
        form(a="string"),
        form(**{"a\nb": {"type": "string"}}),
        form(**{f"a{number}": {"type": "string"} for number in range(17)}),
        form(password={"type": "string"}),
        form(a={"type": "string", "title": "Your PIN"}),
        form(a={"type": "string", "description": "the API key"}),
        {**form(a={"type": "string"}), "message": "Wi-Fi password?"},
        {**form(a={"type": "string"}), "message": "请输入密码"},
        {"message": "a", "mode": "url"},
        {"message": "a", "mode": "url", "url": "file:///etc/passwd"},
        {"message": "a", "mode": "url", "url": "javascript:alert(1)"},
        {"message": "a", "mode": "url", "url": "https://a`b"},
        {"message": "a", "mode": "url", "url": "https://a\nb"},
        {"message": "a", "mode": "url", "url": "https://" + "a" * 3000},
    ],
)
def test_other_questions_to_people_are_refused(params: JsonObject) -> None:
    with pytest.raises(RequestError):
        parse_elicitation(params)


def test_a_page_is_an_address_of_the_web() -> None:
    params = {"message": "Sign in", "mode": "url", "url": "https://example.com/?a=b", "elicitationId": "1"}
    assert parse_elicitation(params) == PageRequest(message="Sign in", url="https://example.com/?a=b")


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
        (SamplingRequest.from_dict, params),
        (parse_elicitation, params),
        (parse_elicitation, form(a=rule)),
    ):
        with contextlib.suppress(RequestError):
            read(given_params)
