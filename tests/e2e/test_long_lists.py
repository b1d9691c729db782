"""On a phone: a device with more tools than a page has room for, and with a question to its owner."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack
from socket import SOCK_DGRAM
from typing import Any

from playwright.async_api import Page, expect
import pytest
import pytest_asyncio

from demo import house
from demo.browser import WebPage, web_page
from demo.client import Client
from demo.errors import DemoError
from demo.hass import PASSWORD, USERNAME, home_assistant
from demo.processes import HOST, free_port
from simulator import SimulatedDevice, get_profile
from simulator.board.cjson import JsonObject
from simulator.board.tools import Tool
from tests.e2e.house import PACE

pytestmark = [
    pytest.mark.weekly,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("socket_enabled"),
]

_NAME = "小智音箱放在客厅电视柜左边第二层靠近窗户的那一个"
_TITLES = (
    "Wash the windows of the living room and of the conservatory upstairs, slowly",
    "打开客厅的窗帘并调暗所有的灯光然后播放音乐",
    "شغل مكيف الهواء في غرفة المعيشة",
    "🎉 Party 🎊",
    "Küchenradiolautsprecherbefestigungsüberprüfung",
)
_TOOLS = 64
# Elements that can be scrolled sideways, and whether the whole page can.
_WIDER = """() => {
  const wider = [];
  const visit = (node) => {
    if (node.shadowRoot) visit(node.shadowRoot);
    for (const child of node.children) visit(child);
    if (!(node instanceof HTMLElement) || !node.clientWidth) return;
    const scrolls = ["auto", "scroll"].includes(getComputedStyle(node).overflowX);
    if (scrolls && node.scrollWidth > node.clientWidth + 1) wider.push(node.localName);
  };
  visit(document.documentElement);
  if (document.documentElement.scrollWidth > innerWidth) wider.push("page");
  return wider;
}"""


class _Asking:
    """Firmware with many tools, one of which asks a question before it answers."""

    def __init__(self, send: Callable[[JsonObject], None]) -> None:
        """Send messages with `send`."""
        self.tools = [Tool(name="demo.ask_person", description="Asks how warm it is to be.")]
        self.tools += [
            Tool(
                name=f"home.appliance_in_the_room_{number}.do_it",
                description="Does it at once.",
                title=f"{_TITLES[number % len(_TITLES)]} {number}",
            )
            for number in range(_TOOLS)
        ]
        self._send = send
        self._call: Any = None

    def handle(self, message: JsonObject) -> bool:
        """Announce more than stock firmware, ask in the middle of the call, and answer with the answer."""
        match message:
            case {"method": "initialize", "id": request_id, "params": {"protocolVersion": version}}:
                result = {
                    "protocolVersion": version,
                    "capabilities": {"tools": {"listChanged": True}},
                    "serverInfo": {"name": "asking", "version": "2.4.2"},
                }
                self._send({"jsonrpc": "2.0", "id": request_id, "result": result})
            case {"method": "tools/call", "id": request_id, "params": {"name": "demo.ask_person"}}:
                self._call = request_id
                degrees = {"type": "integer", "title": "Degrees", "minimum": 15, "maximum": 25}
                schema = {"type": "object", "properties": {"degrees": degrees}, "required": ["degrees"]}
                params = {"message": "How warm?", "requestedSchema": schema}
                self._send({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": params})
            case {"id": 1, "result": {"action": str(action), "content": content}} if self._call is not None:
                text = {"type": "text", "text": f"{action} {content}"}
                self._send({"jsonrpc": "2.0", "id": self._call, "result": {"content": [text]}})
            case _:
                return False
        return True

    async def run(self) -> None:
        """Do nothing by itself."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def phone(
    shared_loop: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[tuple[WebPage, Client]]:
    """A phone on which the owner of such a device is logged in."""
    port = free_port()
    url = f"http://{HOST}:{port}"
    async with AsyncExitStack() as stack:
        folder = tmp_path_factory.mktemp("house")
        _, client = await stack.enter_async_context(home_assistant(folder, port))
        await house.set_up_gateway(
            client,
            websocket_port=free_port(),
            mqtt_port=free_port(),
            udp_port=free_port(transport=SOCK_DGRAM),
        )
        device = SimulatedDevice(
            get_profile("ethernet"), f"{url}/api/xiaozhi/ota", pace=PACE, program=_Asking
        )
        await house.pair(client, await stack.enter_async_context(device), _NAME, house.Room.KITCHEN)
        try:
            web = await stack.enter_async_context(web_page(url, width=390, height=844))
        except DemoError as err:
            pytest.skip(str(err))
        await web.log_in(USERNAME, PASSWORD)
        yield web, client


async def _fits(page: Page) -> None:
    assert await page.evaluate(_WIDER) == []


async def _form(client: Client) -> list[Any]:
    """Return what the part *What it may do* of the form proposes."""
    (entry,) = await client.command("config_entries/get", domain="xiaozhi")
    entry_id = entry["entry_id"]
    (subentry,) = await client.command("config_entries/subentries/list", entry_id=entry_id)
    form = await client.change_subentry(entry_id, "device", subentry["subentry_id"])
    (part,) = [field for field in form["data_schema"] if field["name"] == "permissions"]
    (tools,) = [field for field in part["schema"] if field["name"] == "assistant_tools"]
    chosen: list[Any] = tools["description"]["suggested_value"]
    return chosen


async def test_tools_are_searched_and_chosen(phone: tuple[WebPage, Client]) -> None:
    web, client = phone
    before = await _form(client)
    assert len(before) > _TOOLS
    await web.show_integration("XiaoZhi")
    await _fits(web.page)
    await web.subentry_row(_NAME).get_by_role("button", name="Change device").click()
    await web.unfold("What it may do")
    await _fits(web.page)
    for number in (41, 42):
        title = f"{_TITLES[number % len(_TITLES)]} {number} · "
        await web.page.get_by_role("button", name=f"Remove {title}").click()
    await web.press("Tools for the assistant")
    await web.page.get_by_placeholder("Search").last.fill(_TITLES[1])
    found = web.page.locator("ha-picker-combo-box").get_by_text(f"{_TITLES[1]} 41 · ")
    await expect(found).to_be_visible()
    await _fits(web.page)
    await found.click()
    await web.page.locator("ha-selector-boolean").filter(has_text="Ask people").locator("ha-switch").click()
    await _fits(web.page)
    await web.press("Submit")
    await web.read("Success")
    after = await _form(client)
    assert set(before) - set(after) == {"home.appliance_in_the_room_42.do_it"}
    await web.page.get_by_role("button", name="Close").last.click()


async def test_a_question_of_the_device_is_answered(phone: tuple[WebPage, Client]) -> None:
    web, client = phone
    devices = await client.command("config/device_registry/list")
    (device_id,) = [device["id"] for device in devices if device["name"] == _NAME]
    call = {"device_id": device_id, "tool": "demo.ask_person"}
    asking = asyncio.create_task(client.ask("xiaozhi", "call_tool", **call))
    question = web.page.get_by_text(f"{_NAME} asks something").first
    await web.show_page("/config/repairs", question)
    await question.click()
    await web.page.get_by_text("Answer", exact=True).click()
    await web.field("Degrees (15–25)").fill("40")
    await web.press("Submit")
    await web.read("This number is too small or too large.")
    await _fits(web.page)
    await web.field("Degrees (15–25)").fill("20")
    await web.press("Submit")
    await web.read("The issue is repaired!")
    assert (await asking)["result"] == "accept {'degrees': 20}"
