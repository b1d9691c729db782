"""One-time addresses at which a device downloads or uploads a file."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
import secrets
from typing import Final

from homeassistant.core import callback
from homeassistant.util.hass_dict import HassKey

from ..const import DOMAIN, FILE_PATH, STREAM_PATH, UPLOAD_PATH
from ..protocol.clock import loop_time

# The token is the only credential of these requests.
_TOKEN_BYTES: Final = 24


class Upload:
    """A picture that a device is to upload."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.content_type = ""
        self.body: bytes | None = None
        """The body as the device sent it; None until it has arrived."""


class Download:
    """A file that a device is to download."""

    def __init__(
        self, content: bytes, content_type: str, progressed: Callable[[], None] = lambda: None
    ) -> None:
        """Offer `content`. `progressed` is called at every change."""
        self.content = content
        self.content_type = content_type
        self.sent = 0
        """Bytes."""
        self.started = False
        self.ended = False
        """Whether the download is over, complete or not."""
        self._progressed = progressed

    @property
    def complete(self) -> bool:
        """Whether the device has downloaded the whole file."""
        return self.sent == len(self.content)

    @callback
    def start(self) -> None:
        """Note that the download begins."""
        self.started = True
        self._progressed()

    @callback
    def progress(self, sent: int) -> None:
        """Note how many bytes the device has downloaded."""
        self.sent = sent
        self._progressed()

    @callback
    def end(self) -> None:
        """Note that the download is over."""
        self.ended = True
        self._progressed()


class Stream:
    """Sound that a device downloads while it is made."""

    def __init__(self, content: AsyncGenerator[bytes], content_type: str) -> None:
        """Offer `content`, which is closed by who takes it from the address."""
        self.content = content
        self.content_type = content_type
        self.taken = 0
        """Bytes that have arrived at the device."""
        self.direct = True
        """Whether the device has asked for it without a proxy."""
        self.delivered = False
        """Whether all of it has arrived; the device may still have to read it."""
        self.error: Exception | None = None
        """What `content` raised."""
        self.stopped = asyncio.Event()
        self._requested: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._ended: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    @property
    def requested(self) -> bool:
        """Whether the device has asked for it."""
        return self._requested.done()

    async def wait_requested(self) -> float:
        """Wait until the device asks for it; return when, by the clock of the event loop."""
        return await asyncio.shield(self._requested)

    async def wait_ended(self) -> float:
        """Wait until the connection is closed, or broken off; return when."""
        return await asyncio.shield(self._ended)

    @callback
    def begin(self, *, direct: bool) -> None:
        """Note that the device has asked for it."""
        self.direct = direct
        self._requested.set_result(loop_time())

    @callback
    def end(self) -> None:
        """Note that the download is over."""
        self._ended.set_result(loop_time())

    @callback
    def stop(self) -> None:
        """Break the download off; the device then drops what it has not played."""
        self.stopped.set()


class Transfers:
    """The open addresses. Each closes after its first use, or when its context ends."""

    def __init__(self) -> None:
        self._uploads: dict[str, Upload] = {}
        self._downloads: dict[str, Download] = {}
        self._streams: dict[str, Stream] = {}

    @contextmanager
    def expect(self, origin: str) -> Iterator[Upload]:
        """Open an address for an upload on our web server, which the device reaches at `origin`."""
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        upload = self._uploads[token] = Upload(f"{origin}{UPLOAD_PATH}/{token}")
        try:
            yield upload
        finally:
            self._uploads.pop(token, None)

    @contextmanager
    def offer(self, download: Download) -> Iterator[str]:
        """Open an address for a download. Yields its path on our web server."""
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._downloads[token] = download
        try:
            yield f"{FILE_PATH}/{token}"
        finally:
            self._downloads.pop(token, None)

    @contextmanager
    def offer_stream(self, stream: Stream) -> Iterator[str]:
        """Open an address for a stream. Yields its path on our web server."""
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._streams[token] = stream
        try:
            yield f"{STREAM_PATH}/{token}"
        finally:
            self._streams.pop(token, None)

    def take_upload(self, token: str) -> Upload | None:
        """Return the upload for a token, and close its address."""
        return self._uploads.pop(token, None)

    def take_download(self, token: str) -> Download | None:
        """Return the download for a token, and close its address."""
        return self._downloads.pop(token, None)

    def take_stream(self, token: str) -> Stream | None:
        """Return the stream for a token, and close its address."""
        return self._streams.pop(token, None)


TRANSFERS: Final[HassKey[Transfers]] = HassKey(f"{DOMAIN}_transfers")
