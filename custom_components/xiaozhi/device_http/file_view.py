"""View from which devices download files."""

import asyncio
from contextlib import suppress
import logging
import socket
from typing import Final

from aiohttp import web

from ..const import FILE_PATH
from ..timeouts import CallTimeouts
from .access import DeviceView, for_devices
from .transfers import Download, Transfers

_LOGGER = logging.getLogger(__name__)

_CHUNK: Final = 16 * 1024


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
                async with asyncio.timeout(CallTimeouts.stall):
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
