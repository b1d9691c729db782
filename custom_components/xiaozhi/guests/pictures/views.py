"""Views on Home Assistant's web server where devices upload pictures and download files."""

import asyncio
from contextlib import suppress
import logging
import socket
from typing import Final

from aiohttp import web

from ...const import FILE_PATH, UPLOAD_PATH
from ...device_http.access import DeviceView, for_devices
from ...device_http.bodies import receive_body
from ...device_http.transfers import Download, Transfers, Upload
from ...timeouts import PictureTimeouts
from .vision import MAX_BODY_BYTES

_LOGGER = logging.getLogger(__name__)

_CHUNK: Final = 16 * 1024


class UploadView(DeviceView[Transfers]):
    """View to which a device posts a screenshot (`mcp_server.cc`, `self.screen.snapshot`)."""

    url = UPLOAD_PATH + "/{token}"
    name = "api:xiaozhi:upload"

    @for_devices
    async def post(self, request: web.Request, token: str) -> web.Response:
        """Take the upload for this address."""
        transfers = self.part
        upload = transfers.take(Upload, token)
        try:
            async with transfers.pictures.upload(PictureTimeouts.slot):
                body = await receive_body(request, MAX_BODY_BYTES, PictureTimeouts.upload)
        except TimeoutError as err:
            raise web.HTTPServiceUnavailable(text="Too many pictures at once") from err
        upload.content_type, upload.body = request.headers.get("Content-Type", ""), body
        return web.Response(text="Thank you")


class FileView(DeviceView[Transfers]):
    """View from which a device downloads a file. It needs the length first, and follows no redirect."""

    url = FILE_PATH + "/{token}"
    name = "api:xiaozhi:file"

    @for_devices
    async def get(self, request: web.Request, token: str) -> web.StreamResponse:
        """Send the file at this address, as fast as the device takes it."""
        download = self.part.take(Download, token)
        response = web.StreamResponse(headers={"Content-Type": download.content_type})
        response.content_length = len(download.content)
        _send_no_faster_than_taken(request)
        download.started, download.remote = True, request.remote or ""
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
