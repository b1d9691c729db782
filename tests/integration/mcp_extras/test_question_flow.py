"""The form in which a person answers a device."""

from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.mcp_extras.person_questions import OPEN_QUESTIONS, OpenQuestion
from custom_components.xiaozhi.mcp_extras.question_flow import QuestionFlow
from custom_components.xiaozhi.mcp_extras.question_form import parse_question_form


@pytest.fixture
async def flow(hass: HomeAssistant) -> QuestionFlow:
    """The form of a question with a field of every kind."""
    assert await async_setup_component(hass, "repairs", {})
    properties = {
        "whole": {"type": "integer", "minimum": 1, "maximum": 9},
        "half": {"type": "number", "minimum": 0},
        "text": {"type": "string", "minLength": 2, "maxLength": 4, "title": "Same"},
        "mail": {"type": "string", "title": "Same", "description": "Where to"},
        "pick": {"type": "string", "enum": ["a", "b"], "default": "b"},
    }
    params = {"message": "Well?", "requestedSchema": {"type": "object", "properties": properties}}
    question = OpenQuestion(
        form=parse_question_form(params), placeholders={}, answer=hass.loop.create_future()
    )
    hass.data[OPEN_QUESTIONS] = {"issue": question}
    flow = QuestionFlow()
    flow.hass, flow.handler, flow.flow_id = hass, DOMAIN, "flow"
    flow.context = {"issue_id": "issue"}
    return flow


async def test_every_kind_of_field_is_asked_for_and_checked(hass: HomeAssistant, flow: QuestionFlow) -> None:
    form = await flow.async_step_answer()
    assert form["data_schema"] is not None
    keys = list(map(str, form["data_schema"].schema))
    placeholders = form["description_placeholders"]
    assert placeholders is not None
    assert [placeholders[key.replace("field", "label")] for key in keys] == [
        "whole (1–9)", "half (≥ 0)", "Same", "Same (mail)", "pick",
    ]  # fmt: skip
    whole, half, text, mail, pick = keys
    for given, errors in (
        ({whole: 1.5}, {whole: "not_whole"}),
        ({whole: 10, half: -0.5}, {whole: "out_of_range", half: "out_of_range"}),
        ({text: "x"}, {text: "too_short"}),
        ({text: "xxxxx"}, {text: "too_long"}),
    ):
        assert (await flow.async_step_answer(given))["errors"] == errors
    given = {whole: 2.0, half: 0.5, mail: "", pick: "a"}
    assert (await flow.async_step_answer(given))["type"] == "create_entry"
    question = hass.data[OPEN_QUESTIONS]["issue"]
    content = {"whole": 2, "half": 0.5, "pick": "a"}
    assert await question.answer == {"action": "accept", "content": content}
    question.resolve("decline")


async def test_a_form_whose_question_is_gone_says_so(hass: HomeAssistant, flow: QuestionFlow) -> None:
    hass.data[OPEN_QUESTIONS].clear()
    for step in (flow.async_step_init, flow.async_step_answer, flow.async_step_decline):
        assert (await step())["reason"] == "gone"
