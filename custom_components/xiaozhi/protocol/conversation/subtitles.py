"""Subtitles of an announcement: its sentences with their times, sent in advance.

Source: `main/notify/notify_player.cc` of the firmware.
"""

import json
from typing import Final

from ..messages import JsonObject
from .caption_text import MAX_TEXT, clauses, sentence_ends

# The device keeps them in memory, and takes messages of up to 10 KB.
_MAX_BYTES: Final = 8 * 1024


def subtitles(text: str, *, start: float = 0.0) -> list[JsonObject]:
    """Return the subtitles of a text that a voice of a usual pace begins to say at `start` seconds.

    They end where further ones would not fit into the message.
    """
    text = text[:MAX_TEXT]
    entries: list[JsonObject] = []
    seconds, begin, room = start, 0, _MAX_BYTES
    for end in sentence_ends(text, complete=True):
        for clause in clauses(text[begin:end]):
            if clause.caption is not None:
                entry: JsonObject = {"start_ms": round(1000 * seconds), "text": clause.caption}
                room -= len(json.dumps(entry, ensure_ascii=False).encode()) + 1
                if room < 0:
                    return entries
                entries.append(entry)
            seconds += clause.seconds
        begin = end
    return entries
