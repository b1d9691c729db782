"""Update entity for the firmware of a device."""

from collections.abc import Sequence
from typing import Any, Final, override

from homeassistant.components.update import (
    UpdateDeviceClass,
    UpdateEntity,
    UpdateEntityDescription,
    UpdateEntityFeature,
)

from ...device.device import Device
from ...entity import DescribedEntities, XiaozhiEntity
from ...errors import InputError
from ...protocol.firmware_version import FirmwareVersion
from ...texts.translated import async_explain, async_text
from .available_firmware import Firmware, FirmwareFiles
from .firmware_image import FirmwareError, FirmwareImage
from .installation import INSTALLATION, DeviceInstallation, FirmwareInstallation

_FIRMWARE: Final = UpdateEntityDescription(
    key="firmware", translation_key="firmware", device_class=UpdateDeviceClass.FIRMWARE
)


class FirmwareUpdate(XiaozhiEntity, UpdateEntity):
    """The firmware of a device. The device is offered nothing until its owner installs an update."""

    _attr_supported_features = (
        UpdateEntityFeature.INSTALL
        | UpdateEntityFeature.PROGRESS
        | UpdateEntityFeature.SPECIFIC_VERSION
        | UpdateEntityFeature.RELEASE_NOTES
    )
    _attr_title = "xiaozhi-esp32"
    # A device that is switched off gets the firmware when it starts.
    follows = (INSTALLATION, "firmware", "board", "chip", "firmware_space")

    @override
    async def async_added_to_hass(self) -> None:
        """Follow the device and the available firmware."""
        await super().async_added_to_hass()
        self.async_on_remove(self.device.part(FirmwareFiles).add_listener(self.async_write_ha_state))

    async def async_update(self) -> None:
        """Look for firmware when the owner asks for it."""
        await self.device.part(FirmwareFiles).async_refresh()

    @property
    @override
    def installed_version(self) -> str | None:
        return self.device.state.firmware

    @property
    @override
    def latest_version(self) -> str | None:
        """Return the newest suitable version; the device's own if there is none.

        None if no firmware for its board is known: it may not be up to date.
        """
        suitable = (firmware.version for firmware in self._found if _objection(self.device, firmware) is None)
        return next(suitable, self.installed_version if self._found else None)

    @override
    async def async_release_notes(self) -> str:
        """Return notes on the source of updates, and on what they keep."""
        source = (
            "updates_from_list" if self.device.part(FirmwareFiles).has_releases else "updates_from_folder"
        )
        notes = [await async_text(self.hass, source)]
        for part in self.device.parts.values():
            notes += await part.update_notes()
        return "\n\n".join(notes)

    @property
    @override
    def release_url(self) -> str | None:
        """Return the web page of the newest version."""
        latest = self.latest_version
        return next((firmware.page for firmware in self._found if firmware.version == latest), None)

    @override
    def version_is_newer(self, latest_version: str, installed_version: str) -> bool:
        """Compare as the device does."""
        latest, installed = FirmwareVersion.parse(latest_version), FirmwareVersion.parse(installed_version)
        return latest is not None and installed is not None and latest > installed

    @property
    @override
    def in_progress(self) -> bool:
        return self._installation is not None

    @property
    @override
    def update_percentage(self) -> int | None:
        """Percentage of the firmware that the device has downloaded."""
        return self._installation.percentage if self._installation else None

    @override
    async def async_install(self, version: str | None, backup: bool, **kwargs: Any) -> None:
        """Install a version and wait until the device comes back with it. Raises `InputError`."""
        device = self.device
        # Before anything is awaited: a second update is refused, and removing the device ends this one.
        with device.part(DeviceInstallation).installing(FirmwareInstallation(device)) as installation:
            await device.part(FirmwareFiles).async_refresh()
            firmware, image = await self._load(version or self.latest_version)
            installation.check()
            await installation.run(
                firmware.version,
                image.content,
                # Unless forced, the device takes only newer versions.
                force=not self.version_is_newer(firmware.version, device.state.firmware or ""),
            )

    @property
    def _installation(self) -> FirmwareInstallation | None:
        """The running installation of a firmware; wake words have their own select."""
        running = self.device.part(DeviceInstallation).running
        return running if isinstance(running, FirmwareInstallation) else None

    @property
    def _found(self) -> Sequence[Firmware]:
        return self.device.part(FirmwareFiles).find(self.device.state.board or "")

    async def _load(self, version: str | None) -> tuple[Firmware, FirmwareImage]:
        """Return a version for the device, with its image. Raises `InputError`."""
        device = self.device
        firmware = next((each for each in self._found if each.version == version), None)
        if firmware is None:
            raise InputError("update_not_found", version=version or "?", board=device.state.board or "")
        objection = _objection(device, firmware)
        if objection is None:
            try:
                image = await self.device.part(FirmwareFiles).async_load(firmware)
            except FirmwareError as err:
                objection = err
            else:
                objection = _objection(device, firmware.described_by(image))
        if objection is None:
            return firmware, image
        reason = await async_explain(self.hass, objection)
        raise InputError(
            "update_unusable", name=device.name, version=firmware.version, reason=reason
        ) from objection


def _objection(device: Device, firmware: Firmware) -> FirmwareError | None:
    """Return why a firmware does not suit a device, or None."""
    state = device.state
    if state.chip and firmware.chip and state.chip != firmware.chip:
        return FirmwareError("firmware_other_chip", chip=firmware.chip, own=state.chip)
    if state.firmware_space and firmware.size and firmware.size > state.firmware_space:
        needed, space = str(firmware.size), str(state.firmware_space)
        return FirmwareError("firmware_no_space", needed=needed, space=space)
    if state.firmware_version and not state.firmware_version.can_become(firmware.number):
        return FirmwareError("firmware_needs_cable")
    return None


ENTITIES: Final = (DescribedEntities(FirmwareUpdate, [_FIRMWARE]),)
