"""What is known of stock tools."""

from custom_components.xiaozhi.tools.catalogue import CATALOGUE, stock_tool
from custom_components.xiaozhi.tools.mapping import map_tools
from scripts.tool_table import stock_tools

STOCK = {tool.name for tools in stock_tools().values() for tool in tools}


def test_every_name_is_that_of_a_stock_tool() -> None:
    assert CATALOGUE.keys() <= STOCK
    read = {tool.state.tool for tool in CATALOGUE.values() if tool.state is not None}
    assert read <= STOCK


def test_every_stock_tool_has_a_name_in_all_languages() -> None:
    for tools in stock_tools().values():
        for entity in map_tools(tools):
            assert entity.platform is None or entity.translation_key or entity.device_class, entity.tools


def test_nothing_is_known_of_other_tools() -> None:
    assert stock_tool("self.plant.water") == stock_tool("self.garden.water")
    assert not stock_tool("self.plant.water").restarts
