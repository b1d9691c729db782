"""Another loudspeaker: a media player that says what a device would say."""

from typing import Final

from ...device.guest import Guest
from .available_players import AvailablePlayers
from .player_silence import TO_SILENCE, PlayerSilence
from .room_player import RoomLoudspeaker
from .room_sound import SoundView

LOUDSPEAKER: Final = Guest(
    package=__name__,
    parts=[PlayerSilence, RoomLoudspeaker],
    gateway_parts=[AvailablePlayers],
    owned=[TO_SILENCE],
    views={SoundView: "transfers"},
)
