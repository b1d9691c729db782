"""The topics of devices on a broker: whose they are, and of which gateway."""

import pytest

from custom_components.xiaozhi.protocol.transport.owner_broker.broker_topics import (
    UPLINK_OF_ALL,
    Address,
    address_of_topic,
)
from tests.protocol.transport.mqtt.device import MAC

GATEWAY = "00c0ffee"


def test_a_topic_tells_the_device_and_its_gateway() -> None:
    """The client id is in the middle, so that the broker's rules can bind topics to clients."""
    address = Address(MAC, GATEWAY)
    assert address.client_id == "00c0ffee-020000000001"
    assert address.downlink == "xiaozhi/00c0ffee-020000000001/down"
    assert address_of_topic("xiaozhi/00c0ffee-020000000001/up") == address
    assert UPLINK_OF_ALL == "xiaozhi/+/up"


@pytest.mark.parametrize(
    "topic",
    [
        "",
        "00c0ffee-020000000001",
        "020000000001/up",
        "xiaozhi/00c0ffee-020000000001",
        "xiaozhi/020000000001/up",
        "xiaozhi/00c0ffee-020000000001/down",
        "xiaozhi/02000000000/up",
        "xiaozhi/02000000000g/up",
        "xiaozhi/0200000000AB/up",
        "xiaozhi/00c0ffee-020000000001/up/up",
        "xiaozhi/c0ffee-020000000001/up",
        "xiaozhi/00C0FFEE-020000000001/up",
        "xiaozhi/00c0ffee-/up",
        "xiaozhi/-020000000001/up",
        "other/00c0ffee-020000000001/up",
    ],
)
def test_other_topics_are_no_devices(topic: str) -> None:
    assert address_of_topic(topic) is None
