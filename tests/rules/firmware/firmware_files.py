"""Files as releases of the firmware have them: a whole flash, an archive, an asset pack."""

import io
import json
import struct
from typing import Any
import zipfile

from custom_components.xiaozhi.guests.wake_words.assets_pack import Asset, write_models, write_pack

TABLE_OFFSET = 0x8000
FIRMWARE_OFFSET = 0x20000
FONT = "font_noto_sans_common_20_4.bin"
OLD_WORD = {"wn9_nihaoxiaozhi_tts": {"_MODEL_INFO_": "w_t_你好小智_3".encode(), "wn9_data": b"n"}}


def flash(
    app: bytes, *partitions: tuple[int, int, int, int, bytes], loader: bytes = b"\xe9\x03\x02"
) -> bytes:
    """Return a binary for a whole flash: a loader, the table of partitions, settings and a firmware."""
    table = b"".join(
        struct.pack("<HBBII16sI", 0x50AA, kind, subtype, offset, size, label, 0)
        for kind, subtype, offset, size, label in (
            (1, 0x02, 0x9000, 0x4000, b"nvs"),
            (0, 0x10, FIRMWARE_OFFSET, 0x3F0000, b"ota_0"),
            (0, 0x11, 0x410000, 0x3F0000, b"ota_1"),
            *partitions,
        )
    )
    return (
        (loader.ljust(TABLE_OFFSET, b"\xff") + table).ljust(FIRMWARE_OFFSET, b"\xff") + app + b"\xff" * 4096
    )


def archive(method: int = zipfile.ZIP_DEFLATED, /, **files: bytes) -> bytes:
    """Return a ZIP archive; in the names, a double underscore stands for a dot."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as target:
        for name, content in files.items():
            target.writestr(name.replace("__", "."), content)
    return buffer.getvalue()


def base_pack(models: Any = None, more: dict[str, Any] | None = None, **files: Asset) -> bytes:
    """Return a pack as the firmware's script makes it."""
    meta = {"charset": "common", "size": 20, "bpp": 4, "bundle": "noto-v1"}
    index = {
        "version": 1,
        "srmodels": "srmodels.bin",
        "text_font": FONT,
        "text_font_meta": meta,
        **(more or {}),
    }
    return write_pack(
        {
            FONT: Asset(b"font"),
            "srmodels.bin": Asset(write_models(OLD_WORD if models is None else models)),
            "index.json": Asset(json.dumps(index, indent=4, ensure_ascii=False).encode()),
            **files,
        }
    )
