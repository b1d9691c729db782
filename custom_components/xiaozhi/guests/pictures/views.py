"""View on Home Assistant's web server to which devices upload pictures."""

from aiohttp import web

from ...const import UPLOAD_PATH
from ...device_http.access import DeviceView, for_devices
from ...device_http.bodies import receive_body
from ...device_http.transfers import Transfers, Upload
from ...timeouts import PictureTimeouts
from .vision import MAX_BODY_BYTES


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
