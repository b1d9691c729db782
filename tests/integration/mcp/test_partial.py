"""Devices that announce more than they serve, and forms with fields of every kind."""

import asyncio
from collections.abc import Callable
from functools import partial
import logging
from typing import Any
from uuid import uuid4

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.device.log import log_level, log_message
from custom_components.xiaozhi.device.offers import FollowedResources, Offers
from custom_components.xiaozhi.mcp.people import OPEN_QUESTIONS, OpenQuestion, plain_markdown
from custom_components.xiaozhi.mcp.question_flow import QuestionFlow
from custom_components.xiaozhi.protocol.mcp.elicitation import parse_elicitation
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import Profile, SimulatedDevice, State, get_profile
from tests.integration.boxes import CLIENT_ID, MAC, OTHER_MAC, Boot, Speech, paired_device
from tests.protocol.transport.udp.device import until

type Json = dict[str, Any]


@pytest.fixture
def link() -> LinkKind:
    """On this one a device stays connected."""
    return LinkKind.MQTT


class Program:
    """Answers from a table; what is not in it is refused."""

    def __init__(self, capabilities: Json, answers: Json, send: Callable[[Json], None]) -> None:
        self.tools: list[Any] = []
        self.asked: list[str] = []
        self.send = send
        self._answers = answers
        self._capabilities = capabilities

    def handle(self, message: Json) -> bool:
        """Answer everything but what is about tools."""
        method = message.get("method", "")
        if method.startswith("tools/") or "id" not in message:
            return method.startswith("notifications/") or not method
        self.asked.append(method)
        reply: Json = {"jsonrpc": "2.0", "id": message["id"]}
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            info = {"name": "partial", "version": "2.5.0"}
            result = {"protocolVersion": version, "capabilities": self._capabilities, "serverInfo": info}
            self.send(reply | {"result": result})
        elif method in self._answers:
            self.send(reply | {"result": self._answers[method]})
        else:
            self.send(reply | {"error": {"code": -32603, "message": "out of order"}})
        return True

    async def run(self) -> None:
        """Do nothing by itself."""
        await asyncio.Event().wait()


async def started(
    boot: Boot,
    entry: MockConfigEntry,
    capabilities: Json,
    profile: Profile | None = None,
    **answers: Any,
) -> tuple[Any, Program, SimulatedDevice]:
    """Switch a device on; return it as we know it, and its program."""
    table = {name.replace("_", "/"): answer for name, answer in answers.items()}
    device = await boot(profile, program=partial(Program, capabilities, table))
    program = device._on.mcp.program
    assert isinstance(program, Program)
    (known,) = entry.runtime_data.devices.values()
    await until(lambda: known.state.capabilities.extended and bool(known.tools))
    return known, program, device


async def act(hass: HomeAssistant, device_id: str, action: str, **data: Any) -> Any:
    return await hass.services.async_call(
        DOMAIN, action, {"device_id": device_id, **data}, blocking=True, return_response=True
    )


async def test_a_refused_list_keeps_nothing_from_the_others(
    hass: HomeAssistant, linked_entry: MockConfigEntry, boot: Boot, device_id: str
) -> None:
    """The level, the templates and the prompts are refused; the resources are there, and are polled."""
    resources = {"resources": [{"uri": "a:b", "name": "a"}]}
    capabilities = {"tools": {}, "resources": {"subscribe": True}, "prompts": {}, "logging": {}}
    known, program, _ = await started(
        boot, linked_entry, capabilities, resources_list=resources,
        resources_read={"contents": [{"uri": "a:b", "text": "1"}]},
    )  # fmt: skip
    await until(lambda: "prompts/list" in program.asked)
    assert [resource.uri for resource in known.state.offers.resources] == ["a:b"]
    assert known.state.offers.templates == known.state.offers.prompts == ()
    end = known.resources.follow("a:b")
    await until(lambda: "a:b" in known.resources.contents)
    assert program.asked.count("resources/subscribe") == 1
    reads = program.asked.count("resources/read")
    await asyncio.sleep(700)
    assert program.asked.count("resources/read") - reads in {2, 3}
    end()
    assert known.resources.contents == {}
    with pytest.raises(ServiceValidationError, match="proposes no values"):
        await act(hass, device_id, "complete_argument", argument="a", uri="a://{b}")


async def test_a_device_with_prompts_only_offers_no_resources(
    hass: HomeAssistant, linked_entry: MockConfigEntry, boot: Boot, device_id: str
) -> None:
    known, program, _ = await started(
        boot, linked_entry, {"prompts": {}}, prompts_list={"prompts": [{"name": "p"}]}
    )
    await until(lambda: bool(known.state.offers.prompts))
    with pytest.raises(ServiceValidationError, match="offers no resources"):
        await act(hass, device_id, "read_resource", uri="a:b")
    known.resources.follow("a:b")
    await hass.async_block_till_done()
    assert not [method for method in program.asked if method.startswith("resources/")]
    with pytest.raises(HomeAssistantError, match="out of order"):
        await act(hass, device_id, "get_prompt", prompt="p")
    await known.async_close()
    with pytest.raises(HomeAssistantError):
        await act(hass, device_id, "get_prompt", prompt="p")


async def test_an_answer_to_a_prompt_is_spoken_and_other_content_left_out(
    hass: HomeAssistant, speech: Speech, linked_entry: MockConfigEntry, boot: Boot, device_id: str
) -> None:
    image = {"type": "image", "data": "", "mimeType": "image/png"}
    messages = [
        {"role": "user", "content": {"type": "text", "text": "Say hello."}},
        {"role": "user", "content": image},
    ]
    known, _, device = await started(
        boot,
        linked_entry,
        {"prompts": {}},
        get_profile(version="2.5.0"),
        prompts_list={"prompts": [{"name": "p"}]},
        prompts_get={"messages": messages},
    )
    await until(lambda: bool(known.state.offers.prompts))
    answer = await act(hass, device_id, "get_prompt", prompt="p")
    assert answer["messages"][1] == {"role": "user", "content": image}
    with pytest.raises(ServiceValidationError, match="no conversation agent"):
        await act(hass, device_id, "run_prompt", prompt="p", agent_id="conversation.nobody")
    await device.wake()
    await device.wait_state(State.LISTENING, 5)
    speech.agent.lines = ["Hello!"]
    ran = await act(hass, device_id, "run_prompt", prompt="p", agent_id=speech.agent.entity_id, speak=True)
    assert ran == {"answer": "Hello!"}
    assert speech.agent.heard == ["Say hello."]
    await device.wait_for(lambda: device.played_seconds > 0, 10)


async def test_what_other_firmware_offered_is_gone_with_it(
    hass: HomeAssistant, linked_entry: MockConfigEntry, boot: Boot
) -> None:
    """The owner has installed stock firmware again, which then gets its usual handshake."""
    prompts = {"prompts": [{"name": "p"}]}
    known, _, device = await started(boot, linked_entry, {"prompts": {}}, prompts_list=prompts)
    await until(lambda: bool(known.state.offers.prompts))
    await device.power_off()
    await boot()
    await until(lambda: not known.state.capabilities.extended and not known.state.offers.prompts)
    assert known.offer.latest is False


class TestTwoDevices:
    """Beside each other."""

    @pytest.fixture
    def paired(self) -> tuple[Any, ...]:
        boxes = paired_device(MAC, CLIENT_ID), paired_device(OTHER_MAC, CLIENT_ID, title="Other box")
        return tuple({**box, "data": {**box["data"], "ask_ai": True}} for box in boxes)

    async def test_a_device_that_floods_disturbs_no_other(
        self, hass: HomeAssistant, linked_entry: MockConfigEntry, boot: Boot
    ) -> None:
        """Reports, questions and answers to nothing are bounded, and the other device answers meanwhile."""
        resources = {"resources": [{"uri": "a:b", "name": "a"}]}
        answers = {"resources/list": resources, "resources/read": {"contents": [{"uri": "a:b", "text": "1"}]}}
        capabilities = {"tools": {}, "resources": {"subscribe": True}, "logging": {}}
        flooding = await boot(program=partial(Program, capabilities, answers))
        other = await boot(mac=OTHER_MAC)
        devices = linked_entry.runtime_data.devices
        await until(lambda: bool(devices[MAC].state.offers.resources) and bool(devices[OTHER_MAC].tools))
        program = flooding._on.mcp.program
        assert isinstance(program, Program)
        program.asked.clear()
        call: Json = {"jsonrpc": "2.0"}
        for number in range(300):
            uri = {"uri": f"a:{number}"}
            program.send(call | {"method": "notifications/resources/updated", "params": uri})
            program.send(call | {"method": "notifications/resources/list_changed"})
            message = {"level": "error", "data": "x"}
            program.send(call | {"method": "notifications/message", "params": message})
            program.send(call | {"method": "sampling/createMessage", "id": number, "params": {}})
            program.send(call | {"id": number + 10**6, "result": {}})
            if number % 100 == 0:
                tool, arguments = "self.audio_speaker.set_volume", {"volume": number // 10}
                await devices[OTHER_MAC].commands.call_tool(tool, arguments)
                assert other.values["volume"] == number // 10
        await asyncio.sleep(60)
        # Its questions are answered, as far as their number is borne.
        assert 1 <= program.asked.count("") <= 300
        assert 1 <= program.asked.count("resources/list") <= 4
        assert "resources/read" not in program.asked


def test_stored_offers_are_read_again_and_damaged_ones_left_out() -> None:
    offers = Offers.from_dict(
        {
            "resources": [{"name": "a", "uri": "a:b"}, 7],
            "templates": [{"name": "a", "uriTemplate": "a:{b}"}],
            "prompts": [{"name": "p"}, None],
        }
    )
    assert Offers.from_dict(offers.as_dict()) == offers
    assert (len(offers.resources), len(offers.templates), len(offers.prompts)) == (1, 1, 1)
    assert Offers.from_dict(None) == Offers.from_dict({"resources": "all"}) == Offers()


def test_a_resource_is_followed_once_for_several_entities() -> None:
    changes: list[str] = []
    followed = FollowedResources()
    followed.on_change = changes.append
    ends = [followed.follow("a:b"), followed.follow("a:b")]
    followed.contents["a:b"] = followed.contents["c:d"] = ()
    assert (followed.wanted, changes) == (("a:b",), ["a:b"])
    followed.keep({"a:b"})
    assert list(followed.contents) == ["a:b"]
    ends[0]()
    assert changes == ["a:b"]
    ends[1]()
    assert (followed.wanted, followed.contents, changes) == ((), {}, ["a:b", "a:b"])


def own_logger(level: int) -> logging.Logger:
    """A logger whose records go to its own handlers only."""
    logger = logging.getLogger(f"test_partial.{uuid4()}")
    logger.setLevel(level)
    logger.propagate = False
    return logger


@pytest.mark.parametrize(
    ("level", "name"),
    [
        (10, "debug"),
        (20, "info"),
        (30, "warning"),
        (35, "error"),
        (40, "error"),
        (50, "critical"),
        (60, "emergency"),
    ],
)
def test_the_level_of_a_logger_as_the_device_is_told(level: int, name: str) -> None:
    logger = own_logger(level)
    assert log_level(logger) == name


@pytest.mark.parametrize(
    ("params", "line"),
    [
        ({"level": "emergency", "data": "fire", "logger": "a\nb"}, (50, "a b: fire")),
        ({"level": "notice", "data": [1]}, (20, "[1]")),
        ({"level": "loud", "data": None}, (20, "null")),
        ({"level": 7}, (20, "null")),
        ({"level": "debug", "data": "x"}, None),
        ({"level": "error", "data": "x" * 1000}, (40, "x" * 500)),
    ],
)
def test_a_log_message_is_one_short_line(params: Json, line: tuple[int, str] | None) -> None:
    records: list[logging.LogRecord] = []
    logger = own_logger(20)
    handler = logging.Handler()
    handler.emit = records.append
    logger.addHandler(handler)
    log_message(logger, params)
    assert [(record.levelno, record.getMessage()) for record in records] == ([line] if line else [])


def test_words_of_a_device_are_no_markdown() -> None:
    """No link, no picture, no page that is opened by showing it."""
    shown = plain_markdown("![a](https://b.example/c.png) <img src=x> www.d.example `e`")
    assert "](" not in shown
    assert "://" not in shown
    assert "<img" not in shown.replace("\\<", "")
    assert "www." not in shown


@pytest.fixture
async def flow(hass: HomeAssistant) -> QuestionFlow:
    """The form of a question with a field of every kind."""
    assert await async_setup_component(hass, "repairs", {})
    properties = {
        "whole": {"type": "integer", "minimum": 1, "maximum": 9},
        "half": {"type": "number", "minimum": 0},
        "text": {"type": "string", "minLength": 2, "maxLength": 4, "title": "Same"},
        "mail": {"type": "string", "format": "email", "title": "Same", "description": "Where to"},
        "pick": {"type": "string", "enum": ["a", "b"], "default": "b"},
        "many": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1},
    }
    params = {"message": "Well?", "requestedSchema": {"type": "object", "properties": properties}}
    question = OpenQuestion(
        request=parse_elicitation(params), placeholders={}, answer=hass.loop.create_future()
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
        "whole (1–9)", "half (≥ 0)", "Same", "Same (mail)", "pick", "many",
    ]  # fmt: skip
    whole, half, text, mail, pick, many = keys
    for given, errors in (
        ({whole: 1.5}, {whole: "not_whole"}),
        ({whole: 10, half: -0.5}, {whole: "out_of_range", half: "out_of_range"}),
        ({text: "x"}, {text: "too_short"}),
        ({text: "xxxxx", many: ["a", "b"]}, {text: "too_long", many: "too_long"}),
    ):
        assert (await flow.async_step_answer(given))["errors"] == errors
    given = {whole: 2.0, half: 0.5, mail: "", pick: "a", many: ["b"]}
    assert (await flow.async_step_answer(given))["type"] == "create_entry"
    question = hass.data[OPEN_QUESTIONS]["issue"]
    content = {"whole": 2, "half": 0.5, "pick": "a", "many": ["b"]}
    assert await question.answer == {"action": "accept", "content": content}
    question.resolve("decline")


async def test_a_form_whose_question_is_gone_says_so(hass: HomeAssistant, flow: QuestionFlow) -> None:
    hass.data[OPEN_QUESTIONS].clear()
    for step in (flow.async_step_init, flow.async_step_answer, flow.async_step_decline):
        assert (await step())["reason"] == "gone"
