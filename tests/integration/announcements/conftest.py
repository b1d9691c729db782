"""A device on MQTT, which can be reached while it is idle, and what speaks to it."""

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.announcements.announcer import Announcer
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from tests.integration.names import MAC


@pytest.fixture
def link() -> LinkKind:
    return LinkKind.MQTT


@pytest.fixture
def announcer(linked_entry: MockConfigEntry) -> Announcer:
    gateway = linked_entry.runtime_data
    found: Announcer = gateway.announcer(gateway.devices[MAC])
    return found
