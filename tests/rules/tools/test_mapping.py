"""Entities that the tools of the stock firmware, and of some devices that nobody knows, become."""

from pathlib import Path
from typing import Final

from homeassistant.const import EntityCategory
import pytest

from custom_components.xiaozhi.tools.mapping import map_tools
from custom_components.xiaozhi.tools.stock_tools import CATALOGUE, stock_tool
from scripts.tool_table import PAGE, SNAPSHOTS, render, snapshot, stock_tools

BOARDS: Final = stock_tools()


@pytest.mark.parametrize("tools", SNAPSHOTS, ids=lambda path: path.stem)
def test_tools_make_the_entities_and_have_the_risks_of_the_snapshot(tools: Path) -> None:
    """`python -m scripts.tool_table` writes it; automations and dashboards of owners depend on the keys."""
    assert snapshot(tools) == SNAPSHOTS[tools].read_text()


def test_the_page_of_all_tools_is_up_to_date() -> None:
    assert render() == PAGE.read_text()


def test_the_catalogue_is_about_the_98_tools_of_the_stock_firmware() -> None:
    stock = {tool.name for tools in BOARDS.values() for tool in tools}
    assert len(stock) == 98
    assert CATALOGUE.keys() <= stock
    assert {tool.state.tool for tool in CATALOGUE.values() if tool.state is not None} <= stock
    assert stock_tool("self.plant.water") == stock_tool("self.garden.water")


@pytest.mark.parametrize("board", BOARDS)
def test_a_board_has_every_tool_once_with_keys_and_names_of_their_own(board: str) -> None:
    entities = map_tools(BOARDS[board])
    assert sorted(name for entity in entities for name in entity.tools) == sorted(
        tool.name for tool in BOARDS[board]
    )
    shown = [entity for entity in entities if entity.platform]
    assert len({entity.key for entity in entities}) == len(entities)
    labels = [
        (entity.platform, entity.name or entity.translation_key or entity.device_class) for entity in shown
    ]
    assert len(set(labels)) == len(labels)
    for entity in shown:
        assert entity.translation_key or entity.device_class, "it has no name in all languages"
        assert entity.user_only is any(tool.user_only for tool in BOARDS[board] if tool.name in entity.tools)
        if entity.user_only:
            assert entity.category is EntityCategory.CONFIG
