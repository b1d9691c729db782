"""Libraries whose inner workings are used, in versions that were not tried."""

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from homeassistant.config_entries import ConfigEntryState
from homeassistant.core import HomeAssistant
import pytest

from custom_components.xiaozhi.links import library_versions
from tests.integration.http_device import MakeEntry


@pytest.mark.own_home
@pytest.mark.parametrize(
    ("library", "found", "link"),
    [("websockets", "18.0", "mqtt"), ("websockets", "15.0", "mqtt"), ("aiomqtt", None, "broker")],
)
async def test_a_library_in_a_version_that_was_not_tried_is_refused_in_words(
    hass: HomeAssistant,
    make_entry: MakeEntry,
    mqtt_data: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    library: str,
    found: str | None,
    link: str,
) -> None:
    """Home Assistant installs what the manifest names, but another integration may replace it."""

    def installed(name: str) -> str:
        if name != library:
            return version(name)
        if found is None:
            raise PackageNotFoundError(name)
        return found

    monkeypatch.setattr(library_versions, "version", installed)
    broker = {"host": "127.0.0.1", "port": 1883, "tls": False}
    entry = make_entry(**{**mqtt_data, "link": link, "broker": broker})
    assert not await hass.config_entries.async_setup(entry.entry_id)
    assert entry.state is ConfigEntryState.SETUP_ERROR
    assert entry.reason is not None
    assert library in entry.reason
    assert (found or "–") in entry.reason
