"""The forms that add a device and change its link."""

import asyncio
from datetime import datetime
from typing import Any
from unittest.mock import AsyncMock

from homeassistant.config_entries import SOURCE_IGNORE, SOURCE_INTEGRATION_DISCOVERY
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
from homeassistant.helpers import area_registry as ar
from homeassistant.helpers.storage import Store
from homeassistant.util.file import WriteError
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.provisioning.pairing_codes import MAX_TRIES
from simulator import get_profile
from tests.integration.boxes import entity_of, open_issues, wait_for_state
from tests.integration.http_device import (
    CLIENT_ID,
    MAC,
    MakeDevice,
    MakeEntry,
    add_to,
    paired_device,
    running,
)
from tests.integration.names import CLIENT_ID as DEVICE_CLIENT_ID, CONNECTED, Boot, registered_devices
from tests.integration.provisioning.forms import (
    ADDRESS,
    cards,
    change_device,
    start,
    start_device,
    submit,
    submit_device,
)

OTHER_MAC = "94:a9:90:00:00:01"
pytestmark = pytest.mark.usefixtures("own_address", "all_enabled")


async def card(hass: HomeAssistant) -> Any:
    """Open the only card."""
    (flow,) = await cards(hass)
    return await hass.config_entries.flow.async_configure(flow["flow_id"])


def wrong(code: str) -> str:
    return f"{(int(code) + 1) % 1_000_000:06}"


async def test_a_card_adds_its_device_and_activation_agrees_until_it_is_removed(
    hass: HomeAssistant, gateway_entry: MockConfigEntry, make_device: MakeDevice
) -> None:
    """A device that hears 200 checks in at once, and would start over if it still found a code there."""
    area = ar.async_get(hass).async_create("Kitchen")
    device = make_device()
    code = await device.code()
    form = await card(hass)
    assert (form["type"], form["step_id"]) == (FlowResultType.FORM, "code")
    assert form["description_placeholders"]["devices"] == "bread-compact-wifi (A4:5F)"
    form = await submit(hass, form, code=f" {code[:3]}-{code[3:]} ")
    assert (form["type"], form["step_id"]) == (FlowResultType.FORM, "details")
    assert form["data_schema"]({}) == {"name": "XiaoZhi"}
    assert await device.activate() == 202
    assert await device.code() == code
    result = await submit(hass, form, name=" Kitchen box ", area_id=area.id)
    await hass.async_block_till_done()
    assert (result["type"], result["reason"]) == (FlowResultType.ABORT, "device_added")
    assert result["description_placeholders"]["name"] == "Kitchen box"
    (subentry,) = gateway_entry.subentries.values()
    assert (subentry.subentry_type, subentry.unique_id, subentry.title) == ("device", MAC, "Kitchen box")
    token = subentry.data["token"]
    assert len(token) >= 43
    assert dict(subentry.data) == {
        "client_id": CLIENT_ID,
        "token": token,
        "board": "bread-compact-wifi",
        "link": "automatic",
    }
    (entry,) = registered_devices(hass, gateway_entry)
    assert (entry.name, entry.area_id) == ("Kitchen box", area.id)
    assert hass.config_entries.flow.async_progress_by_handler(DOMAIN) == []
    assert await device.activate() == 200
    reply = await device.check_in()
    assert "activation" not in reply
    assert reply["websocket"]["token"] == token
    # Deleting it takes its token away; if it still calls, it can be added again.
    hass.config_entries.async_remove_subentry(gateway_entry, subentry.subentry_id)
    assert await device.activate() == 404
    assert await device.code()
    assert (await card(hass))["step_id"] == "code"
    assert open_issues(hass) == []


async def test_nothing_is_paired_that_cannot_be_stored(
    hass: HomeAssistant,
    gateway_entry: MockConfigEntry,
    make_device: MakeDevice,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device = make_device()
    code = await device.code()
    form = await submit(hass, await card(hass), code=code)
    with monkeypatch.context() as patch:
        patch.setattr(Store, "_async_write_data", AsyncMock(side_effect=WriteError("no space")))
        result = await submit(hass, form, name="Kitchen box")
        assert (result["type"], result["reason"]) == (FlowResultType.ABORT, "not_stored")
        assert await device.activate() == 202
    # The card is there again with the next check-in.
    assert await device.code() == code
    form = await submit(hass, await card(hass), code=code)
    result = await submit(hass, form, name="Kitchen box")
    assert result["reason"] == "device_added"
    assert await device.activate() == 200
    assert open_issues(hass) == []


async def test_wrong_codes_are_counted_down_until_the_device_shows_another(
    hass: HomeAssistant, gateway_entry: MockConfigEntry, make_device: MakeDevice
) -> None:
    """And the other one is then right."""
    device = make_device()
    code = await device.code()
    form = await card(hass)
    # It takes some time to type.
    await asyncio.sleep(1)
    for left in range(MAX_TRIES - 1, 0, -1):
        form = await submit(hass, form, code=code[:5])
        assert form["errors"] == {"code": "not_six_digits"}
        form = await submit(hass, form, code=wrong(code))
        assert form["errors"] == {"code": "wrong_code"}
        assert form["description_placeholders"]["tries"] == str(left)
    form = await submit(hass, form, code=wrong(code))
    assert form["errors"] == {"code": "code_replaced"}
    assert form["description_placeholders"]["seconds"] == "40"
    new_code = await device.code()
    form = await submit(hass, form, code=wrong(new_code))
    assert form["description_placeholders"]["tries"] == str(MAX_TRIES - 1)
    form = await submit(hass, form, code=new_code)
    assert form["step_id"] == "details"
    result = await submit(hass, form, name="  ")
    assert result["description_placeholders"]["name"] == "XiaoZhi"
    assert len(gateway_entry.subentries) == 1


async def test_a_device_whose_name_is_left_as_it_is_has_one_of_its_own(
    hass: HomeAssistant, gateway_entry: MockConfigEntry, make_device: MakeDevice
) -> None:
    """Not all lists of Home Assistant show areas, and ids begin with them. What an owner types stays."""
    kitchen, hall = (ar.async_get(hass).async_create(name).id for name in ("厨房", "玄关"))
    names = []
    for number, answers in enumerate(
        [
            {"area_id": kitchen},
            {"area_id": hall},
            {"area_id": kitchen},
            {},
            {},
            {"area_id": kitchen},
            {"area_id": kitchen, "name": "Box"},
            {"area_id": hall, "name": "Box"},
        ]
    ):
        code = await make_device(mac=f"94:a9:90:00:00:{number:02x}").code()
        form = await submit(hass, await card(hass), code=code)
        result = await submit(hass, form, **(form["data_schema"]({}) | answers))
        names.append(result["description_placeholders"]["name"])
    assert names == ["XiaoZhi", *(f"XiaoZhi {number}" for number in range(2, 7)), "Box", "Box"]
    ids = {entity_id.rpartition(".")[2] for entity_id in hass.states.async_entity_ids("media_player")}
    # The area comes before it once.
    assert {"chu_fang_xiaozhi_speaker", "chu_fang_xiaozhi_3_speaker"} <= ids
    assert len({subentry.data["token"] for subentry in gateway_entry.subentries.values()}) == len(names)
    await hass.config.async_update(language="zh-Hans")
    await hass.async_block_till_done()
    code = await make_device(mac=OTHER_MAC.replace("01", "99")).code()
    form = await submit(hass, await card(hass), code=code)
    assert form["data_schema"]({}) == {"name": "小智"}
    result = await submit(hass, form, name="Box")
    assert result["description_placeholders"]["say_url"].endswith("/docs/zh-CN/what-you-can-say.md")
    await hass.config.async_update(language="en")


async def test_a_card_is_for_a_device_that_waits_has_no_other_and_is_not_ignored(
    hass: HomeAssistant, gateway_entry: MockConfigEntry, make_device: MakeDevice
) -> None:
    """Whatever starts it."""

    async def refused() -> str:
        result = await start(hass, SOURCE_INTEGRATION_DISCOVERY, {"mac": MAC})
        assert result["type"] is FlowResultType.ABORT
        reason: str = result["reason"]
        return reason

    assert await refused() == "not_waiting"
    await make_device().check_in()
    await card(hass)
    assert await refused() == "already_in_progress"
    await start(hass, SOURCE_IGNORE, {"unique_id": MAC, "title": "A device"})
    assert await refused() == "already_configured"
    # Its owner may still change their mind under *Add device*.
    assert await make_device().code()
    assert await cards(hass) == []


@pytest.mark.parametrize("by_subentry", [True, False], ids=["Add device", "Add integration"])
async def test_add_device_explains_how_to_point_a_device_here_until_one_calls(
    hass: HomeAssistant, gateway_entry: MockConfigEntry, make_device: MakeDevice, by_subentry: bool
) -> None:
    """The window can stay open meanwhile. The code finds its device."""
    form = await (start_device(hass, gateway_entry) if by_subentry else start(hass))
    send = submit_device if by_subentry else submit
    assert (form["type"], form["step_id"], form["errors"]) == (FlowResultType.FORM, "wait", None)
    assert form["description_placeholders"]["check_in_url"] == ADDRESS
    form = await send(hass, form)
    assert form["step_id"] == "wait"
    assert "No device has checked in yet" in form["description_placeholders"]["first"]
    code = await make_device().code()
    await make_device(mac=OTHER_MAC).check_in()
    form = await send(hass, form)
    assert (form["step_id"], form["errors"]) == ("code", {})
    assert (
        form["description_placeholders"]["devices"]
        == "bread-compact-wifi (A4:5F), bread-compact-wifi (00:01)"
    )
    form = await send(hass, form, code="no code")
    assert form["errors"] == {"code": "not_six_digits"}
    form = await send(hass, form, code=code)
    result = await send(hass, form, name="Kitchen box")
    await hass.async_block_till_done()
    assert result["type"] is (FlowResultType.CREATE_ENTRY if by_subentry else FlowResultType.ABORT)
    (subentry,) = gateway_entry.subentries.values()
    assert (subentry.unique_id, subentry.title) == (MAC, "Kitchen box")
    assert (await make_device().check_in())["websocket"]["token"] == subentry.data["token"]
    (other,) = hass.config_entries.flow.async_progress_by_handler(DOMAIN)
    assert other["context"]["unique_id"] == OTHER_MAC


async def test_a_program_without_a_code_is_added_by_its_description(
    hass: HomeAssistant, gateway_entry: MockConfigEntry, make_device: MakeDevice
) -> None:
    """One that knows only WebSocket stops at a reply without an address; the next time it gets one."""
    program = make_device(mac=OTHER_MAC, client_id="5bfcb1d7-13c8-5d64", board="xiaozhi-sdk", version="0.5.1")
    assert "websocket" not in await program.check_in()
    await asyncio.sleep(300)
    await make_device().check_in()
    form = await start_device(hass, gateway_entry)
    assert form["data_schema"]({"program": {}}) == {"program": {"no_code": False}}
    form = await submit_device(hass, form, program={"no_code": False})
    assert form["errors"] == {"code": "not_six_digits"}
    form = await submit_device(hass, form, program={"no_code": True})
    assert (form["type"], form["step_id"]) == (FlowResultType.FORM, "no_code")
    (field,) = form["data_schema"].schema.values()
    described = [option["label"].rpartition(" · ") for option in field.config["options"]]
    assert [about for about, _, _ in described] == [
        "xiaozhi-sdk · 94:A9:90:00:00:01 · 5bfcb1d7 · 127.0.0.1",
        f"bread-compact-wifi · 94:A9:90:28:A4:5F · {CLIENT_ID[:8]} · 127.0.0.1",
    ]
    first, second = (datetime.fromisoformat(f"2026-11-24T{called}") for _, _, called in described)
    assert (second - first).seconds == pytest.approx(300, abs=1)
    form = await submit_device(hass, form, program=field.config["options"][0]["value"])
    assert form["step_id"] == "details"
    result = await submit_device(hass, form, name="My program")
    assert result["type"] is FlowResultType.CREATE_ENTRY
    (subentry,) = gateway_entry.subentries.values()
    assert (subentry.unique_id, subentry.data["link"]) == (OTHER_MAC, "websocket")
    reply = await program.check_in()
    assert reply["websocket"]["token"] == subentry.data["token"]
    assert "activation" not in reply
    assert "mqtt" not in reply
    form = await submit_device(hass, await start_device(hass, gateway_entry), program={"no_code": True})
    (field,) = form["data_schema"].schema.values()
    (option,) = field.config["options"]
    await gateway_entry.runtime_data.discovery.async_stop()
    form = await submit_device(hass, form, program=option["value"])
    assert form["step_id"] == "wait"
    assert len(gateway_entry.subentries) == 1


async def test_without_a_running_gateway_no_device_can_be_added(
    hass: HomeAssistant, gateway_entry: MockConfigEntry, make_device: MakeDevice
) -> None:
    """Wherever the user is in the forms when it stops."""
    code = await make_device().code()
    at_code, at_details = [await start_device(hass, gateway_entry) for _ in range(2)]
    at_details = await submit_device(hass, at_details, code=code)
    assert await hass.config_entries.async_unload(gateway_entry.entry_id)
    results = [
        await start(hass),
        await start(hass, SOURCE_INTEGRATION_DISCOVERY, {"mac": MAC}),
        await start_device(hass, gateway_entry),
        await submit_device(hass, at_code, code=code),
        await submit_device(hass, at_details, name="Box"),
    ]
    assert {(result["type"], result["reason"]) for result in results} == {
        (FlowResultType.ABORT, "gateway_not_running")
    }
    assert not gateway_entry.subentries


LINK = LinkKind.MQTT


def link_of(entry: MockConfigEntry) -> Any:
    (subentry,) = entry.subentries.values()
    return subentry.data.get("link")


async def choose(hass: HomeAssistant, entry: MockConfigEntry, link: str, **fields: Any) -> str:
    """Choose a link for the only device; return how the form ends."""
    form = await change_device(hass, entry)
    assert form["data_schema"].schema["rare"].schema({})["restart_now"] is True
    result = await submit_device(hass, form, link=link, **fields)
    assert result["type"] is FlowResultType.ABORT
    assert link_of(entry) == link
    assert result["reason"] == "reconfigure_successful" or result["description_placeholders"] == {
        "name": "Kitchen box"
    }
    reason: str = result["reason"]
    return reason


async def test_a_device_without_a_choice_is_not_asked_for_one(
    hass: HomeAssistant, make_entry: MakeEntry
) -> None:
    """A gateway with WebSocket only has no other link; what was chosen once stays."""
    known = paired_device()
    entry = await running(hass, make_entry({**known, "data": {**known["data"], "link": "mqtt"}}))
    form = await change_device(hass, entry)
    fields = form["data_schema"].schema
    assert {str(field) for field in fields} == {"loudspeaker", "rare", "share_transcripts"}
    assert {str(field) for field in fields["rare"].schema.schema} == {"loudspeaker_lead"}
    result = await submit_device(hass, form, share_transcripts=True)
    assert result["reason"] == "reconfigure_successful"
    assert link_of(entry) == "mqtt"


async def test_a_connected_device_is_restarted_if_the_choice_changes_something(
    hass: HomeAssistant, linked_entry: MockConfigEntry, boot: Boot
) -> None:
    """And learns of its link at once. One that is not connected must be restarted by hand."""
    # Nothing was told yet; then it is the same as before, or comes to the same.
    for link in ("websocket", "automatic"):
        assert await choose(hass, linked_entry, link) == "reconfigure_successful"
    device = await boot()
    await wait_for_state(hass, CONNECTED, "on")
    for link in ("automatic", "mqtt", "mqtt", "automatic"):
        assert await choose(hass, linked_entry, link) == "reconfigure_successful"
    assert await choose(hass, linked_entry, "websocket", restart_now=False) == "device_restart_later"
    assert "restart_now" not in next(iter(linked_entry.subentries.values())).data
    assert device.connected
    assert await choose(hass, linked_entry, "automatic") == "reconfigure_successful"
    assert await choose(hass, linked_entry, "websocket") == "device_restarting"
    await device.wait_for(lambda: device.link == "websocket", 60)
    assert await choose(hass, linked_entry, "mqtt") == "device_restart_yourself"
    await device.power_off()
    await device.boot()
    assert device.link == "mqtt"
    # Without a running gateway nobody can tell what it was told.
    assert await hass.config_entries.async_unload(linked_entry.entry_id)
    assert await choose(hass, linked_entry, "websocket") == "device_restart_yourself"


@pytest.mark.parametrize(("version", "mute"), [("2.4.2", True), ("2.5.0", False)])
async def test_what_is_mute_while_idle_is_not_offered_to_speak_and_may_show(
    hass: HomeAssistant, linked_entry: MockConfigEntry, boot: Boot, version: str, mute: bool
) -> None:
    """In the form, and on the page of the device. Nor is a device offered to speak for itself."""
    await add_to(hass, linked_entry, paired_device(OTHER_MAC, DEVICE_CLIENT_ID, title="Hall box"))
    await boot(get_profile(version=version))
    await boot(get_profile(version=version), mac=OTHER_MAC)
    await hass.async_block_till_done()
    form = await linked_entry.start_subentry_reconfigure_flow(hass, next(iter(linked_entry.subentries)))
    fields = form["data_schema"].schema
    hall = "media_player.hall_box_speaker"
    assert {*fields["loudspeaker"].config["exclude_entities"]} - {hall} == {
        "media_player.kitchen_box_speaker"
    }
    assert (hall in fields["loudspeaker"].config["exclude_entities"]) is mute
    assert ("show_announcements" in fields["rare"].schema.schema) is mute
    assert ("Hall box Speaker" in entity_of(hass, "select.kitchen_box_voice_output").options) is not mute
