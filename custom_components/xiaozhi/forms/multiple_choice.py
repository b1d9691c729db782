"""The field of a form in which several of many options are chosen."""

from collections.abc import Iterable
from typing import Final

from homeassistant.helpers.selector import (
    SelectOptionDict,
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
)

# A list shows what is not chosen, too, but cannot be searched.
_LONGEST_LIST: Final = 24


def multiple_choice(options: Iterable[SelectOptionDict]) -> SelectSelector:
    """Return a field with a list of all options, or with a search where they are many."""
    offered = list(options)
    mode = SelectSelectorMode.LIST if len(offered) <= _LONGEST_LIST else SelectSelectorMode.DROPDOWN
    return SelectSelector(SelectSelectorConfig(options=offered, multiple=True, mode=mode))
