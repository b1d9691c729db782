"""The station behind the address of a playlist: the first entry of an M3U or PLS file.

Web radio is often listed like this. ffmpeg cannot read such files; what it reads is HTTP Live Streaming.
"""

from typing import Final
from urllib.parse import urljoin

MAX_PLAYLIST: Final = 64 * 1024
"""Bytes."""
PLAYLISTS: Final = (".m3u", ".pls")
"""Their names end like this."""
_HLS: Final = "#EXT-X-"


def first_entry(text: str, address: str) -> str:
    """Return the first address in a playlist from an address, or that address itself where it is for ffmpeg.

    Raises `ValueError` if there is none.
    """
    if _HLS in text:
        return address
    is_pls = "[playlist]" in text[:200].lower()
    for line in text.splitlines():
        entry = line.strip().removeprefix("\ufeff")
        if is_pls:
            name, _, entry = entry.partition("=")
            if not name.strip().lower().startswith("file"):
                continue
        if entry and not entry.startswith("#"):
            return urljoin(address, entry.strip())
    raise ValueError("a playlist without an entry")
