"""Lists of a device's MCP server, page by page, within bounds."""

from collections.abc import Callable
from typing import Any, Final

from ..messages import JsonObject
from .model import McpProtocolError

__all__ = ["ListCollector"]

_MAX_PAGES: Final = 64
_MAX_CURSOR: Final = 1024


class ListCollector[ItemT]:
    """Gathers the pages of a list."""

    def __init__(
        self, member: str, parse: Callable[[Any], ItemT | None], key: Callable[[ItemT], str], limit: int
    ) -> None:
        """Read the items from `member` of each page; `limit` is the largest number of items."""
        self.items: dict[str, ItemT] = {}
        self.skipped = 0
        """Items that are malformed, too large or repeated."""
        self.excess: str | None = None
        """Why the list was cut, if so."""
        self._member = member
        self._parse = parse
        self._key = key
        self._limit = limit
        self._cursors: set[str] = set()

    def add(self, page: JsonObject) -> str | None:
        """Add a page; return the cursor of the next, None at the end. Raises `McpProtocolError`."""
        entries, cursor = page.get(self._member), page.get("nextCursor")
        if not isinstance(entries, list):
            raise McpProtocolError(f"the page of the list has no {self._member}")
        # A longer page could only keep us busy.
        for entry in entries[: self._limit + 1]:
            item = self._parse(entry)
            if item is None or self._key(item) in self.items:
                self.skipped += 1
            elif len(self.items) == self._limit:
                self.excess = "it has more"
                return None
            else:
                self.items[self._key(item)] = item
        if not isinstance(cursor, str) or not cursor:
            return None
        if cursor in self._cursors or len(cursor) > _MAX_CURSOR:
            self.excess = "its pages go in circles"
            return None
        if len(self._cursors) == _MAX_PAGES - 1:
            self.excess = f"it has more than {_MAX_PAGES} pages"
            return None
        self._cursors.add(cursor)
        return cursor
