"""Installing a firmware. Source: the firmware's `Application::UpgradeFirmware` and `Ota::Upgrade`."""

import asyncio
from typing import Final

from ..board.crash import DeviceCrashed
from ..firmware.image import PROJECT, ImageError, judge_image, starts_as_image
from ..firmware.partitions import APP_PARTITION_BYTES
from ..link.http_client import HttpClient, HttpError
from .control import Control
from .hardware import Hardware
from .mainloop import MainLoop
from .state import State

# Speed of erasing and writing flash.
_BYTES_PER_SECOND: Final = 150_000
_CHIP_REVISION: Final = 2


class Upgrader:
    """Downloads a firmware into the inactive partition, and restarts."""

    def __init__(self, hardware: Hardware, loop: MainLoop, http: HttpClient, control: Control) -> None:
        """`control` restarts the device after an installation."""
        self._hardware = hardware
        self._loop = loop
        self._control = control
        self._http = http

    async def run(self, url: str, version: str = "") -> None:
        """Install the firmware at `url`; returns only after a failure. Raises `Restart` and `DeviceCrashed`.

        After a failure the device stays in the state `upgrading`, if it could enter that.
        """
        hardware, control = self._hardware, self._control
        screen, pace = hardware.screen, hardware.pace
        await control.cancel_announcement("an update")
        await control.end_conversation()
        screen.show_alert("OTA upgrade", "System is upgrading...", "download")
        hardware.recorder.add("sound", name="upgrade")
        await pace.wait(3)
        await control.set_state(State.UPGRADING)
        screen.show_message("system", f"New version: {version or '(Manual upgrade)'}")
        await pace.wait(1)
        hardware.recorder.add("upgrade", url=url)
        try:
            found = await self._install(url)
        except (HttpError, ImageError) as err:
            hardware.recorder.add("upgrade_failed", url=url, error=str(err))
            screen.show_alert("ERROR", "Upgrade failed", "circle_xmark")
            hardware.recorder.add("sound", name="exclamation")
            await pace.wait(3)
            return
        hardware.recorder.add("upgraded", url=url, version=found)
        screen.show_message("system", "Upgrade successful, rebooting...")
        await pace.wait(1)
        await control.reboot()

    async def _install(self, url: str) -> str:
        """Return the version of what was installed. Raises `HttpError` and `ImageError`."""
        image = bytearray()
        recorder, reported, recent = self._hardware.recorder, asyncio.get_running_loop().time(), 0

        def show(progress: str) -> None:
            screen = self._hardware.screen
            self._loop.schedule_call(lambda: screen.show_message("system", progress))

        async def write(page: bytes, length: int) -> None:
            nonlocal reported, recent
            if not image and not starts_as_image(page):
                raise ImageError("it does not start like an image")
            if len(image) + len(page) > APP_PARTITION_BYTES:
                raise ImageError("it is larger than the partition")
            image.extend(page)
            recent += len(page)
            await self._hardware.pace.write_flash(len(page) / _BYTES_PER_SECOND)
            if len(image) >= length or asyncio.get_running_loop().time() - reported >= 1:
                percent = len(image) * 100 // length
                recorder.add("progress", percent=percent)
                show(f"{percent}% {recent // 1024}KB/s")
                reported, recent = asyncio.get_running_loop().time(), 0

        await self._http.download(url, write)
        chip = self._hardware.profile.board.chip
        found = judge_image(bytes(image), chip=chip, revision=_CHIP_REVISION)
        if found.project != PROJECT:
            raise DeviceCrashed(f"it runs another firmware now: {found.project or 'unknown'}")
        self._hardware.partitions.install(found.version)
        return found.version
