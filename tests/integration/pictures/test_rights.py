"""Who may have which picture fetched: addresses, redirects, names, and what refusals tell."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
import io
import socket
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError, Unauthorized
from homeassistant.helpers import device_registry as dr
from homeassistant.helpers.aiohttp_client import HomeAssistantTCPConnector
from PIL import Image
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.pictures import jpeg, screen
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.services import SERVICE_SHOW_IMAGE
from simulator import SimulatedDevice, get_profile
from tests.integration.boxes import CLIENT_ID, MAC, OTHER_MAC, Boot, wait_for_state
from tests.integration.http_device import paired_device

type Show = Callable[..., Awaitable[None]]

# What names resolve to, as a name server in the internet or a router would say.
NAMES = {"pictures.example.com": "127.0.0.1", "camera.lan": "127.0.0.1", "far.example.com": "192.0.2.1"}


@pytest.fixture
def link() -> LinkKind:
    """Pictures are shown at any time."""
    return LinkKind.MQTT


@dataclass
class Site:
    """A web server in the house."""

    port: int = 0
    paths: list[str] = field(default_factory=list)
    redirect: str = ""

    def url(self, host: str = "127.0.0.1", path: str = "/picture") -> str:
        return f"http://{host}:{self.port}{path}"


@pytest.fixture
async def site() -> AsyncGenerator[Site]:
    """One with a picture, and a redirect."""
    site = Site()
    output = io.BytesIO()
    Image.new("RGB", (64, 48)).save(output, "PNG")

    async def answer(request: web.Request) -> web.Response:
        site.paths.append(request.path)
        if request.path == "/redirect":
            raise web.HTTPFound(site.redirect)
        return web.Response(body=output.getvalue())

    app = web.Application()
    app.router.add_get("/{any}", answer)
    async with TestServer(app) as server:
        site.port = server.port or 0
        yield site


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no name server here."""

    async def resolve(_self: object, host: str) -> list[dict[str, Any]]:
        if host not in NAMES:
            raise OSError("unknown name")
        found = {"hostname": host, "host": NAMES[host], "port": 0, "family": socket.AF_INET}
        return [{**found, "proto": 0, "flags": socket.AI_NUMERICHOST}]

    monkeypatch.setattr(HomeAssistantTCPConnector, "async_resolve_host", resolve)


@pytest.fixture
async def box(hass: HomeAssistant, boot: Boot) -> SimulatedDevice:
    """A device with a screen."""
    device = await boot(get_profile("camera"))
    await wait_for_state(hass, "image.kitchen_box_photo", "unknown")
    return device


@pytest.fixture
def show(hass: HomeAssistant, box: SimulatedDevice, linked_entry: MockConfigEntry) -> Show:
    """Return what calls the action."""
    entry = dr.async_get(hass).async_get_device_by_identifier((DOMAIN, MAC), linked_entry.entry_id)
    assert entry is not None
    device_id = entry.id

    async def call(user: MockUser | None = None, **data: Any) -> None:
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


@pytest.mark.parametrize("host", ["127.0.0.1", "camera.lan"])
async def test_automations_and_administrators_show_pictures_of_the_home_network(
    show: Show, site: Site, admin: MockUser, host: str
) -> None:
    await show(url=site.url(host))
    await show(admin, url=site.url(host))
    await show(media={"media_content_id": site.url(host)})
    assert len(site.paths) == 3


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "camera.lan", "unknown.lan", "2130706433", "[::1]", "[::ffff:127.0.0.1]", "10.0.0.1"],
)
async def test_another_user_does_not_and_learns_nothing(
    show: Show, site: Site, guest: MockUser, host: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    for url in (site.url(host), f"http://{host}:{port}/picture"):
        for source in ({"url": url}, {"media": {"media_content_id": url}}):
            with pytest.raises(ServiceValidationError) as problem:
                await show(guest, **source)
            assert problem.value.translation_key == "address_not_allowed"
    assert not site.paths


@pytest.mark.parametrize("host", ["pictures.example.com", "unknown.example.com", "127.1"])
async def test_a_public_name_does_not_lead_into_the_house(
    show: Show, site: Site, admin: MockUser, guest: MockUser, host: str
) -> None:
    for user in (None, admin, guest):
        with pytest.raises(HomeAssistantError) as problem:
            await show(user, url=site.url(host))
        assert problem.value.translation_key == "picture_not_fetched"
    assert not site.paths


async def test_a_link_local_address_is_nobodys(show: Show) -> None:
    with pytest.raises(ServiceValidationError) as problem:
        await show(url="http://169.254.169.254/latest/meta-data")
    assert problem.value.translation_key == "address_not_allowed"


@pytest.mark.parametrize(
    "where",
    ["http://localhost:{port}/picture", "http://pictures.example.com:{port}/picture", "file:///etc/passwd"],
)
async def test_a_redirect_does_not_lead_to_another_host_in_the_house(
    show: Show, site: Site, where: str
) -> None:
    site.redirect = where.format(port=site.port)
    with pytest.raises(HomeAssistantError) as problem:
        await show(url=site.url(path="/redirect"))
    assert problem.value.translation_key == "picture_not_fetched"
    assert site.paths == ["/redirect"]


async def test_a_redirect_on_the_same_host_is_followed_but_not_for_ever(show: Show, site: Site) -> None:
    site.redirect = "/picture"
    await show(url=site.url(path="/redirect"))
    assert site.paths == ["/redirect", "/picture"]
    site.redirect = "/redirect"
    with pytest.raises(HomeAssistantError, match="No picture could be fetched"):
        await show(url=site.url(path="/redirect"))
    assert len(site.paths) < 10


async def test_an_open_and_a_closed_port_fail_alike(hass: HomeAssistant, show: Show, site: Site) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    site.redirect = "http://10.0.0.1/"
    problems = []
    for url in (f"http://127.0.0.1:{port}/redirect", site.url(path="/redirect")):
        with pytest.raises(HomeAssistantError) as problem:
            await show(url=url)
        problems.append(str(problem.value).replace(url, ""))
    assert problems[0] == problems[1]


async def test_the_owners_list_decides_alone(
    hass: HomeAssistant, show: Show, site: Site, guest: MockUser
) -> None:
    hass.config.allowlist_external_urls = {site.url("pictures.example.com", "/")}
    await show(guest, url=site.url("pictures.example.com"))
    site.redirect = site.url("pictures.example.com")
    await show(guest, url=site.url("pictures.example.com", "/redirect"))
    assert len(site.paths) == 3
    for url in (site.url(), "http://far.example.com/picture"):
        with pytest.raises(ServiceValidationError) as problem:
            await show(url=url)
        assert problem.value.translation_key == "address_not_allowed"
    site.redirect = site.url()
    with pytest.raises(HomeAssistantError, match="No picture could be fetched"):
        await show(guest, url=site.url("pictures.example.com", "/redirect"))
    assert len(site.paths) == 4


async def test_who_may_not_see_an_entity_cannot_show_it(show: Show, guest: MockUser) -> None:
    entity_id = "image.kitchen_box_photo"
    for source in (
        {"image": entity_id},
        {"media": {"media_content_id": f"media-source://image/{entity_id}"}},
    ):
        with pytest.raises(Unauthorized):
            await show(guest, **source)


class TestManyDevices:
    """One picture for several screens."""

    @pytest.fixture
    def paired(self) -> tuple[Any, ...]:
        return (paired_device(MAC, CLIENT_ID), paired_device(OTHER_MAC, CLIENT_ID, title="Other box"))

    async def test_a_picture_is_decoded_once_and_fitted_once_for_each_size(
        self,
        hass: HomeAssistant,
        boot: Boot,
        box: SimulatedDevice,
        linked_entry: MockConfigEntry,
        site: Site,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        calls: list[str] = []
        for name in ("open_picture", "fit"):

            def counted(*arguments: Any, name: str = name) -> Any:
                calls.append(name)
                return getattr(jpeg, name)(*arguments)

            monkeypatch.setattr(screen, name, counted)
        other = await boot(get_profile("camera"), mac=OTHER_MAC)
        await wait_for_state(hass, "image.other_box_photo", "unknown")
        entries = dr.async_entries_for_config_entry(dr.async_get(hass), linked_entry.entry_id)
        ids = [entry.id for entry in entries if {(DOMAIN, MAC), (DOMAIN, OTHER_MAC)} & entry.identifiers]
        assert len(ids) == 2
        await hass.services.async_call(
            DOMAIN, SERVICE_SHOW_IMAGE, {"device_id": ids, "url": site.url()}, blocking=True
        )
        assert calls == ["open_picture", "fit"]
        for device in (box, other):
            assert [event for event in device.events("screen") if "image" in event]
