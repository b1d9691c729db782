"""Captions on the screen while the device speaks, in step with the voice, and subtitles, sent in advance."""

from collections.abc import Sequence
from itertools import islice, takewhile
import json
from typing import Final

from ..messages import JsonObject
from .alignment import Alignment
from .caption_text import MAX_TEXT, Clause, captions, clauses, sentence_ends

# Seconds for which the pause before a sentence is waited for.
_PATIENCE: Final = 0.3
# Further sentences are split before later packets: this one must not be late.
_SENTENCES_AT_ONCE: Final = 50
# Of subtitles: the device keeps them in memory, and takes messages of up to 10 KB.
_MAX_BYTES: Final = 8 * 1024


class Captions:
    """The sentences of an answer, each due when the voice is about to say it.

    The position of the voice follows from its pauses, and between them from its pace. After a quarter of an
    hour there are no captions.
    """

    def __init__(self) -> None:
        self._text = ""
        self._split = 0
        # Text and completeness without a further sentence: packets come more often than text.
        self._searched: tuple[str, bool] | None = None
        self._clauses: list[Clause] = []
        self._next = 0
        self._alignment = Alignment(self._clauses)
        self._pauses = 0

    def add(self, text: str) -> None:
        """Append text of the assistant."""
        self._text += text[: MAX_TEXT - len(self._text)]

    def replace(self, text: str) -> None:
        """Replace the added text by the whole answer, unless a part of it was shown already."""
        text = text[:MAX_TEXT]
        if not self._next:
            self._split = 0
            self._text = text
        elif text.startswith(self._text[: self._split]):
            self._text = text

    def due(self, seconds: float, *, complete: bool, resumed: Sequence[float] = ()) -> str | None:
        """Return the next sentence if the voice, at `seconds`, has come to it.

        Unless the text is `complete`, a sentence that may still grow is kept back. `resumed` are the seconds,
        some of them perhaps still to come, at which the voice goes on after a pause.
        """
        self._split_text(_SENTENCES_AT_ONCE, complete=complete)
        for time in takewhile(lambda time: time <= seconds, resumed[self._pauses :]):
            self._alignment.resumed(time)
            self._pauses += 1
        if (index := self._next_caption()) is None:
            return None
        if self._next and seconds < self._alignment.start_of(index, _PATIENCE):
            return None
        self._next = index + 1
        return self._clauses[index].caption

    def rest(self) -> list[str]:
        """Return the text after the end of the voice, in as few captions as possible."""
        self._split_text(None, complete=True)
        waiting = (clause.caption for clause in self._clauses[self._next :])
        rest = captions(" ".join(caption for caption in waiting if caption))
        self._next = len(self._clauses)
        return rest

    def unfinished(self) -> list[str]:
        """Return the unfinished end of the text, if the voice has come to all before it."""
        return self.rest() if self._next_caption() is None else []

    def _split_text(self, most: int | None, *, complete: bool) -> None:
        if self._searched == (self._text, complete):
            return
        rest = self._text[self._split :]
        start = found = 0
        for end in islice(sentence_ends(rest, complete=complete), most):
            self._clauses += clauses(rest[start:end])
            start = end
            found += 1
        self._split += start
        if found != most:
            self._searched = (self._text, complete)

    def _next_caption(self) -> int | None:
        waiting = range(self._next, len(self._clauses))
        return next((index for index in waiting if self._clauses[index].caption), None)


def subtitles(text: str, *, start: float = 0.0) -> list[JsonObject]:
    """Return the sentences of a text with their times: a voice of a usual pace begins at `start` seconds.

    They end where further ones would not fit into the message (firmware: `main/notify/notify_player.cc`).
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
