"""What a device offers beyond tools reaches the actions, the log and the events of Home Assistant."""

import asyncio
from collections.abc import Generator
import logging
from typing import Any

from homeassistant.core import Context, Event, HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError, Unauthorized
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser, async_capture_events

from custom_components.xiaozhi.const import DOMAIN
from tests.integration.boxes import Speech
from tests.integration.mcp.conftest import BootFull
from tests.protocol.transport.udp.device import until

LOGGER = "custom_components.xiaozhi.messages.kitchen_box"


@pytest.fixture
async def ready(hass: HomeAssistant, boot_full: BootFull, linked_entry: MockConfigEntry) -> Any:
    """The device, which has told what it offers."""
    await boot_full()
    (device,) = linked_entry.runtime_data.devices.values()
    await until(lambda: bool(device.state.offers.prompts))
    return device


async def act(hass: HomeAssistant, device_id: str, action: str, **data: Any) -> Any:
    """Call an action of ours and return its answer."""
    return await hass.services.async_call(
        DOMAIN, action, {"device_id": device_id, **data}, blocking=True, return_response=True
    )


async def test_a_resource_is_read(hass: HomeAssistant, ready: Any, device_id: str, full: Any) -> None:
    """A text, a number, JSON, bytes, and one whose scheme is that of a file: nothing is opened."""
    values = {}
    for name, uri in (
        ("number", "sensor://room/temperature"),
        ("json", "sensor://room/air"),
        ("file", "file:///etc/passwd"),
    ):
        answer = await act(hass, device_id, "read_resource", uri=uri)
        assert answer["uri"] == uri
        (content,) = answer["contents"]
        values[name] = content["value"]
    assert values == {
        "number": 21.5,
        "json": {"co2": 600, "humidity": 40.5},
        "file": "root:x:0:0",
    }
    answer = await act(hass, device_id, "read_resource", uri="picture://door")
    assert answer["contents"][0]["mime_type"] == "image/png"
    assert answer["contents"][0]["data"].startswith("iVBOR")
    with pytest.raises(HomeAssistantError, match="Resource not found"):
        await act(hass, device_id, "read_resource", uri="nothing://")


async def test_a_template_is_filled_and_the_device_proposes_values(
    hass: HomeAssistant, ready: Any, device_id: str
) -> None:
    answer = await act(hass, device_id, "read_resource", uri="history://{day}", arguments={"day": "monday"})
    assert answer["contents"][0]["text"] == "warm on monday"
    with pytest.raises(ServiceValidationError, match=r"day.*friday, monday, saturday"):
        await act(hass, device_id, "read_resource", uri="history://{day}")
    with pytest.raises(ServiceValidationError, match="has no template"):
        await act(hass, device_id, "read_resource", uri="sensor://room/air", arguments={"a": "b"})
    values = {}
    for what in ({"uri": "history://{day}"}, {"prompt": "greeting"}):
        values |= await act(hass, device_id, "complete_argument", argument="day", value="s", **what)
        assert values == {"values": ["saturday", "sunday"]}
    with pytest.raises(ServiceValidationError, match="has no template"):
        await act(hass, device_id, "complete_argument", argument="day", uri="a://{b}")


async def test_what_is_reserved_for_users_is_read_for_administrators_only(
    hass: HomeAssistant, ready: Any, device_id: str, hass_read_only_user: MockUser
) -> None:
    context = Context(user_id=hass_read_only_user.id)
    for uri, allowed in (
        ("sensor://room/air", True),
        ("file:///etc/passwd", False),
        ("history://monday", False),
    ):
        call = hass.services.async_call(
            DOMAIN,
            "read_resource",
            {"device_id": device_id, "uri": uri},
            blocking=True,
            return_response=True,
            context=context,
        )
        if allowed:
            await call
        else:
            with pytest.raises(Unauthorized):
                await call


async def test_a_prompt_is_got_and_run(
    hass: HomeAssistant, ready: Any, device_id: str, speech: Speech
) -> None:
    answer = await act(hass, device_id, "get_prompt", prompt="greeting", arguments={"name": "Ann"})
    assert answer["description"] == "A greeting"
    assert answer["messages"][0] == {"role": "user", "text": "Greet Ann on any day."}
    speech.agent.lines = ["Hello Ann!"]
    ran = await act(
        hass,
        device_id,
        "run_prompt",
        prompt="greeting",
        arguments={"name": "Ann"},
        agent_id=speech.agent.entity_id,
    )
    assert ran == {"answer": "Hello Ann!"}
    assert speech.agent.heard[-1] == (
        "user: Greet Ann on any day.\n\nassistant: In which language?\n\nuser: In English."
    )


@pytest.mark.parametrize(
    ("prompt", "arguments", "reason"),
    [
        ("dance", {}, "has no prompt"),
        ("greeting", {}, "name"),
        ("greeting", {"name": "a", "shoe": "b"}, "shoe"),
        ("greeting", {"name": "é" * 1024, "day": "monday"}, None),
    ],
)
async def test_arguments_of_a_prompt_are_checked_before_anything_is_sent(
    hass: HomeAssistant,
    ready: Any,
    device_id: str,
    prompt: str,
    arguments: dict[str, str],
    reason: str | None,
) -> None:
    if reason is None:
        assert await act(hass, device_id, "get_prompt", prompt=prompt, arguments=arguments)
        return
    with pytest.raises(ServiceValidationError, match=reason):
        await act(hass, device_id, "get_prompt", prompt=prompt, arguments=arguments)


async def test_lists_follow_the_device(hass: HomeAssistant, ready: Any, full: Any) -> None:
    """However often it says that they have changed, each is fetched once more."""
    full.texts = {"sensor://new": "1"}
    for _ in range(5):
        await full.session.send_resource_list_changed()
        await full.session.send_prompt_list_changed()
    await until(
        lambda: (
            {resource.uri for resource in ready.state.offers.resources} == {"sensor://new", "picture://door"}
        )
    )


@pytest.fixture
def own_level() -> Generator[None]:
    """The level of the device's logger is that of the test only."""
    yield
    logging.getLogger(LOGGER).setLevel(logging.NOTSET)


async def test_log_messages_are_in_the_log_at_the_level_of_the_devices_logger(
    hass: HomeAssistant, own_level: None, ready: Any, full: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert await async_setup_component(hass, "logger", {"logger": {"logs": {LOGGER: "error"}}})
    await until(lambda: full.levels[-1:] == ["error"])
    await full.log("error", "valve\nstuck", "heating")
    await until(lambda: "heating: valve stuck" in caplog.text)
    await hass.services.async_call("logger", "set_level", {LOGGER: "debug"}, blocking=True)
    await until(lambda: full.levels[-1:] == ["debug"])
    await full.log("debug", {"open": [1, 2]})
    await until(lambda: '{"open": [1, 2]}' in caplog.text)
    records = [(record.levelno, record.getMessage()) for record in caplog.records if record.name == LOGGER]
    assert records == [(logging.ERROR, "heating: valve stuck"), (logging.DEBUG, '{"open": [1, 2]}')]


async def test_progress_reaches_the_caller_and_keeps_the_call_alive(
    hass: HomeAssistant, ready: Any, device_id: str
) -> None:
    events: list[Event[Any]] = async_capture_events(hass, "xiaozhi_progress")
    answer = await act(hass, device_id, "call_tool", tool="count")
    assert answer == {"result": "counted"}
    assert [event.data for event in events] == [
        {"device_id": device_id, "tool": "count", "progress": done, "total": 3, "message": f"{done} of 3"}
        for done in (1, 2, 3)
    ]


async def test_a_task_is_awaited(hass: HomeAssistant, ready: Any, device_id: str) -> None:
    assert await act(hass, device_id, "call_tool", tool="long_job") == {"result": "built"}


async def test_a_cancelled_action_cancels_its_task(
    hass: HomeAssistant, ready: Any, device_id: str, full: Any
) -> None:
    call = asyncio.create_task(act(hass, device_id, "call_tool", tool="long_job"))
    await until(lambda: full.tasks == {"long_job-1": 1})
    call.cancel()
    await until(lambda: full.cancelled_tasks == ["long_job-1"])


async def test_a_tool_that_has_taken_long_is_called_as_a_task_if_it_can_be(
    hass: HomeAssistant, ready: Any, device_id: str, full: Any
) -> None:
    """Plainly at first: a task costs two messages more. One that cannot be a task is never called as one."""
    assert await act(hass, device_id, "call_tool", tool="bake") == {"result": "baked"}
    assert ready.tools.slow == {"bake"}
    assert await act(hass, device_id, "call_tool", tool="warm_up") == {"result": True}
    assert await act(hass, device_id, "call_tool", tool="bake") == {"result": "built"}
    assert [name for name in full.calls if "bake" in name] == ["bake", "bake as a task"]
    ready.tools.listed(())
    assert ready.tools.slow == set()


async def test_a_cancelled_action_is_told_and_disturbs_no_other_call(
    hass: HomeAssistant, ready: Any, device_id: str, full: Any
) -> None:
    call = asyncio.create_task(act(hass, device_id, "call_tool", tool="hang"))
    await full.hangs.wait()
    assert await act(hass, device_id, "call_tool", tool="warm_up") == {"result": True}
    call.cancel()
    await until(lambda: full.cancelled == 1)


@pytest.mark.parametrize(
    ("tool", "message"),
    [("ask_ai", "Sampling"), ("ask_person", "Elicitation"), ("list_roots", "Roots")],
)
async def test_what_the_owner_has_not_allowed_is_refused_properly(
    hass: HomeAssistant, ready: Any, device_id: str, tool: str, message: str
) -> None:
    answer = await act(hass, device_id, "call_tool", tool=tool)
    assert answer == {"result": {"code": -32601, "message": f"{message} not supported"}}
