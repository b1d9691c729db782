"""A browser for a test, which is skipped where there is none."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from demo.browser import WebPage, web_page
from demo.errors import DemoError


@asynccontextmanager
async def browser(url: str, **options: Any) -> AsyncGenerator[WebPage]:
    """Open a browser for the time of the context. The options are those of `web_page`."""
    async with AsyncExitStack() as stack:
        try:
            web = await stack.enter_async_context(web_page(url, **options))
        except DemoError as err:
            pytest.skip(str(err))
        yield web
