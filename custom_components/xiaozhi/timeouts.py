"""How long everything may take, by layer."""

from dataclasses import dataclass, field
from typing import Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.util.hass_dict import HassKey

from .const import DOMAIN
from .device.timeouts import SessionTimeouts, StoreTimeouts
from .firmware.timeouts import FirmwareTimeouts
from .media.timeouts import MediaTimeouts
from .pictures.timeouts import PictureTimeouts
from .protocol.timeouts import (
    AccessPointTimeouts,
    BrokerTimeouts,
    ConversationTimeouts,
    McpTimeouts,
    MqttTimeouts,
    WebSocketTimeouts,
)
from .voice.timeouts import VoiceTimeouts
from .voice.unasked.timeouts import TimerTimeouts, UnaskedTimeouts


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTimeouts:
    """How long a device that calls our web server may take, in seconds."""

    body: float = 10
    """To send a check-in. The device itself waits 30 s for an answer."""
    hang_up: float = 0.5
    """To close the connection. The HTTP client of firmware 2.1.0 to 2.4.x uses a freed object when the server
    closes before the device does (component ml307, src/esp/esp_tcp.cc). Devices close it well within this
    time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """The time-outs and pauses of every layer. The gateway hands each layer its own."""

    access_point: AccessPointTimeouts = field(default_factory=AccessPointTimeouts)
    broker: BrokerTimeouts = field(default_factory=BrokerTimeouts)
    calls: CallTimeouts = field(default_factory=CallTimeouts)
    conversation: ConversationTimeouts = field(default_factory=ConversationTimeouts)
    firmware: FirmwareTimeouts = field(default_factory=FirmwareTimeouts)
    mcp: McpTimeouts = field(default_factory=McpTimeouts)
    media: MediaTimeouts = field(default_factory=MediaTimeouts)
    mqtt: MqttTimeouts = field(default_factory=MqttTimeouts)
    pictures: PictureTimeouts = field(default_factory=PictureTimeouts)
    session: SessionTimeouts = field(default_factory=SessionTimeouts)
    store: StoreTimeouts = field(default_factory=StoreTimeouts)
    timers: TimerTimeouts = field(default_factory=TimerTimeouts)
    unasked: UnaskedTimeouts = field(default_factory=UnaskedTimeouts)
    voice: VoiceTimeouts = field(default_factory=VoiceTimeouts)
    websocket: WebSocketTimeouts = field(default_factory=WebSocketTimeouts)


_USUAL: Final = Timeouts()
TIMEOUTS: Final[HassKey[Timeouts]] = HassKey(f"{DOMAIN}_timeouts")
"""Time-outs other than the usual ones, for tests. They are to be set before the gateway starts."""


@callback
def timeouts_of(hass: HomeAssistant) -> Timeouts:
    """Return the time-outs for this Home Assistant. Views and forms need them without a gateway, too."""
    return hass.data.get(TIMEOUTS, _USUAL)
