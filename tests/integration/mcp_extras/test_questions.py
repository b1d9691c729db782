"""What a device may ask, if its owner allows: the house's language model, and people."""

import asyncio
from typing import Any

from homeassistant.components.ai_task.const import DATA_PREFERENCES
from homeassistant.components.repairs import DOMAIN as REPAIRS
from homeassistant.core import Event, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import issue_registry as ir
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.guests.mcp_extras.device_questions import EVENT_QUESTION
from tests.integration.boxes import call_action
from tests.integration.pictures.eyes import ScriptedEyes, open_eyes
from tests.integration.provisioning.forms import change_device, submit_device
from tests.protocol.transport.udp.device import until

pytestmark = pytest.mark.usefixtures("eyes", "ready")

ANSWERED = {"name": "Ann", "age": 7, "cold": False, "colour": "red", "size": 0.5}


@pytest.fixture
def paired(paired: Any) -> Any:
    """The owner allows everything."""
    return tuple({**box, "data": {**box["data"], "ask_ai": True, "ask_people": True}} for box in paired)


@pytest.fixture
async def eyes(hass: HomeAssistant, core: None) -> ScriptedEyes:
    assert await async_setup_component(hass, "ai_task", {})
    return await open_eyes(hass)


@pytest.fixture
def told(hass: HomeAssistant) -> list[Event[Any]]:
    return async_capture_events(hass, EVENT_QUESTION)


async def use(hass: HomeAssistant, device_id: str, tool: str) -> Any:
    """Call a tool of the device, in the middle of which it asks; return the answer that it got."""
    return (await call_action(hass, "call_tool", device_id, tool=tool))["result"]


def outcomes(told: list[Event[Any]]) -> list[tuple[str, str]]:
    return [(event.data["kind"], event.data["outcome"]) for event in told]


async def test_the_ai_task_answers_a_device_without_tools_and_without_the_house(
    hass: HomeAssistant, eyes: ScriptedEyes, device_id: str, told: list[Event[Any]], full: Any
) -> None:
    """Texts in, text out; the answer has as many tokens as the device wants at most."""
    eyes.sees = "Yes. " * 100
    answer = await use(hass, device_id, "ask_ai")
    assert (answer["role"], answer["model"], answer["stopReason"]) == (
        "assistant", "Home Assistant AI Task", "maxTokens",
    )  # fmt: skip
    assert answer["content"] == {"type": "text", "text": ("Yes. " * 100)[:200]}
    assert eyes.tools == [None]
    assert eyes.questions[0].startswith("Answer with one word.\n\nuser: Is it raining?\n\nassistant: Where?")
    assert "kitchen" not in eyes.questions[0].lower()
    assert outcomes(told) == [("ai", "answered")]
    assert full.offer.capabilities.sampling is not None


async def test_a_storm_of_questions_is_refused(
    hass: HomeAssistant, eyes: ScriptedEyes, device_id: str, told: list[Event[Any]]
) -> None:
    """And told in the logbook a few times only."""
    answers = [await use(hass, device_id, "ask_ai") for _ in range(20)]
    assert [answer.get("code") for answer in answers[:5]] == [None] * 5
    assert answers[-1] == {"code": -32000, "message": "Too many questions: ask again later"}
    assert outcomes(told)[-1] == ("ai", "refused")
    assert outcomes(told).count(("ai", "refused")) == 3
    assert len(eyes.questions) <= 6


async def test_a_failure_of_the_model_is_told_without_details(
    hass: HomeAssistant, eyes: ScriptedEyes, device_id: str
) -> None:
    failed = {"code": -1, "message": "The language model failed"}
    for eyes.sees in (HomeAssistantError("no quota"), RuntimeError("oops")):
        assert await use(hass, device_id, "ask_ai") == failed
    hass.data[DATA_PREFERENCES].async_set_preferences(gen_data_entity_id=None)
    assert await use(hass, device_id, "ask_ai") == failed


async def question_of(hass: HomeAssistant) -> ir.IssueEntry:
    def found() -> list[ir.IssueEntry]:
        issues = ir.async_get(hass).issues.values()
        return [each for each in issues if each.issue_id.startswith("device_question_") and each.active]

    await until(lambda: bool(found()))
    return found()[0]


async def step(client: Any, path: str, **data: Any) -> Any:
    response = await client.post(f"/api/repairs/issues/fix{path}", json=data)
    return await response.json()


@pytest.mark.parametrize(
    ("choice", "answer", "outcome"),
    [
        ("answer", {"action": "accept", "content": ANSWERED}, "answered"),
        ("decline", {"action": "decline"}, "declined"),
        ("cancel", {"action": "cancel"}, "cancelled"),
    ],
)
async def test_a_person_answers_a_form(
    hass: HomeAssistant,
    device_id: str,
    told: list[Event[Any]],
    hass_client: ClientSessionGenerator,
    choice: str,
    answer: dict[str, Any],
    outcome: str,
) -> None:
    """A repair with a form, which others may have open, too, and a notification: both go with the answer."""
    assert await async_setup_component(hass, REPAIRS, {})
    client = await hass_client()
    asking = asyncio.create_task(use(hass, device_id, "ask_person"))
    issue = await question_of(hass)
    notification = hass.data["persistent_notification"][issue.issue_id]
    assert "Who are you?" in notification["message"]
    flow, of_another = [await step(client, "", handler=DOMAIN, issue_id=issue.issue_id) for _ in range(2)]
    assert flow["menu_options"] == ["answer", "decline", "cancel"]
    assert flow["description_placeholders"]["message"] == "Who are you?"
    result = await step(client, f"/{flow['flow_id']}", next_step_id=choice)
    if choice == "answer":
        keys = [field["name"] for field in result["data_schema"]]
        labels = [result["description_placeholders"][key.replace("field", "label")] for key in keys]
        assert labels == ["Name", "age (1–120)", "cold", "colour", "size (≥ 0)", "Name (mail)"]
        name, age, cold, colour, size, mail = keys
        for answers, errors in (
            ({name: "", age: 121}, {name: "too_short", age: "out_of_range"}),
            (
                {name: "A" * 21, age: 1.5, size: -0.5},
                {name: "too_long", age: "not_whole", size: "out_of_range"},
            ),
        ):
            assert (await step(client, f"/{flow['flow_id']}", **answers))["errors"] == errors
        answers = {name: "Ann", age: 7.0, cold: False, colour: "red", size: 0.5, mail: ""}
        result = await step(client, f"/{flow['flow_id']}", **answers)
    assert result["type"] == "create_entry"
    assert await asking == answer
    assert (await step(client, f"/{of_another['flow_id']}", next_step_id=choice))["reason"] == "gone"
    assert ir.async_get(hass).async_get_issue(DOMAIN, issue.issue_id) is None
    assert issue.issue_id not in hass.data["persistent_notification"]
    assert outcomes(told) == [("people", outcome)]


# Longer than other calls may take. In five minutes the device would send 5,000 packets of sound.
async def test_a_question_without_an_answer_is_cancelled_and_ends_with_the_link(
    hass: HomeAssistant, ready: Any, device_id: str
) -> None:
    """The call in which it was asked lives as long."""
    assert await use(hass, device_id, "ask_person") == {"action": "cancel"}
    asking = asyncio.create_task(use(hass, device_id, "ask_person"))
    issue = await question_of(hass)
    # The first answer counts.
    for ignore in (True, False, True):
        ir.async_ignore_issue(hass, DOMAIN, issue.issue_id, ignore=ignore)
    assert await asking == {"action": "cancel"}
    asking = asyncio.create_task(use(hass, device_id, "ask_person"))
    issue = await question_of(hass)
    await ready.async_close()
    with pytest.raises(HomeAssistantError):
        await asking
    await until(lambda: ir.async_get(hass).async_get_issue(DOMAIN, issue.issue_id) is None)


async def test_the_owner_takes_it_back_at_once(
    hass: HomeAssistant, device_id: str, linked_entry: MockConfigEntry, full: Any
) -> None:
    form = await change_device(hass, linked_entry)
    part = form["data_schema"].schema["permissions"]
    assert list(map(str, part.schema.schema)) == ["assistant_tools", "ask_ai", "ask_people"]
    refused = {"ask_ai": False, "ask_people": False}
    await submit_device(hass, form, share_transcripts=False, permissions=refused)
    await until(lambda: full.offer.capabilities.sampling is None)
    assert full.offer.capabilities.elicitation is None
    assert (await use(hass, device_id, "ask_ai"))["message"] == "Method not found"
    assert (await use(hass, device_id, "ask_person"))["message"] == "Method not found"
