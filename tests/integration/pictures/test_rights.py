"""Who may have which picture fetched, and what refusals tell."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
import io
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer
from homeassistant.auth.const import GROUP_ID_USER
from homeassistant.auth.models import User
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError, Unauthorized
from homeassistant.helpers import device_registry as dr
from PIL import Image
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.services import SERVICE_SHOW_IMAGE
from custom_components.xiaozhi.timeouts import PictureTimeouts, Timeouts
from simulator import SimulatedDevice
from tests.integration.boxes import MAC

LINK = LinkKind.MQTT

type Show = Callable[..., Awaitable[None]]


@dataclass
class Site:
    """A web server in the house."""

    port: int = 0
    paths: list[str] = field(default_factory=list)
    redirect: str = ""

    def url(self, path: str = "/picture") -> str:
        return f"http://127.0.0.1:{self.port}{path}"


@pytest.fixture
async def site() -> AsyncGenerator[Site]:
    """One with a picture, and a redirect."""
    site = Site()
    output = io.BytesIO()
    Image.new("RGB", (64, 48)).save(output, "PNG")

    async def answer(request: web.Request) -> web.Response:
        site.paths.append(request.path)
        match request.path:
            case "/redirect":
                raise web.HTTPFound(site.redirect)
            case "/missing":
                raise web.HTTPNotFound
            case "/stalls":
                await asyncio.sleep(60)
            case "/large":
                return web.Response(body=bytes(16 * 1024 * 1024 + 1))
        return web.Response(body=output.getvalue())

    app = web.Application()
    app.router.add_get("/{any}", answer)
    async with TestServer(app) as server:
        site.port = server.port or 0
        yield site


@pytest.fixture
def show(hass: HomeAssistant, camera: SimulatedDevice, linked_entry: MockConfigEntry) -> Show:
    entry = dr.async_get(hass).async_get_device_by_identifier((DOMAIN, MAC), linked_entry.entry_id)
    assert entry is not None
    device_id = entry.id

    async def call(user: User | None = None, **data: Any) -> None:
        context = Context(user_id=user.id if user else None)
        await hass.services.async_call(
            DOMAIN, SERVICE_SHOW_IMAGE, {"device_id": device_id, **data}, blocking=True, context=context
        )

    return call


@pytest.fixture
def admin(hass: HomeAssistant) -> MockUser:
    """Somebody who sets up the house."""
    return MockUser(is_owner=True).add_to_hass(hass)


@pytest.fixture
def guest(hass: HomeAssistant) -> MockUser:
    """Somebody who may use the house only."""
    return MockUser(groups=[]).add_to_hass(hass)


async def test_automations_and_administrators_show_pictures_from_addresses(
    show: Show, site: Site, admin: MockUser
) -> None:
    await show(url=site.url())
    await show(admin, url=site.url())
    await show(media={"media_content_id": site.url()})
    site.redirect = "/picture"
    await show(admin, url=site.url("/redirect"))
    assert site.paths == ["/picture"] * 3 + ["/redirect", "/picture"]


async def test_another_user_does_not_and_learns_nothing(
    hass: HomeAssistant, show: Show, site: Site, admin: MockUser, free_port: int
) -> None:
    user = await hass.auth.async_create_user("Anna", group_ids=[GROUP_ID_USER])
    for url in (site.url(), f"http://127.0.0.1:{free_port}/picture", "https://pictures.example.com/a.png"):
        for source in ({"url": url}, {"media": {"media_content_id": url}}):
            with pytest.raises(ServiceValidationError) as problem:
                await show(user, **source)
            assert problem.value.translation_key == "address_not_allowed"
    assert not site.paths


async def test_all_failures_to_fetch_are_told_alike(
    hass: HomeAssistant, show: Show, site: Site, free_port: int
) -> None:
    site.redirect = "/redirect"
    for url in (
        f"http://127.0.0.1:{free_port}/picture",
        site.url("/missing"),
        site.url("/redirect"),
        "http://[/picture",
    ):
        with pytest.raises(HomeAssistantError) as problem:
            await show(media={"media_content_id": url})
        assert problem.value.translation_key == "picture_not_fetched"
    with pytest.raises(HomeAssistantError, match="larger than 16 MB"):
        await show(url=site.url("/large"))


@pytest.mark.parametrize("timeouts", [Timeouts(pictures=PictureTimeouts(fetch=0.2))], ids=["impatient"])
async def test_a_server_that_does_not_go_on_is_not_waited_for(show: Show, site: Site) -> None:
    with pytest.raises(HomeAssistantError, match="No picture could be fetched"):
        await show(url=site.url("/stalls"))


async def test_who_may_not_see_an_entity_cannot_show_it(show: Show, guest: MockUser) -> None:
    entity_id = "image.kitchen_box_photo"
    for source in (
        {"image": entity_id},
        {"media": {"media_content_id": f"media-source://image/{entity_id}"}},
    ):
        with pytest.raises(Unauthorized):
            await show(guest, **source)
