"""How much of the speech is still understood when the network loses audio."""

from collections import Counter
from collections.abc import AsyncIterable
from functools import partial
from pathlib import Path
from typing import Final

from wyoming.asr import Transcript
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncTcpClient

from custom_components.xiaozhi.protocol.transport.link import LinkKind
from demo.processes import speech_server
from demo.speech_server import HOST
from demo.speech_to_text import SAMPLE_RATE

from .fleet import Fleet, fleet
from .house import House, Site, until
from .report import Finding, Row

__all__ = ["measure", "word_errors"]

_SENTENCES: Final = (
    "turn on the kitchen light",
    "turn the living room light off",
    "set the kitchen light to fifty percent",
    "set the living room light to ten percent",
    "is the kitchen light on",
    "what time is it",
    "turn off the living room light",
    "what day is it",
)
_IMPAIRMENTS: Final[dict[str, dict[str, float]]] = {
    "none": {},
    "5 % lost": {"loss": 5},
    "10 % lost": {"loss": 10},
    "20 % lost": {"loss": 20},
    "40 ms jitter, 5 % out of order": {"jitter": 40, "reorder": 5},
    "5 % lost, 40 ms jitter, 5 % out of order": {"loss": 5, "jitter": 40, "reorder": 5},
}


async def measure(house: House, *, quick: bool) -> Finding:
    """Have PocketSphinx recognise the demo's sentences after UDP with faults."""
    sentences = _SENTENCES[:2] if quick else _SENTENCES
    impairments = {"10 % lost": _IMPAIRMENTS["10 % lost"]} if quick else _IMPAIRMENTS
    rounds = 1 if quick else 6
    log = Path(house.hass.config.path("speech_to_text.log"))
    # In its own process, so that it does not delay the server's packets.
    async with speech_server("Speech recognition", "demo.speech_to_text", log) as (_, port):
        house.speech_to_text.notices_end = False
        house.speech_to_text.recognize = partial(_recognize, port)
        try:
            async with fleet() as devices, house.site(len(sentences), LinkKind.MQTT) as site:
                rows = [
                    await _row(house, site, devices, name, impairment, sentences * rounds)
                    for name, impairment in impairments.items()
                ]
        finally:
            house.speech_to_text.notices_end = True
    return Finding(
        benchmark="loss",
        claim="the demo's sentences after UDP with faults, in percent of what was said",
        rows=rows,
    )


async def _row(
    house: House, site: Site, devices: Fleet, name: str, impairment: dict[str, float], said: tuple[str, ...]
) -> Row:
    group = len(site.devices)
    heard: list[str] = []
    packets: Counter[str] = Counter()
    for first in range(0, len(said), group):
        # A device loses the same packets in each conversation: for others, another seed is needed.
        await devices.boot(house.check_in_url, site.devices, seed=first, **impairment)
        await until(lambda: site.usable)
        accounts = await devices.converse(said[first : first + group])
        heard += [account.heard for account in accounts]
        for device in site.gateway.devices.values():
            packets.update(device.describe()["statistics"]["audio"])
        await devices.power_off()
    words = sum(len(text.split()) for text in said)
    wrong = sum(min(word_errors(text, got), len(text.split())) for text, got in zip(said, heard, strict=True))
    return {
        "faults": name,
        "packets missing %": round(100 * packets["lost"] / (packets["lost"] + packets["received"]), 1),
        "sentences": len(said),
        "understood %": round(100 * sum(map(str.__eq__, said, heard, strict=True)) / len(said), 1),
        "words %": round(100 * (words - wrong) / words, 1),
    }


async def _recognize(port: int, stream: AsyncIterable[bytes]) -> str:
    """Read the whole stream, and have the demo's speech recognition transcribe it."""
    pcm = b"".join([chunk async for chunk in stream])
    async with AsyncTcpClient(HOST, port) as client:
        await client.write_event(AudioStart(rate=SAMPLE_RATE, width=2, channels=1).event())
        await client.write_event(AudioChunk(rate=SAMPLE_RATE, width=2, channels=1, audio=pcm).event())
        await client.write_event(AudioStop().event())
        answer = await client.read_event()
    return "" if answer is None else Transcript.from_event(answer).text


def word_errors(said: str, heard: str) -> int:
    """Return the number of deleted, inserted and substituted words."""
    distances = list(range(len(heard.split()) + 1))
    for row, word in enumerate(said.split(), 1):
        diagonal, distances[0] = distances[0], row
        for column, other in enumerate(heard.split(), 1):
            best = min(distances[column] + 1, distances[column - 1] + 1, diagonal + (word != other))
            diagonal, distances[column] = distances[column], best
    return distances[-1]
