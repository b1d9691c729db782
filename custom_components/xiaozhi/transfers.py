"""One-time addresses at which a device fetches or hands over a picture, while a call of its tool runs."""

from collections.abc import Iterator
from contextlib import contextmanager
import secrets
from typing import Final

from homeassistant.util.hass_dict import HassKey

from .const import DOMAIN, FILE_PATH, UPLOAD_PATH

__all__ = ["TRANSFERS", "Transfers", "Upload"]

# The device sends no other credential with these.
_TOKEN_BYTES: Final = 24


class Upload:
    """A picture that is expected."""

    def __init__(self, url: str) -> None:
        """Expect it at this address."""
        self.url = url
        self.content_type = ""
        self.body: bytes | None = None
        """What came, as the device sent it."""


class Transfers:
    """The addresses that are open now. Each ends with its first use, and with the call at the latest."""

    def __init__(self) -> None:
        """Begin with none."""
        self._uploads: dict[str, Upload] = {}
        self._files: dict[str, bytes] = {}

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
    def offer(self, origin: str, content: bytes) -> Iterator[str]:
        """Offer a file at the address that this gives."""
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._files[token] = content
        try:
            yield f"{origin}{FILE_PATH}/{token}"
        finally:
            self._files.pop(token, None)

    def take_upload(self, token: str) -> Upload | None:
        """Return what is expected at an address, and close it."""
        return self._uploads.pop(token, None)

    def take_file(self, token: str) -> bytes | None:
        """Return what is offered at an address, and close it."""
        return self._files.pop(token, None)


TRANSFERS: Final[HassKey[Transfers]] = HassKey(f"{DOMAIN}_transfers")
