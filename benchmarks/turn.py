"""The delay from the transcript to the answer's first packet, and the integration's part of it."""

from typing import Final, NamedTuple

from custom_components.xiaozhi.protocol.transport.link import LinkKind

from .fleet import Fleet, fleet
from .house import House
from .report import Finding, Row, median, percentile
from .speech import after

__all__ = ["measure"]

_SECONDS_OF_LISTENING: Final = 1.2
# The time a device gets to become ready for an answer; earlier audio would be lost.
_READY_SECONDS: Final = 0.2
_VOICES: Final = {"at once": 0.0, "after 0.5 s": 0.5}


class _Times(NamedTuple):
    """One turn, in monotonic seconds."""

    understood: float
    told_to_speak: float
    voice: float
    heard: float


async def measure(house: House, *, quick: bool) -> Finding:
    """Have a device ask repeatedly, with speech engines that take no time or a known time."""
    links = [LinkKind.MQTT] if quick else list(LinkKind)
    turns = 1 if quick else 20
    house.speech_to_text.recognize = after(_SECONDS_OF_LISTENING, "is the light on")
    rows: list[Row] = []
    try:
        async with fleet() as devices:
            for link in links:
                async with house.site(1, link) as site:
                    await devices.boot(house.check_in_url, site.devices)
                    for voice, house.text_to_speech.delay in _VOICES.items():
                        times = [await _turn(house, devices) for _ in range(turns)]
                        rows.append(_row(link, voice, times))
                    await devices.power_off()
    finally:
        house.text_to_speech.delay = 0
    return Finding(
        benchmark="turn",
        claim="ms from the end of speech recognition (0) until the device is told to speak and until the"
        " answer's first packet is there, for speech synthesis that has its first sound at once or later",
        rows=rows,
    )


async def _turn(house: House, devices: Fleet) -> _Times:
    (account,) = await devices.converse(["is the light on"])
    if account.told_to_speak_at is None or not account.arrivals:
        raise RuntimeError("a turn has failed")
    return _Times(
        house.speech_to_text.understood_at[-1],
        account.told_to_speak_at,
        house.text_to_speech.spoke_at[-1],
        account.arrivals[0],
    )


def _row(link: LinkKind, voice: str, times: list[_Times]) -> Row:
    told = [1000 * (turn.told_to_speak - turn.understood) for turn in times]
    heard = [1000 * (turn.heard - turn.understood) for turn in times]
    # The unavoidable delays: of the device, and of the voice.
    due = [max(turn.told_to_speak + _READY_SECONDS, turn.voice) for turn in times]
    added = [1000 * (turn.heard - ready) for turn, ready in zip(times, due, strict=True)]
    row: Row = {"link": link.value, "voice": voice, "turns": len(times)}
    for name, values in (("told to speak", told), ("first packet", heard), ("added to what must be", added)):
        for suffix, value in (("median", median(values)), ("p95", percentile(values, 95))):
            row[f"{name} {suffix}"] = None if value is None else round(value, 2)
    return row
