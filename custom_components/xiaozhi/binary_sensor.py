"""Binary sensors of a device: connected and charging."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, override

from homeassistant.components.binary_sensor import (
    BinarySensorDeviceClass,
    BinarySensorEntity,
    BinarySensorEntityDescription,
)
from homeassistant.const import EntityCategory

from .device.device import Device
from .device.state import AVAILABLE, PRESENT, part_key
from .entity import DescribedEntities, ToolEntities, XiaozhiEntity, XiaozhiToolEntity, entities_from
from .gateway import Gateway
from .protocol.transport.link import LinkKind
from .tools.tool_entities import BinarySensorTool

PARALLEL_UPDATES = 0


@dataclass(frozen=True, kw_only=True)
class XiaozhiBinarySensorDescription(BinarySensorEntityDescription):
    """Describes a binary sensor."""

    value: Callable[[Device], bool | None]
    follows: tuple[str, ...]
    """Keys that it follows, as for `DeviceRecord.listen`."""
    of_link: bool = False
    """Whether it follows the link, which on WebSocket exists only during a conversation."""


BINARY_SENSORS: Final = (
    XiaozhiBinarySensorDescription(
        key="connected",
        device_class=BinarySensorDeviceClass.CONNECTIVITY,
        entity_category=EntityCategory.DIAGNOSTIC,
        value=lambda device: device.state.present if device.state.link else None,
        follows=(PRESENT, "link"),
        of_link=True,
    ),
    XiaozhiBinarySensorDescription(
        key="charging",
        device_class=BinarySensorDeviceClass.BATTERY_CHARGING,
        entity_category=EntityCategory.DIAGNOSTIC,
        value=lambda device: device.state.status.charging,
        follows=(AVAILABLE, part_key("status", "charging")),
    ),
)


class XiaozhiBinarySensor(XiaozhiEntity, BinarySensorEntity):
    """A binary sensor of a device."""

    entity_description: XiaozhiBinarySensorDescription

    def __init__(self, gateway: Gateway, device: Device, description: XiaozhiBinarySensorDescription) -> None:
        super().__init__(gateway, device, description)
        self.follows = description.follows
        if description.of_link and device.state.link is LinkKind.WEBSOCKET:
            # It comes and goes with each conversation: two more lines in the logbook.
            self._attr_entity_registry_enabled_default = False

    @override
    @classmethod
    def exists(cls, device: Device, description: XiaozhiBinarySensorDescription) -> bool:
        return description.value(device) is not None

    @property
    @override
    def is_on(self) -> bool | None:
        return self.entity_description.value(self.device)


class XiaozhiToolBinarySensor(XiaozhiToolEntity[BinarySensorTool], BinarySensorEntity):
    """A binary sensor for the answer of a tool."""

    @property
    @override
    def is_on(self) -> bool | None:
        return self._flag(self.tool.state)


async_setup_entry = entities_from(
    # Connectivity waits for the first check-in: only then is the kind of link known.
    DescribedEntities(XiaozhiBinarySensor, BINARY_SENSORS),
    ToolEntities(XiaozhiToolBinarySensor, BinarySensorTool),
)
