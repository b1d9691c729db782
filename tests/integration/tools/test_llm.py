"""In a conversation with a device, the assistant can use what that device can do; elsewhere it cannot."""

from typing import Any

from homeassistant.components.conversation import async_converse
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import device_registry as dr, llm
import pytest

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.protocol.mcp.tool import Tool
from custom_components.xiaozhi.voice.own_intents import own_intents
from simulator import SimulatedDevice, converse
from simulator.audio.espeak import synthesize
from simulator.board.tools import Tool as SimulatedTool
from tests.integration.boxes import Speech, failure_of, introduce, open_conversation, wait_for_state
from tests.integration.names import CONNECTED, Boot
from tests.integration.provisioning.forms import change_device, submit_device, suggested
from tests.integration.tools.own_tools import announce, register, tool
from tests.protocol.transport.udp.device import until

pytestmark = pytest.mark.usefixtures("all_enabled")

SET_VOLUME = "xiaozhi__audio_speaker_set_volume"
DANCE = "xiaozhi__robot_dance"
SENTENCE = "turn your volume down"


@pytest.fixture(scope="session")
def command() -> bytes:
    pcm, _ = synthesize(SENTENCE, sample_rate=16000)
    return pcm


@pytest.fixture
async def assistant(speech: Speech) -> Speech:
    """A language model answers."""
    await speech.use(conversation_engine=speech.agent.entity_id)
    return speech


async def own_tools(hass: HomeAssistant, device_id: str | None) -> list[llm.Tool]:
    """Return the tools of a device that a request from there gets, without those of our intents."""
    context = llm.LLMContext(
        platform="test", context=None, language="en", assistant="conversation", device_id=device_id
    )
    api = await llm.async_get_api(hass, llm.LLM_API_ASSIST, context)
    intents = {own.tool.name for own in own_intents(hass) if own.tool}
    return [tool for tool in api.tools if tool.integration == DOMAIN and tool.name not in intents]


async def test_turn_your_volume_down_reaches_the_device(
    hass: HomeAssistant, assistant: Speech, boot: Boot, command: bytes
) -> None:
    device = await boot()
    await introduce(hass, device)
    assistant.recognizer.lines = [SENTENCE]
    assistant.agent.uses = [llm.ToolInput(tool_name=SET_VOLUME, tool_args={"volume": 30})]
    assistant.agent.lines = ["Is this better now."]
    talk = await converse(device, command, word="hello again")
    assert device.values["volume"] == 30
    assert talk.answers == ["Is this better now."]
    (result,) = assistant.agent.results
    assert (result.tool_name, result.result.data) == (SET_VOLUME, {"result": True})
    assert "'Kitchen box'" in assistant.agent.prompt
    assert "xiaozhi__reboot" not in assistant.agent.offered


async def ask(
    hass: HomeAssistant, assistant: Speech, device_id: str | None, tool_name: str = "", *uses: dict[str, Any]
) -> list[llm.ToolResult]:
    """Ask something; return what the model gets that uses a tool for it with these arguments."""
    agent = assistant.agent
    agent.uses = [llm.ToolInput(tool_name=tool_name, tool_args=arguments) for arguments in uses]
    agent.lines = ["Well."]
    agent.results.clear()
    await async_converse(hass, SENTENCE, None, Context(), agent_id=agent.entity_id, device_id=device_id)
    return [given.result for given in agent.results]


async def add(device: SimulatedDevice, known: Device, one: SimulatedTool) -> None:
    """Give a device that talks one more tool, and wait until Home Assistant knows it as it is."""
    tools = register(device)
    tools[:] = [*(each for each in tools if each.name != one.name), one]
    announce(device)
    await until(lambda: one.name in known.tools and known.tools[one.name].user_only is one.user_only)


async def test_wrong_arguments_are_told_and_chinese_ones_named_both_ways(
    hass: HomeAssistant, assistant: Speech, boot: Boot, device_id: str
) -> None:
    device = await boot()
    await open_conversation(hass, device)
    wrong = {"volume": 500}, {"loudness": 3, "volume": 3}
    too_loud, unknown = await ask(hass, assistant, device_id, SET_VOLUME, *wrong)
    assert (too_loud.error, unknown.error) == (True, True)
    assert "volume must be a whole number from 0 to 100" in str(too_loud.data["error_text"])
    assert "loudness is not an argument" in str(unknown.data["error_text"])
    assert device.values["volume"] == 70
    speed = {"type": "integer", "minimum": 0, "maximum": 9}
    await add(
        device, boot.known, tool("self.robot.dance", "跳舞", properties={"速度": speed, "times": speed})
    )
    offered = {tool.name: tool for tool in await own_tools(hass, device_id)}
    described = {str(key): key.description for key in offered[DANCE].parameters.schema}
    assert described == {"argument_1": "Name on the device: 速度", "times": None}
    uses = {"argument_1": 12, "times": 2}, {"argument_1": 7, "times": 2}
    refused, done = await ask(hass, assistant, device_id, DANCE, *uses)
    assert "argument_1 must be a whole number from 0 to 9" in str(refused.data["error_text"])
    assert done.data == {"result": True}
    danced = [event["arguments"] for event in device.events("tool") if event["name"] == "self.robot.dance"]
    assert danced == [{"速度": 7, "times": 2}]


async def test_typed_chat_gets_nothing_and_a_tool_turned_user_only_is_refused(
    hass: HomeAssistant, assistant: Speech, boot: Boot, device_id: str
) -> None:
    device = await boot()
    await open_conversation(hass, device)
    other = dr.async_get(hass).async_get_or_create(
        config_entry_id=boot.entry.entry_id, identifiers={("other", "satellite")}
    )
    for asked_from, count in ((None, 0), (other.id, 0), (device_id, 1)):
        await ask(hass, assistant, asked_from)
        assert assistant.agent.offered.count(SET_VOLUME) == count
    await add(device, boot.known, tool("self.robot.dance", "Dance."))
    (dance,) = [offered for offered in await own_tools(hass, device_id) if offered.name == DANCE]
    await add(device, boot.known, tool("self.robot.dance", "Dance.", user_only=True))
    context = llm.LLMContext(
        platform="test", context=None, language="en", assistant="conversation", device_id=None
    )
    use = dance.async_call(hass, llm.ToolInput(tool_name=DANCE, tool_args={}), context)
    assert await failure_of(use) == "not_offered"
    assert "self.robot.dance" not in [event["name"] for event in device.events("tool")]
    await device.power_off()
    await wait_for_state(hass, CONNECTED, "off")
    assert not await own_tools(hass, device_id)


def choices(form: Any) -> dict[str, str]:
    """Return the tools that can be chosen for the assistant, in the part *What it may do*."""
    selector = form["data_schema"].schema["permissions"].schema.schema["assistant_tools"]
    return {option["value"]: option["label"] for option in selector.config["options"]}


async def test_the_owner_chooses_the_tools_of_the_assistant_and_reads_why(
    hass: HomeAssistant, assistant: Speech, boot: Boot, device_id: str
) -> None:
    device = await boot()
    await open_conversation(hass, device)
    (box,) = boot.entry.runtime_data.devices.values()
    await until(lambda: bool(box.state.wake_words))
    (subentry_id,) = boot.entry.subentries
    automatic = {tool.name for tool in await own_tools(hass, device_id)}
    form = await change_device(hass, boot.entry)
    at_first = suggested(form, "permissions")
    assert "self.reboot" not in choices(form)
    await submit_device(hass, form, permissions={"assistant_tools": ["self.audio_speaker.set_volume"]})
    await hass.async_block_till_done()
    assert [tool.name for tool in await own_tools(hass, device_id)] == [SET_VOLUME]
    form = await change_device(hass, boot.entry)
    await submit_device(hass, form, permissions={})
    assert boot.entry.subentries[subentry_id].data["assistant_tools"] == []
    form = await change_device(hass, boot.entry)
    assert suggested(form, "permissions")["assistant_tools"] == []
    await submit_device(hass, form, permissions=at_first)
    await hass.async_block_till_done()
    assert "assistant_tools" not in boot.entry.subentries[subentry_id].data
    assert {tool.name for tool in await own_tools(hass, device_id)} == automatic
    found = [
        Tool.from_dict({"name": "lock.open", "title": "Front door"}),
        Tool.from_dict({"name": "lock.restart"}),
    ]
    await box.tools.set_list((*box.tools.values(), *filter(None, found)))
    form = await change_device(hass, boot.entry)
    labels = choices(form)
    assert labels["lock.open"] == "Front door · lock.open (off at first: locks, doors and gates)"
    assert labels["lock.restart"] == "Lock restart (off at first: locks, doors and gates, restarts or resets)"
    assert labels["self.audio_speaker.set_volume"] == "Volume · audio_speaker.set_volume"
    assert "lock.open" not in suggested(form, "permissions")["assistant_tools"]
