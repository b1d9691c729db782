"""How steadily answers arrive that many devices play at the same time."""

from typing import Final

from custom_components.xiaozhi.protocol.transport.link import LinkKind

from .devices import Account, DeviceGroup
from .fleet import linked
from .house import House
from .report import Row
from .speech import after, spoken

_SECONDS_OF_LISTENING: Final = 1.2
_ANSWER: Final = (
    "Here is the news of the house. The kitchen light is on, the windows on the upper floor are open, the"
    " washing machine will be done in twenty minutes, and somebody has left a parcel at the front door. It is"
    " going to rain in the afternoon, so that you may want to close the windows before you leave."
)


async def measure(house: House, *, quick: bool) -> list[Row]:
    """Have devices ask for a long answer, all at once, and measure when its packets arrive."""
    links = [LinkKind.MQTT] if quick else list(LinkKind)
    sizes = (2,) if quick else (1, 20)
    house.engines.recognize = after(_SECONDS_OF_LISTENING, "what is new")
    house.engines.wav = spoken("Nothing is new." if quick else _ANSWER)
    rows: list[Row] = []
    for link in links:
        async with linked(house, sizes[-1], link) as (_, devices):
            for size in sizes:
                accounts = await devices.do(DeviceGroup.converse, ["what is new"] * size)
                rows.append(_row(link, size, accounts))
    return rows


def _row(link: LinkKind, size: int, accounts: list[Account]) -> Row:
    intervals = [interval for account in accounts for interval in account.intervals]
    late = sum(len(account.late) for account in accounts)
    return {
        "link": link.value,
        "devices": size,
        "packets": sum(len(account.arrivals) for account in accounts),
        "late %": round(100 * late / len(intervals), 2) if intervals else None,
        "longest interval ms": round(1000 * max(intervals), 1) if intervals else None,
        "pauses heard": sum(account.pauses for account in accounts),
        "packets lost": sum(account.lost for account in accounts),
    }
