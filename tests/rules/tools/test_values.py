"""What a tool answers does not become what Home Assistant itself says of an entity."""

from homeassistant.const import EntityStateAttribute
import pytest

from custom_components.xiaozhi.tools.values import as_attributes

OTHERS = [
    "entity_id",
    "entity_picture_local",
    "group_entities",
    "last_reset",
    "options",
    "state_class",
]


@pytest.mark.parametrize("name", [*EntityStateAttribute, *OTHERS])
def test_no_member_of_an_answer_is_taken_for_home_assistants_own(name: str) -> None:
    answer = {str(name): "http://192.168.1.66/x.png", "mode": "auto", "temperature": 21}
    assert as_attributes(answer) == {"mode": "auto", "temperature": 21}
