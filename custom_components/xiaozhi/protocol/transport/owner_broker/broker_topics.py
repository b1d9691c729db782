"""Topics of a broker, by device and gateway.

Gateways may share a broker, and a device may be paired with more than one of them. So its client id, which is
the middle part of both topics, begins with the name of a gateway: only the one that answered its last
check-in listens to it. The owner's rules, such as `xiaozhi/${clientid}/down`, hold for all of them.
"""

import re
from typing import Final, NamedTuple

from ..mqtt.mqtt_link import downlink_topic, uplink_topic

UPLINK_OF_ALL: Final = uplink_topic("+")
"""The filter for the messages of all devices."""
_TOPIC: Final = re.compile(uplink_topic("([0-9a-f]{8})-([0-9a-f]{12})"))


class Address(NamedTuple):
    """The topics of a device: one that it publishes to, one for messages to it."""

    mac: str
    """Lower case with colons."""
    gateway: str
    """Eight hexadecimal digits."""

    @property
    def client_id(self) -> str:
        """Client id that the device is given."""
        return f"{self.gateway}-{self.mac.replace(':', '')}"

    @property
    def uplink(self) -> str:
        """The topic that the device publishes to."""
        return uplink_topic(self.client_id)

    @property
    def downlink(self) -> str:
        """The topic that the broker subscribes the device to."""
        return downlink_topic(self.client_id)


def address_of_topic(topic: str) -> Address | None:
    """Return the address of the device that publishes to `topic`; None for other topics."""
    if (match := _TOPIC.fullmatch(topic)) is None:
        return None
    mac = ":".join(match[2][index : index + 2] for index in range(0, 12, 2))
    return Address(mac, match[1])
