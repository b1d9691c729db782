"""A browser for a test, which is skipped where there is none."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from demo.browser import WebPage, web_page
from demo.errors import DemoError

SIZES = {"computer": (1280, 900), "phone": (390, 844)}
# Elements that can be scrolled sideways, and whether the whole page can.
_WIDER = """() => {
  const wider = [];
  const visit = (node) => {
    if (node.shadowRoot) visit(node.shadowRoot);
    for (const child of node.children) visit(child);
    if (!(node instanceof HTMLElement) || !node.clientWidth) return;
    const scrolls = ["auto", "scroll"].includes(getComputedStyle(node).overflowX);
    if (scrolls && node.scrollWidth > node.clientWidth + 1) wider.push(node.localName);
  };
  visit(document.documentElement);
  if (document.documentElement.scrollWidth > innerWidth) wider.push("page");
  return wider;
}"""


@asynccontextmanager
async def browser(url: str, **options: Any) -> AsyncGenerator[WebPage]:
    """Open a browser for the time of the context. The options are those of `web_page`."""
    async with AsyncExitStack() as stack:
        try:
            web = await stack.enter_async_context(web_page(url, **options))
        except DemoError as err:
            pytest.skip(str(err))
        yield web


@asynccontextmanager
async def failure_picture(request: pytest.FixtureRequest, web: WebPage, folder: Path) -> AsyncGenerator[None]:
    """Keep a picture of the page if a test fails in the context."""
    failures = request.session.testsfailed
    yield
    if request.session.testsfailed > failures:
        await web.picture(folder / "failure.png")


async def wider_parts(web: WebPage) -> list[str]:
    """Return what is wider than its place on the page; nothing should be."""
    parts: list[str] = await web.page.evaluate(_WIDER)
    return parts
