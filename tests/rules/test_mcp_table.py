"""Each row of the table of MCP's methods has a test with a server of the official SDK."""

import ast
import re
from typing import Final

from tests.paths import ROOT

_PAGE: Final = ROOT / "docs" / "mcp.md"
_CLIENT: Final = "tests/protocol/mcp/test_full.py"
_OFFERS: Final = "tests/integration/mcp/test_offers.py"
_RESOURCES: Final = "tests/integration/mcp/test_resources.py"
_QUESTIONS: Final = "tests/integration/mcp/test_questions.py"
# By the first method of a row.
_TESTS: Final = {
    "initialize": (
        (_CLIENT, "test_the_handshake_is_repeated_once_in_the_latest_version"),
        (_CLIENT, "test_what_the_owner_allows_is_announced_and_no_more"),
        ("tests/protocol/mcp/test_sdk.py", "test_progress_and_pings_in_the_middle_of_a_call"),
    ),
    "tools/list": (
        ("tests/protocol/mcp/test_sdk.py", "test_all_pages_are_listed"),
        ("tests/protocol/mcp/test_sdk.py", "test_a_call_returns_text_and_an_image"),
    ),
    "notifications/progress": ((_OFFERS, "test_progress_reaches_the_caller_and_keeps_the_call_alive"),),
    "notifications/cancelled": (
        (_CLIENT, "test_a_call_that_is_not_awaited_any_more_is_cancelled"),
        (_OFFERS, "test_a_cancelled_action_is_told_and_disturbs_no_other_call"),
    ),
    "tasks/get": (
        (_CLIENT, "test_a_task_reports_progress_and_its_end"),
        (_OFFERS, "test_a_task_is_awaited"),
        (_OFFERS, "test_a_cancelled_action_cancels_its_task"),
        (_OFFERS, "test_a_tool_that_has_taken_long_is_called_as_a_task_if_it_can_be"),
    ),
    "resources/list": (
        (_CLIENT, "test_resources_are_listed_read_and_subscribed_to"),
        (_OFFERS, "test_a_resource_is_read"),
    ),
    "resources/subscribe": ((_RESOURCES, "test_sensors_and_images_show_resources_and_follow_their_changes"),),
    "prompts/list": ((_CLIENT, "test_prompts_are_listed_got_and_completed"),),
    "completion/complete": ((_CLIENT, "test_prompts_are_listed_got_and_completed"),),
    "logging/setLevel": ((_OFFERS, "test_log_messages_are_in_the_log_at_the_level_of_the_devices_logger"),),
    "notifications/…/list_changed": ((_RESOURCES, "test_entities_go_with_their_resources"),),
    "sampling/createMessage": (
        (_QUESTIONS, "test_the_ai_task_answers_a_device_without_tools_and_without_the_house"),
        (_OFFERS, "test_what_the_owner_has_not_allowed_is_refused_properly"),
    ),
    "elicitation/create": (
        (_QUESTIONS, "test_a_person_answers_a_form"),
        (_QUESTIONS, "test_a_page_is_shown_and_never_opened"),
    ),
    "roots/list": ((_OFFERS, "test_what_the_owner_has_not_allowed_is_refused_properly"),),
}
# The fixtures that connect a server of the SDK.
_SERVERS: Final = frozenset({"sdk", "full", "boot_full", "ready"})


def test_each_method_has_a_test_with_the_official_sdk() -> None:
    methods = re.findall(r"^\| `([^`]+)`", _PAGE.read_text(), re.MULTILINE)
    rows = [method for method in methods if "/" in method or method == "initialize"]
    assert [row for row in rows if row != "tasks/list"] == [
        *_TESTS,
        *(row for row in rows if row == "notifications/elicitation/complete"),
    ]
    for path, name in {test for tests in _TESTS.values() for test in tests}:
        tree = ast.parse((ROOT / path).read_text())
        (test,) = (node for node in tree.body if isinstance(node, ast.AsyncFunctionDef) and node.name == name)
        assert _SERVERS & {argument.arg for argument in test.args.args}, name
