"""Where pictures that are to be shown come from, who may show which, and what refusals tell."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, override

from homeassistant.auth.const import GROUP_ID_USER
from homeassistant.auth.models import User
from homeassistant.components.camera import Camera
from homeassistant.components.image import ImageEntity
from homeassistant.components.media_source import MediaSource, MediaSourceItem, PlayMedia
from homeassistant.const import Platform
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError, Unauthorized
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import SimulatedDevice, get_profile
from tests.integration.boxes import call_action, wait_for_state
from tests.integration.media.media_server import MediaServer, add_media_source, media_server
from tests.integration.names import Boot
from tests.integration.pictures.eyes import png, shown_on
from tests.integration.speech import add_entities

LINK = LinkKind.MQTT

pytestmark = pytest.mark.own_home

type Show = Callable[..., Awaitable[None]]

PHOTO = "image.kitchen_box_photo"
CAT = {"media_content_id": "media-source://media_source/local/cat.png"}
TOO_LARGE = bytes(16 * 1024 * 1024 + 1)


@pytest.fixture
async def cameras(hass: HomeAssistant) -> None:
    """A house with cameras. Use it before what starts the web server."""
    assert await async_setup_component(hass, "camera", {})


@pytest.fixture
def show(hass: HomeAssistant, device_id: str) -> Show:
    async def call(user: User | None = None, **source: Any) -> None:
        context = Context(user_id=user.id if user else None)
        await call_action(hass, "show_image", device_id, context, **source)

    return call


class Poster(ImageEntity):
    """An image entity of another integration."""

    _attr_name = "Poster"
    _attr_content_type = "image/png"

    def __init__(self, hass: HomeAssistant, content: bytes) -> None:
        super().__init__(hass)
        self._content = content
        self._attr_image_last_updated = dt_util.utcnow()

    @override
    async def async_image(self) -> bytes:
        return self._content


class DoorCamera(Camera):
    """A camera of another integration."""

    _attr_name = "Door"

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self._content = content

    @override
    async def async_camera_image(self, width: int | None = None, height: int | None = None) -> bytes:
        return self._content


async def add_poster(hass: HomeAssistant, content: bytes) -> Poster:
    await add_entities(hass, "posters", {Platform.IMAGE: [poster := Poster(hass, content)]})
    return poster


async def add_camera(hass: HomeAssistant, content: bytes) -> DoorCamera:
    await add_entities(hass, "doors", {Platform.CAMERA: [door := DoorCamera(content)]})
    return door


@pytest.mark.usefixtures("cameras")
@pytest.mark.parametrize("add", [add_poster, add_camera])
async def test_a_picture_of_another_integration_is_shown(
    hass: HomeAssistant,
    camera: SimulatedDevice,
    show: Show,
    add: Callable[[HomeAssistant, bytes], Awaitable[Poster | DoorCamera]],
) -> None:
    entity = await add(hass, png(64, 48))
    entity_id = entity.entity_id
    domain = entity_id.partition(".")[0]
    await show(image=entity_id)
    # Of a camera, the media library knows a stream without end.
    await show(media={"media_content_id": f"media-source://{domain}/{entity_id}"})
    assert shown_on(camera) == [(320, 240), (320, 240)]
    entity._content = TOO_LARGE
    with pytest.raises(HomeAssistantError, match=rf"The picture {entity_id} is larger than 16 MB"):
        await show(image=entity_id)
    assert len(shown_on(camera)) == 2


@pytest.fixture
def folder(hass: HomeAssistant, tmp_path: Path) -> Path:
    hass.config.media_dirs["local"] = str(tmp_path)
    return tmp_path


async def test_a_picture_of_the_media_library_is_fitted_into_the_screen(
    hass: HomeAssistant, camera: SimulatedDevice, device_id: str, show: Show, folder: Path
) -> None:
    await call_action(hass, "screenshot", device_id)
    await show(media={"media_content_id": "media-source://image/image.kitchen_box_screen"})
    for nothing in ("media-source://", "media-source:///x"):
        with pytest.raises(HomeAssistantError):
            await show(media={"media_content_id": nothing})
    for size in ((640, 240), (32, 64)):
        await asyncio.to_thread((folder / "cat.png").write_bytes, png(*size, "RGBA"))
        await show(media=CAT)
    assert shown_on(camera) == [(320, 240), (320, 120), (120, 240)]
    await asyncio.to_thread((folder / "cat.png").write_bytes, b"<html>")
    with pytest.raises(ServiceValidationError, match="not a picture that can be shown"):
        await show(media=CAT)


async def test_a_missing_or_large_file_and_a_camera_without_its_part_are_named(
    camera: SimulatedDevice, show: Show, folder: Path, hass: HomeAssistant
) -> None:
    for reason in ("could not be read from the media folder", "is larger than 16 MB"):
        with pytest.raises(HomeAssistantError, match=rf"The picture cat\.png {reason}") as problem:
            await show(media=CAT)
        assert str(folder) not in str(problem.value), "the folders of the computer are nobody's business"
        await asyncio.to_thread((folder / "cat.png").write_bytes, TOO_LARGE)
    assert not shown_on(camera)
    assert "camera" not in hass.config.components
    with pytest.raises(HomeAssistantError, match=r"Home Assistant has no camera camera\.door"):
        await show(image="camera.door")
    assert not shown_on(camera)


async def test_a_picture_that_cannot_be_decoded_is_not_shown_and_the_next_is(
    hass: HomeAssistant, camera: SimulatedDevice, show: Show
) -> None:
    poster = await add_poster(hass, b"")
    for poster._content, reason in (
        (png(10_000, 7_000, "1"), "would take too much memory or time to decode"),
        (png(64, 48)[:-20], "is damaged, incomplete or of an unusual kind"),
    ):
        with pytest.raises(HomeAssistantError, match=reason):
            await show(image="image.poster")
    assert not shown_on(camera)
    poster._content = png(64, 48)
    await show(image="image.poster")
    assert shown_on(camera) == [(320, 240)]


async def test_a_screen_without_a_sensible_size_is_shown_nothing(
    hass: HomeAssistant, boot: Boot, show: Show
) -> None:
    profile = get_profile("camera")
    device = await boot(replace(profile, board=replace(profile.board, height=0)))
    await wait_for_state(hass, "button.kitchen_box_take_photo", "unknown")
    with pytest.raises(HomeAssistantError, match="Kitchen box does not report the size of its screen"):
        await show(image=(await add_poster(hass, png(64, 48))).entity_id)
    assert not shown_on(device)


@pytest.fixture
async def site(socket_enabled: None) -> AsyncGenerator[MediaServer]:
    """A web server in the house, with a picture."""
    async with media_server() as server:
        server.file("/picture", png(64, 48))
        yield server


async def test_automations_and_administrators_show_pictures_from_addresses(
    hass: HomeAssistant, camera: SimulatedDevice, show: Show, site: MediaServer
) -> None:
    class Album(MediaSource):
        @override
        async def async_resolve_media(self, item: MediaSourceItem) -> PlayMedia:
            return PlayMedia(site.url("/picture"), "image/png")

    await add_media_source(hass, Album("album"))
    admin = MockUser(is_owner=True).add_to_hass(hass)
    await show(url=site.url("/picture"))
    await show(admin, url=site.url("/picture"))
    for address in (site.url("/picture"), "media-source://album/cat"):
        await show(media={"media_content_id": address})
    site.redirect("/redirect", "/picture")
    await show(admin, url=site.url("/redirect"))
    assert site.paths() == ["/picture"] * 4 + ["/redirect", "/picture"]
    assert shown_on(camera) == [(320, 240)] * 5


@pytest.mark.usefixtures("camera")
async def test_another_user_does_not_and_learns_nothing_and_sees_nothing_hidden(
    hass: HomeAssistant, show: Show, site: MediaServer, free_port: int
) -> None:
    MockUser(is_owner=True).add_to_hass(hass)
    user = await hass.auth.async_create_user("Anna", group_ids=[GROUP_ID_USER])
    for url in (
        site.url("/picture"),
        f"http://127.0.0.1:{free_port}/picture",
        "https://pictures.example.com/a.png",
    ):
        for source in ({"url": url}, {"media": {"media_content_id": url}}):
            with pytest.raises(ServiceValidationError) as problem:
                await show(user, **source)
            assert problem.value.translation_key == "address_not_allowed"
    assert not site.paths()
    guest = MockUser(groups=[]).add_to_hass(hass)
    for source in ({"image": PHOTO}, {"media": {"media_content_id": f"media-source://image/{PHOTO}"}}):
        with pytest.raises(Unauthorized):
            await show(guest, **source)


@pytest.mark.usefixtures("camera")
async def test_all_failures_to_fetch_are_told_alike(show: Show, site: MediaServer, free_port: int) -> None:
    site.redirect("/redirect", "/redirect")
    site.pieces("/stalls", [b""], then="stall")
    site.file("/large", TOO_LARGE)
    for url in (
        f"http://127.0.0.1:{free_port}/picture",
        site.url("/missing"),
        site.url("/redirect"),
        site.url("/stalls"),
        "http://[/picture",
    ):
        with pytest.raises(HomeAssistantError, match="No picture could be fetched") as problem:
            await show(media={"media_content_id": url})
        assert problem.value.translation_key == "picture_not_fetched"
    with pytest.raises(HomeAssistantError, match="larger than 16 MB"):
        await show(url=site.url("/large"))
