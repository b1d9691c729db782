"""Views on Home Assistant's web server where devices upload pictures and download files."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
import logging
import socket
from typing import Final

from aiohttp import web
from homeassistant.const import CONTENT_TYPE_JSON
from homeassistant.helpers.http import KEY_HASS

from ..const import FILE_PATH, UPLOAD_PATH, VISION_PATH
from ..device.device import Device
from ..device_http.access import DeviceView, for_devices, path_of
from ..device_http.bodies import receive_body
from ..device_http.transfers import Download, Transfers, Upload
from ..errors import UserError
from ..links.admission import same
from ..timeouts import PictureTimeouts
from .vision import Vision

_LOGGER = logging.getLogger(__name__)

_MAX_BODY_BYTES: Final = 2 * 1024 * 1024 + 16 * 1024
_CHUNK: Final = 16 * 1024


class VisionView(DeviceView[Mapping[str, Device]]):
    """Where a device posts a photo with a question (`esp32_camera.cc`, `Explain`)."""

    url = VISION_PATH
    name = "api:xiaozhi:vision"

    def __init__(self, find: Callable[[], Mapping[str, Device] | None]) -> None:
        super().__init__(find)
        self._vision = Vision()

    @for_devices
    async def post(self, request: web.Request) -> web.Response:
        """Answer a question. A known device always gets status 200: it reads no other answer."""
        device = _authenticate(request, self.part)

        async def receive() -> bytes:
            try:
                return await receive_body(request, _MAX_BODY_BYTES, PictureTimeouts.upload)
            except web.HTTPClientError as err:
                _LOGGER.debug("%s: photo not received: %s", device.name, err.text)
                raise UserError("photo_not_complete") from err

        content_type = request.headers.get("Content-Type", "")
        answer = await self._vision.take(request.app[KEY_HASS], device, content_type, receive)
        return web.Response(body=answer, content_type=CONTENT_TYPE_JSON)


class UploadView(DeviceView[Transfers]):
    """Where a device posts a screenshot (`mcp_server.cc`, `self.screen.snapshot`)."""

    url = UPLOAD_PATH + "/{token}"
    name = "api:xiaozhi:upload"

    @for_devices
    async def post(self, request: web.Request, token: str) -> web.Response:
        """Take the upload for this address."""
        transfers = self.part
        upload = transfers.take(Upload, token)
        if upload is None:
            raise web.HTTPNotFound(text="Nothing is expected here")
        try:
            async with transfers.pictures.upload(PictureTimeouts.slot):
                body = await receive_body(request, _MAX_BODY_BYTES, PictureTimeouts.upload)
        except TimeoutError as err:
            raise web.HTTPServiceUnavailable(text="Too many pictures at once") from err
        upload.content_type, upload.body = request.headers.get("Content-Type", ""), body
        return web.Response(text="Thank you")


class FileView(DeviceView[Transfers]):
    """Where a device downloads a file. It needs the length first, and follows no redirect."""

    url = FILE_PATH + "/{token}"
    name = "api:xiaozhi:file"

    @for_devices
    async def get(self, request: web.Request, token: str) -> web.StreamResponse:
        """Send the file at this address, as fast as the device takes it."""
        transfers = self.part
        download = transfers.take(Download, token)
        if download is None:
            raise web.HTTPNotFound(text="Nothing is offered here")
        response = web.StreamResponse(headers={"Content-Type": download.content_type})
        response.content_length = len(download.content)
        _send_no_faster_than_taken(request)
        download.started = True
        download.progressed()
        try:
            await response.prepare(request)
            for start in range(0, len(download.content), _CHUNK):
                part = download.content[start : start + _CHUNK]
                async with asyncio.timeout(PictureTimeouts.stall):
                    await response.write(part)
                download.sent = start + len(part)
                download.progressed()
            await response.write_eof()
        except TimeoutError, ConnectionError:
            _LOGGER.debug("A file was fetched up to byte %d only", download.sent)
            # A client that does not read would keep the connection open.
            if request.transport is not None:
                request.transport.abort()
        finally:
            download.ended = True
            download.progressed()
        return response


def _send_no_faster_than_taken(request: web.Request) -> None:
    """Shrink the send buffer, so that bytes sent are bytes received, except for some KiB."""
    if request.transport is not None and (opened := request.transport.get_extra_info("socket")) is not None:
        with suppress(OSError):
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _CHUNK)


def _authenticate(request: web.Request, devices: Mapping[str, Device]) -> Device:
    """Return the calling device. Raises an HTTP error; never 401: Home Assistant would ban the IP address."""
    device = devices.get(request.headers.get("Device-Id", "").lower())
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if device is None or scheme.lower() != "bearer" or not same(token, device.settings.vision_token):
        _LOGGER.debug("Call of %s from %s refused: unknown device or token", path_of(request), request.remote)
        raise web.HTTPForbidden(text="Unknown device or token")
    return device
