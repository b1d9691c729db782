"""Address and account of the owner's broker, its problems, and its topics by device and gateway."""

from dataclasses import dataclass, field
from enum import StrEnum
import re
import ssl
from typing import Final, NamedTuple

from ....util.text import one_line
from ..mqtt.mqtt_link import downlink_topic, uplink_topic

UPLINK_OF_ALL: Final = uplink_topic("+")
"""The filter for the messages of all devices."""
_TOPIC: Final = re.compile(uplink_topic("([0-9a-f]{8})-([0-9a-f]{12})"))


class Address(NamedTuple):
    """The topics of a device: one that it publishes to, one for messages to it.

    Gateways may share a broker, and a device may be paired with more than one of them. So its client id, the
    middle part of both topics, begins with the name of a gateway: only the one that answered its last
    check-in listens to it. The owner's rules, such as `xiaozhi/${clientid}/down`, hold for all of them.
    """

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


BROKER_MODULE: Final = f"{__package__}.broker_connection"
"""To be imported in an executor where a broker is used, and only there: its library takes 90 ms."""


class BrokerProblem(StrEnum):
    """Reasons why a broker cannot be used."""

    UNREACHABLE = "unreachable"
    """Host and port do not answer, or not as a broker does."""
    UNKNOWN_HOST = "unknown_host"
    TLS = "tls"
    """The encrypted connection fails, as it does on a port without encryption."""
    CERTIFICATE = "certificate"
    """The broker's certificate is not trusted, or is made for another name."""
    REFUSED = "refused"
    """User or password are wrong, or the user may not connect."""
    FORBIDDEN = "forbidden"
    """The user may not subscribe to the topics of the devices."""


class BrokerError(Exception):
    """The broker cannot be used; the text holds the words of the network or the broker."""

    def __init__(self, problem: BrokerProblem, text: str) -> None:
        super().__init__(one_line(text))
        self.problem = problem


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """Address and account of the owner's broker, and how it is used."""

    host: str
    port: int = 1883
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: ssl.SSLContext | None = None
