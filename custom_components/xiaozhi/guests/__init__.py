"""Features beside the core, a folder each. This list is the only place of the core that names them."""

from typing import Final

from ..device.guest import Guest
from .alarms import ALARM_CLOCK
from .cloud import CLOUD
from .firmware import FIRMWARE
from .loudspeaker import LOUDSPEAKER
from .mcp_extras import MCP_EXTRAS
from .media import MEDIA
from .messages import VOICE_MESSAGES
from .pictures import PICTURES
from .quiet import QUIET
from .recordings import RECORDINGS
from .requests import REQUESTS
from .spoken import SENTENCES
from .wake_words import WAKE_WORDS

GUESTS: Final[tuple[Guest, ...]] = (
    *(LOUDSPEAKER, QUIET, ALARM_CLOCK, VOICE_MESSAGES, SENTENCES),
    *(FIRMWARE, WAKE_WORDS, MEDIA, MCP_EXTRAS, PICTURES, CLOUD, RECORDINGS),
    REQUESTS,
)
