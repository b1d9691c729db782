"""The two flash partitions for firmware, and the choice between them at start.

Source: ESP-IDF's `esp_ota_ops.c` and `bootloader_utility.c`. The firmware's `sdkconfig.defaults` enables the
rollback: `CONFIG_BOOTLOADER_APP_ROLLBACK_ENABLE`.
"""

from typing import Final

APP_PARTITION_BYTES: Final = 0x3F_0000


class AppPartitions:
    """A new firmware is rolled back at the next start, unless it has confirmed that it works."""

    def __init__(self, version: str) -> None:
        self.version = version
        """Version of the running firmware."""
        self._number = 0
        self._installed: str | None = None
        self._fallback: str | None = None

    @property
    def label(self) -> str:
        """Name of the partition of the running firmware."""
        return f"ota_{self._number}"

    @property
    def next_version(self) -> str:
        """Version of the firmware that runs after the next start."""
        for version in (self._installed, self._fallback):
            if version is not None:
                return version
        return self.version

    def install(self, version: str) -> None:
        """Select another firmware for the next start."""
        self._installed = version

    def start(self) -> None:
        """Choose the firmware to run, as the boot loader does."""
        version = self.next_version
        changed = self._installed is not None or self._fallback is not None
        self._fallback = self.version if self._installed is not None else None
        self._installed = None
        self.version = version
        self._number ^= changed

    def confirm(self) -> None:
        """Keep the running firmware: it is not rolled back."""
        self._fallback = None
