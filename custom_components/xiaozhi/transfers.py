"""One-time addresses at which a device fetches or hands over a file."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import secrets
from typing import Final

from homeassistant.core import callback
from homeassistant.util.hass_dict import HassKey

from .const import DOMAIN, FILE_PATH, UPLOAD_PATH

__all__ = ["TRANSFERS", "Download", "Transfers", "Upload"]

# The device sends no other credential with these.
_TOKEN_BYTES: Final = 24


class Upload:
    """A picture that is expected."""

    def __init__(self, url: str) -> None:
        """Expect the picture at this address."""
        self.url = url
        self.content_type = ""
        self.body: bytes | None = None
        """The body as the device sent it; None before it has arrived."""


class Download:
    """A file that a device is to fetch."""

    def __init__(
        self, content: bytes, content_type: str, progressed: Callable[[], None] = lambda: None
    ) -> None:
        """Offer `content`; `progressed` is called whenever something changes."""
        self.content = content
        self.content_type = content_type
        self.sent = 0
        """Bytes."""
        self.started = False
        self.ended = False
        """Whether it was fetched to its end, or the device went away before."""
        self._progressed = progressed

    @property
    def complete(self) -> bool:
        """Whether the device has fetched all of it."""
        return self.sent == len(self.content)

    @callback
    def start(self) -> None:
        """Note that the device begins to fetch."""
        self.started = True
        self._progressed()

    @callback
    def progress(self, sent: int) -> None:
        """Note how many bytes the device has fetched."""
        self.sent = sent
        self._progressed()

    @callback
    def end(self) -> None:
        """Note that the device fetches nothing more."""
        self.ended = True
        self._progressed()


class Transfers:
    """The addresses that are open now. Each ends with its first use, or with what it is for."""

    def __init__(self) -> None:
        """Start empty."""
        self._uploads: dict[str, Upload] = {}
        self._downloads: dict[str, Download] = {}

    @contextmanager
    def expect(self, origin: str) -> Iterator[Upload]:
        """Expect a picture at an address of our web server, which the device reaches at `origin`."""
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        upload = self._uploads[token] = Upload(f"{origin}{UPLOAD_PATH}/{token}")
        try:
            yield upload
        finally:
            self._uploads.pop(token, None)

    @contextmanager
    def offer(self, download: Download) -> Iterator[str]:
        """Offer a file at the path of our web server that this gives."""
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._downloads[token] = download
        try:
            yield f"{FILE_PATH}/{token}"
        finally:
            self._downloads.pop(token, None)

    def take_upload(self, token: str) -> Upload | None:
        """Return what is expected at an address, and close it."""
        return self._uploads.pop(token, None)

    def take_download(self, token: str) -> Download | None:
        """Return what is offered at an address, and close it."""
        return self._downloads.pop(token, None)


TRANSFERS: Final[HassKey[Transfers]] = HassKey(f"{DOMAIN}_transfers")
