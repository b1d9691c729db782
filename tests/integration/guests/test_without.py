"""The core works without any of its guests."""

from importlib import import_module
from pathlib import Path
import sys

from homeassistant.core import HomeAssistant
import pytest

from custom_components.xiaozhi import guests
from custom_components.xiaozhi.assist_satellite import satellite_of
from custom_components.xiaozhi.device.guest import Guest
from custom_components.xiaozhi.guests import GUESTS
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator.conversation import converse
from tests.integration.boxes import Speech, call_action, state_of
from tests.integration.names import COMMAND, LIGHT, MAC, Boot, registry_ids
from tests.integration.provisioning.forms import pair_new

FOLDER = Path(guests.__file__).parent


def name_of(guest: Guest) -> str:
    return guest.package.rpartition(".")[2]


def without(gone: Guest) -> tuple[Guest, ...]:
    """Return the list without a guest, and without those that use it."""
    names, before = {name_of(gone)}, 0
    while len(names) > before:
        before = len(names)
        for guest in GUESTS:
            text = "".join(path.read_text() for path in (FOLDER / name_of(guest)).glob("*.py"))
            if any(f"from ..{name}" in text for name in names):
                names.add(name_of(guest))
    return tuple(guest for guest in GUESTS if name_of(guest) not in names)


@pytest.fixture(params=[*GUESTS, None], ids=lambda gone: name_of(gone) if gone else "all", autouse=True)
def shorter_list(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    left = without(request.param) if request.param else ()
    # What is imported later would keep the shorter list for the tests that follow.
    for path in FOLDER.parent.glob("[!_]*.py"):
        import_module(f"custom_components.xiaozhi.{path.stem}")
    for name, module in tuple(sys.modules.items()):
        if name.startswith("custom_components.xiaozhi") and getattr(module, "GUESTS", None) is GUESTS:
            monkeypatch.setitem(vars(module), "GUESTS", left)


@pytest.mark.own_home
@pytest.mark.parametrize("link", [LinkKind.MQTT])
@pytest.mark.parametrize("paired", [()], ids=["new"])
async def test_a_device_is_paired_and_talks_and_its_tools_are_called(
    hass: HomeAssistant, speech: Speech, boot: Boot
) -> None:
    device = await pair_new(boot)
    speech.recognizer.lines = [COMMAND]
    talk = await converse(device, speech.command)
    assert (talk.answers, state_of(hass, LIGHT).state) == (["Turned on the switch"], "on")
    (known,) = registry_ids(hass, boot.entry)
    assert satellite_of(hass, boot.entry.runtime_data.devices[MAC]).async_get_configuration()
    answer = await call_action(hass, "call_tool", known, tool="self.get_device_status")
    assert "audio_speaker" in answer["result"]
