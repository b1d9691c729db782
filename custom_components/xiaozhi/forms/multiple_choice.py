"""The field of a form in which several of many options are chosen."""

from collections.abc import Mapping
from typing import Final

from homeassistant.helpers.selector import (
    SelectOptionDict,
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
)

# A list shows what is not chosen, too, but cannot be searched.
_LONGEST_LIST: Final = 24


def multiple_choice(labels: Mapping[str, str]) -> SelectSelector:
    """Return a field with a list of all options, or with a search where they are many."""
    options = [SelectOptionDict(value=value, label=label) for value, label in labels.items()]
    mode = SelectSelectorMode.LIST if len(options) <= _LONGEST_LIST else SelectSelectorMode.DROPDOWN
    return SelectSelector(SelectSelectorConfig(options=options, multiple=True, mode=mode))
