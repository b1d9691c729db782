"""Handlers of the tools that do more than read or write a value.

Source: the firmware's `mcp_server.cc` and `esp32_camera.cc`.
"""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from ..board.cjson import JsonObject
from ..board.crash import Restart
from ..board.picture import jpeg
from ..board.system_info import system_info
from ..board.tools import Tool, ToolError, ToolResult, device_status, run_plain
from ..link.http_client import HttpClient, HttpError, Response
from .control import Control
from .hardware import Hardware
from .mainloop import MainLoop
from .state import State

_CAMERA_BOUNDARY: Final = "----ESP32_CAMERA_BOUNDARY"
_SNAPSHOT_BOUNDARY: Final = "----ESP32_SCREEN_SNAPSHOT_BOUNDARY"
_CHUNK: Final = 512
_PNG: Final = b"\x89PNG\r\n\x1a\n"


class DeviceTools:
    """Executes tool calls on the device."""

    def __init__(
        self,
        hardware: Hardware,
        loop: MainLoop,
        http: HttpClient,
        control: Control,
        *,
        upgrade: Callable[[str], Coroutine[Any, Any, None]],
        vision: Callable[[], tuple[str, str]],
    ) -> None:
        """`upgrade` installs the firmware at an address; `vision` returns address and token for photos."""
        self._hardware = hardware
        self._loop = loop
        self._control = control
        self._upgrade_to = upgrade
        self._vision = vision
        self._http = http
        self._handlers: dict[str, Callable[[JsonObject], Awaitable[ToolResult]]] = {
            "device_status": self._device_status,
            "system_info": self._system_info,
            "screen_info": self._screen_info,
            "take_photo": self._take_photo,
            "snapshot": self._snapshot,
            "preview_image": self._preview_image,
            "reboot": self._reboot,
            "restart": self._restart,
            "upgrade": self._upgrade,
            "leave": self._leave,
            "close_channel": self._close_channel,
            "set_download_url": self._set_download_url,
        }

    async def run(self, tool: Tool, arguments: JsonObject) -> ToolResult:
        """Execute a call. Raises `ToolError`."""
        hardware = self._hardware
        hardware.recorder.add("tool", name=tool.name, arguments=arguments)
        if seconds := hardware.tool_seconds.get(tool.name):
            await hardware.pace.wait(seconds)
        result = run_plain(tool, arguments, hardware.values)
        if tool.handler is not None:
            result = await self._handlers[tool.handler](arguments)
        text = hardware.faults.tool_text(tool.name)
        return result if text is None else text

    async def _device_status(self, _: JsonObject) -> ToolResult:
        return device_status(self._hardware.profile, self._hardware.values)

    async def _system_info(self, _: JsonObject) -> ToolResult:
        hardware = self._hardware
        return system_info(hardware.profile, hardware.identity, hardware.partitions.label)

    async def _screen_info(self, _: JsonObject) -> ToolResult:
        board = self._hardware.profile.board
        return {"width": board.width, "height": board.height, "monochrome": board.monochrome}

    async def _take_photo(self, arguments: JsonObject) -> ToolResult:
        url, token = self._vision()
        if not url:
            raise ToolError("Image explain URL or token is not set")
        identity = self._hardware.identity
        headers = {"Client-Id": identity.client_id, "Device-Id": identity.mac}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        question = _part(_CAMERA_BOUNDARY, 'name="question"', None, arguments["question"].encode())
        view = self._hardware.values["view"]
        picture = view if isinstance(view, bytes) else jpeg(320, 240, view)
        photo = _part(_CAMERA_BOUNDARY, 'name="file"; filename="camera.jpg"', "image/jpeg", picture)
        answer = await self._upload(url, _CAMERA_BOUNDARY, headers, [question, photo])
        if answer.status != 200:
            raise ToolError(f"Failed to upload photo, status code: {answer.status}")
        return answer.body.decode(errors="replace")

    async def _snapshot(self, arguments: JsonObject) -> ToolResult:
        board = self._hardware.profile.board
        picture = jpeg(board.width, board.height)
        part = _part(_SNAPSHOT_BOUNDARY, 'name="file"; filename="screenshot.jpg"', "image/jpeg", picture)
        answer = await self._upload(arguments["url"], _SNAPSHOT_BOUNDARY, {}, [part])
        if answer.status != 200:
            raise ToolError(f"Unexpected status code: {answer.status}")
        return True

    async def _upload(self, url: str, boundary: str, headers: dict[str, str], parts: list[bytes]) -> Response:
        """Post the parts in many small chunks, as the firmware does while it compresses the picture."""
        body = b"".join(parts) + f"--{boundary}--\r\n".encode()
        try:
            return await self._http.request(
                "POST",
                url,
                headers
                | {
                    "Content-Type": f"multipart/form-data; boundary={boundary}",
                    "Transfer-Encoding": "chunked",
                },
                chunks=[body[start : start + _CHUNK] for start in range(0, len(body), _CHUNK)],
            )
        except HttpError as err:
            raise ToolError(f"Failed to connect to URL: {url}") from err

    async def _preview_image(self, arguments: JsonObject) -> ToolResult:
        image = await self._download(arguments["url"])
        if image is None:
            raise ToolError(f"Failed to download image: {arguments['url']}")
        if not image.startswith(_PNG):
            raise ToolError("Failed to decode image")
        self._hardware.recorder.add("screen", image=image)
        return True

    async def _download(self, url: str) -> bytes | None:
        """Return a file; None unless the status is 200 and there is a Content-Length."""
        try:
            answer = await self._http.request("GET", url, {}, streamed=True)
        except HttpError:
            return None
        return answer.body if answer.status == 200 and "content-length" in answer.headers else None

    async def _reboot(self, _: JsonObject) -> ToolResult:
        async def later() -> None:
            await self._hardware.pace.wait(1)
            await self._control.reboot()

        self._loop.schedule(later)
        return True

    async def _restart(self, _: JsonObject) -> ToolResult:
        raise Restart

    async def _upgrade(self, arguments: JsonObject) -> ToolResult:
        self._loop.schedule(lambda: self._upgrade_to(arguments["url"]))
        return True

    async def _leave(self, _: JsonObject) -> ToolResult:
        async def go_offline() -> None:
            await self._control.end_conversation()
            await self._control.set_state(State.IDLE)
            await self._control.set_state(State.WIFI_CONFIGURING)

        self._loop.schedule(go_offline)
        return True

    async def _set_download_url(self, arguments: JsonObject) -> ToolResult:
        self._hardware.nvs.set("assets", "download_url", arguments["url"])
        return True

    async def _close_channel(self, _: JsonObject) -> ToolResult:
        self._loop.schedule(self._control.end_conversation)
        return True


def _part(boundary: str, disposition: str, content_type: str | None, content: bytes) -> bytes:
    lines = [f"--{boundary}", f"Content-Disposition: form-data; {disposition}"]
    if content_type is not None:
        lines.append(f"Content-Type: {content_type}")
    return "\r\n".join((*lines, "", "")).encode() + content + b"\r\n"
