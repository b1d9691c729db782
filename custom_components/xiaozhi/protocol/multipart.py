"""Parses the forms in which devices send pictures (the firmware's `esp32_camera.cc` and `mcp_server.cc`).

aiohttp's `request.multipart()` reads these forms too, but only in the event loop, which a hostile body of 2
MB blocks for more than a third of a second. This parser runs in an executor, on a body of known size.
"""

import re
from typing import Final

_BOUNDARY: Final = re.compile(
    r'multipart/form-data;.*?\bboundary="?([0-9A-Za-z\'()+_,./:=? -]{1,70}?)"?\s*', re.IGNORECASE
)
_NAME: Final = re.compile(
    rb'^content-disposition:\s*form-data;.*?\bname="([^"\r\n]{1,64})"', re.IGNORECASE | re.MULTILINE
)
_MAX_PARTS: Final = 8


class FormError(ValueError):
    """The body is not a complete form."""


def parse_form(content_type: str, body: bytes) -> dict[str, bytes]:
    """Return the fields of a `multipart/form-data` body by name. Raises `FormError`."""
    match = _BOUNDARY.fullmatch(content_type[:512])
    if match is None:
        raise FormError("not a form with a boundary")
    delimiter = b"\r\n--" + match[1].encode()
    # No line break precedes the first delimiter.
    preamble, *parts = (b"\r\n" + body).split(delimiter, _MAX_PARTS + 1)
    if len(parts) > _MAX_PARTS:
        raise FormError(f"more than {_MAX_PARTS} parts")
    if preamble.strip() or not parts or not parts[-1].startswith(b"--"):
        raise FormError("the form does not begin or end as it should")
    return dict(_parse_part(part) for part in parts[:-1])


def _parse_part(part: bytes) -> tuple[str, bytes]:
    head, separator, content = part.partition(b"\r\n\r\n")
    name = _NAME.search(head) if separator and len(head) <= 2048 else None
    if name is None:
        raise FormError("a part has no name")
    return name[1].decode("latin-1"), content
