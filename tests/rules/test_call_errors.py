"""What users are told of a call that failed."""

import json

import pytest

from custom_components.xiaozhi.device.tool_calls import call_error
from custom_components.xiaozhi.protocol.mcp.model import McpCallError, McpNoReasonError
from tests.paths import ROOT

TEXTS = json.loads((ROOT / "custom_components/xiaozhi/translations/en.json").read_text())["exceptions"]


@pytest.mark.parametrize(
    ("err", "text"),
    [
        (McpCallError("Too hot"), "Box refused “Open oven”: Too hot"),
        (McpNoReasonError("silent"), "Box refused “Open oven” and gave no reason."),
    ],
)
def test_a_refusal_is_told_with_the_reason_that_the_device_gave(err: McpCallError, text: str) -> None:
    told = call_error(err, "Box", "Open oven")
    assert told.translation_key is not None
    assert TEXTS[told.translation_key]["message"].format(**told.translation_placeholders).startswith(text)
