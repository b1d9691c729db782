"""The delay from the user's last word to the answer's first packet, and the integration's part of it.

In ms from that word until the end of speech is found and until the first packet is there, for a voice that
begins at once or later; added is what is more than detector, engines and the device's proof that it speaks.
Through another loudspeaker, the first sound that a media player has fetched counts in place of a packet.
"""

from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import Any, Final, NamedTuple, override

import aiohttp
from homeassistant.components import media_player
from homeassistant.components.assist_pipeline.vad import VadSensitivity
from homeassistant.components.media_player import MediaPlayerEntityFeature, MediaPlayerState

from custom_components.xiaozhi.const import OTA_PATH
from custom_components.xiaozhi.guests.loudspeaker.loudspeaker_settings import CONF_LOUDSPEAKER
from custom_components.xiaozhi.protocol.transport.link import LinkKind

from .devices import DeviceGroup
from .fleet import Fleet, linked
from .house import House, Site
from .report import Row, spread
from .speech import after

_TURNS: Final = 10
# A device sends 60 ms at a time. Words end anywhere in these.
_PACKET_SECONDS: Final = 0.06


@dataclass(frozen=True, slots=True, kw_only=True)
class _Engines:
    """What the engines of a turn take, in seconds."""

    voice: str
    setting: VadSensitivity = VadSensitivity.DEFAULT
    thinks: float = 0.0
    speaks_after: float = 0.0
    other_loudspeaker: bool = False


_ENGINES: Final = (
    _Engines(voice="at once"),
    _Engines(voice="after 0.5 s", speaks_after=0.5),
    _Engines(voice="at once", setting=VadSensitivity.AGGRESSIVE),
    _Engines(voice="of a language model after 0.8 s", thinks=0.8),
    _Engines(voice="at once, another loudspeaker", other_loudspeaker=True),
)


class _Times(NamedTuple):
    """One turn, in ms after the user's last word."""

    end_found: float
    first_packet: float
    added: float


class _Player(media_player.MediaPlayerEntity):
    """A media player that fetches what it is to play."""

    _attr_name = "Benchmark player"
    _attr_unique_id = "benchmark_player"
    _attr_state = MediaPlayerState.IDLE
    _attr_supported_features = MediaPlayerEntityFeature.MEDIA_ANNOUNCE | MediaPlayerEntityFeature.PLAY_MEDIA

    def __init__(self) -> None:
        self.began_at: list[float] = []
        """Monotonic times, in seconds, at which it had the first sound."""

    @override
    async def async_play_media(self, media_type: str, media_id: str, **kwargs: Any) -> None:
        self.hass.async_create_background_task(self._fetch(media_id), "benchmark player")

    async def _fetch(self, address: str) -> None:
        async with aiohttp.ClientSession() as session, session.get(address) as response:
            await response.content.readany()
            self.began_at.append(monotonic())
            await response.read()


async def measure(house: House, *, quick: bool) -> list[Row]:
    """Have a device ask repeatedly, with engines that take no time or a known time."""
    house.engines.recognize = after(inf, "is the light on")
    house.engines.notices_end = False
    rows: list[Row] = []
    house.hass.config.internal_url = house.check_in_url.removesuffix(OTA_PATH)
    player = _Player()
    await house.hass.data[media_player.DATA_COMPONENT].async_add_entities([player])
    for link in [LinkKind.MQTT] if quick else LinkKind:
        rows += await _rows(house, link, player, turns=1 if quick else _TURNS)
    return rows


async def _rows(house: House, link: LinkKind, player: _Player, *, turns: int) -> list[Row]:
    rows: list[Row] = []
    async with linked(house, 1, link) as (site, devices):
        for engines in _ENGINES:
            await choose_end(site, engines.setting.value)
            house.engines.thinks = engines.thinks
            house.engines.streams = bool(engines.thinks)
            house.engines.delay = engines.speaks_after
            (device,) = site.gateway.devices.values()
            device.set_option(CONF_LOUDSPEAKER, player.entity_id if engines.other_loudspeaker else None)
            heard_by = player if engines.other_loudspeaker else None
            times = [
                await _turn(house, devices, _PACKET_SECONDS * number / turns, heard_by)
                for number in range(turns)
            ]
            row: Row = {"link": link.value, "setting": engines.setting.value, "voice": engines.voice}
            rows.append(row | {"turns": turns} | spread(_Times._fields, times, 95))
    return rows


async def _turn(house: House, devices: Fleet[DeviceGroup], later: float, player: _Player | None) -> _Times:
    (account,) = await devices.do(DeviceGroup.converse, ["is the light on"], later)
    if account.stopped_at is None or account.ready_at is None or not account.arrivals:
        raise RuntimeError("a turn has failed")
    heard = account.arrivals[0] if player is None else player.began_at[-1]
    # The unavoidable delays: of the device, and of the voice.
    possible = max(account.ready_at, house.engines.spoke_at[-1])
    found = house.engines.understood_at[-1] - account.stopped_at
    return _Times(1000 * found, 1000 * (heard - account.stopped_at), 1000 * (heard - possible))


async def choose_end(site: Site, option: str) -> None:
    """Select how soon the speech of all devices has ended."""
    for device in site.devices:
        data = {"entity_id": site.entity_id("select", "-vad_sensitivity", device), "option": option}
        await site.hass.services.async_call("select", "select_option", data, blocking=True)
