"""Which device a topic of a broker belongs to, and of which gateway.

Gateways may share a broker, and a device may be paired with more than one of them. So its client id, which is
the middle part of both topics, begins with the name of a gateway: only the one that answered its last
check-in listens to it. The owner's rules, such as `xiaozhi/${clientid}/down`, hold for all of them.
"""

import re
from typing import Final, NamedTuple

from ..mqtt.mqtt_link import downlink_topic, uplink_topic

_TOPIC: Final = re.compile(r"(?:([0-9a-f]{8})-)?([0-9a-f]{12})")


class Address(NamedTuple):
    """The topics of a device: one that it publishes to, one for messages to it."""

    mac: str
    """Lower case with colons."""
    gateway: str
    """Eight hexadecimal digits, or empty for a device that got its topics before gateways had names."""

    @property
    def client_id(self) -> str:
        """Client id that the device is given."""
        compact = self.mac.replace(":", "")
        return f"{self.gateway}-{compact}" if self.gateway else compact

    def uplink(self, prefix: str) -> str:
        """Return the topic that the device publishes to."""
        return uplink_topic(self.client_id, prefix)

    def downlink(self, prefix: str) -> str:
        """Return the topic that the broker subscribes the device to."""
        return downlink_topic(self.client_id, prefix)


def uplink_of_all(prefix: str) -> str:
    """Return the filter for the messages of all devices."""
    return uplink_topic("+", prefix)


def address_of_topic(topic: str, prefix: str) -> Address | None:
    """Return whose device publishes to `topic`; None when it is no device's topic."""
    match = _TOPIC.fullmatch(topic.removeprefix(f"{prefix}/").removesuffix("/up"))
    if match is None:
        return None
    mac = ":".join(match[2][index : index + 2] for index in range(0, 12, 2))
    address = Address(mac, match[1] or "")
    return address if topic == address.uplink(prefix) else None
