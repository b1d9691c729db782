"""How steadily answers arrive that many devices play at the same time."""

from itertools import pairwise
from typing import Final

from custom_components.xiaozhi.protocol.transport.link import LinkKind

from .devices import Account
from .fleet import fleet
from .house import House
from .report import Row
from .speech import after, spoken

_SECONDS_OF_LISTENING: Final = 1.2
# Packets last 60 ms.
_LATE: Final = 0.065
_ANSWER: Final = (
    "Here is the news of the house. The kitchen light is on, the windows on the upper floor are open, the"
    " washing machine will be done in twenty minutes, and somebody has left a parcel at the front door. It is"
    " going to rain in the afternoon, so that you may want to close the windows before you leave."
)


async def measure(house: House, *, quick: bool) -> list[Row]:
    """Have devices ask for a long answer, all at once, and measure when its packets arrive."""
    links = [LinkKind.MQTT] if quick else list(LinkKind)
    sizes = (2,) if quick else (1, 20)
    house.speech_to_text.recognize = after(_SECONDS_OF_LISTENING, "what is new")
    usual, house.text_to_speech.wav = (
        house.text_to_speech.wav,
        spoken("Nothing is new." if quick else _ANSWER),
    )
    rows: list[Row] = []
    try:
        async with fleet() as devices:
            for link in links:
                async with house.site(sizes[-1], link) as site:
                    await devices.boot(house.check_in_url, site.devices)
                    for size in sizes:
                        accounts = await devices.converse(["what is new"] * size)
                        rows.append(_row(link, size, accounts))
                    await devices.power_off()
    finally:
        house.text_to_speech.wav = usual
    return rows


def _row(link: LinkKind, size: int, accounts: list[Account]) -> Row:
    intervals = [later - earlier for account in accounts for earlier, later in pairwise(account.arrivals)]
    late = sum(interval > _LATE for interval in intervals)
    return {
        "link": link.value,
        "devices": size,
        "packets": sum(len(account.arrivals) for account in accounts),
        "late %": round(100 * late / len(intervals), 2) if intervals else None,
        "longest interval ms": round(1000 * max(intervals), 1) if intervals else None,
        "pauses heard": sum(account.pauses for account in accounts),
        "packets lost": sum(account.lost for account in accounts),
    }
