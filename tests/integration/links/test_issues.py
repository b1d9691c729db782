"""What the owner is told while a broker, or a library in a version that was not tried, cannot be used."""

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from homeassistant.config_entries import ConfigEntryState
from homeassistant.core import HomeAssistant
from homeassistant.helpers.translation import async_get_translations
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.links import library_versions
from custom_components.xiaozhi.links.broker_issue import async_broker_changed
from custom_components.xiaozhi.protocol.transport.owner_broker.broker_settings import (
    BrokerError,
    BrokerProblem,
)
from tests.integration.boxes import open_issues
from tests.integration.http_device import MakeEntry


async def test_each_problem_of_the_broker_has_a_sentence_of_its_own(
    hass: HomeAssistant, linked_entry: MockConfigEntry
) -> None:
    texts = await async_get_translations(hass, "en", "issues", [DOMAIN])
    for problem in set(BrokerProblem) - {BrokerProblem.REFUSED}:
        async_broker_changed(hass, linked_entry, BrokerError(problem, "[code:135] The words of a library"))
        (issue,) = open_issues(hass)
        assert (issue.domain, issue.translation_key) == (DOMAIN, f"broker_{problem}")
        sentence = texts[f"component.{DOMAIN}.issues.broker_{problem}.description"]
        assert sentence.endswith(".")
        assert "{" not in sentence
        async_broker_changed(hass, linked_entry, None)
        assert not open_issues(hass)


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
