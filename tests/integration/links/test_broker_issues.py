"""What the owner is told while the broker cannot be used."""

from homeassistant.core import HomeAssistant
from homeassistant.helpers.translation import async_get_translations
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.links.broker_issue import async_broker_changed
from custom_components.xiaozhi.protocol.transport.owner_broker.broker_settings import (
    BrokerError,
    BrokerProblem,
)
from tests.integration.boxes import open_issues


@pytest.mark.parametrize("problem", [one for one in BrokerProblem if one is not BrokerProblem.REFUSED])
async def test_each_problem_of_the_broker_has_a_sentence_of_its_own(
    hass: HomeAssistant, linked_entry: MockConfigEntry, problem: BrokerProblem
) -> None:
    async_broker_changed(hass, linked_entry, BrokerError(problem, "[code:135] The words of a library"))
    (issue,) = open_issues(hass)
    assert (issue.domain, issue.translation_key) == (DOMAIN, f"broker_{problem}")
    texts = await async_get_translations(hass, "en", "issues", [DOMAIN])
    sentence = texts[f"component.{DOMAIN}.issues.broker_{problem}.description"]
    assert sentence.endswith(".")
    assert "{" not in sentence
    async_broker_changed(hass, linked_entry, None)
    assert not open_issues(hass)
