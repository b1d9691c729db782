"""The two places in flash for a firmware, and which of them starts.

Source: ESP-IDF's `esp_ota_ops.c` and `bootloader_utility.c`. The firmware's `sdkconfig.defaults` asks for the
way back: `CONFIG_BOOTLOADER_APP_ROLLBACK_ENABLE`.
"""

from typing import Final

__all__ = ["APP_PARTITION_BYTES", "AppPartitions"]

APP_PARTITION_BYTES: Final = 0x3F_0000


class AppPartitions:
    """A new firmware is on trial until it says that it works; an earlier start leads back to the old one."""

    def __init__(self, version: str) -> None:
        """Start with one firmware, on trial no more."""
        self.version = version
        """Of the firmware that runs."""
        self._number = 0
        self._installed: str | None = None
        self._fallback: str | None = None

    @property
    def label(self) -> str:
        """Name of the partition that the running firmware is in."""
        return f"ota_{self._number}"

    @property
    def next_version(self) -> str:
        """Version of the firmware that the next start leads to."""
        for version in (self._installed, self._fallback):
            if version is not None:
                return version
        return self.version

    def install(self, version: str) -> None:
        """Have another firmware run from the next start on."""
        self._installed = version

    def start(self) -> None:
        """Choose what runs, as the boot loader does."""
        version = self.next_version
        changed = self._installed is not None or self._fallback is not None
        self._fallback = self.version if self._installed is not None else None
        self._installed = None
        self.version = version
        self._number ^= changed

    def confirm(self) -> None:
        """Keep the firmware that runs."""
        self._fallback = None
