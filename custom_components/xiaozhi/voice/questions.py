"""Questions that are asked on a device: each owns the turn in which somebody answers. One thing at a time.

The next words answer it: in the conversation in which it was asked or, if the device was idle, in the next
one. Other announcements wait until who has asked has left the turn.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from hassil import Group, Intents, WildcardSlotList, recognize
from homeassistant.components.assist_satellite import AssistSatelliteAnswer
from homeassistant.core import callback

from ..announcements.announcement_speech import text_utterance, voice_language
from ..announcements.utterance import Utterance
from ..device.device import Device
from ..errors import UserError
from ..texts.translated import async_text
from ..util.event_loop import first_of
from .pipelines import chosen_pipeline


@dataclass(eq=False, slots=True, kw_only=True)
class AskedTurn:
    """The turn in which somebody has answered."""

    transcript: str = ""
    sound: bytes = b""
    """16 kHz mono 16-bit PCM, if it was recorded."""
    cut_off: bool = False
    """Whether the end of the sound may be missing."""
    reply: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """Keys of the sentences that are said to it, with placeholders."""
    asks_back: bool = False
    """Whether that is another question."""

    async def reply_by(self, device: Device, wake_word: str | None = None) -> Utterance:
        """Return what a device says to it."""
        hass, pipeline = device.hass, chosen_pipeline(device.hass, device, wake_word)
        language = voice_language(pipeline)
        texts = [await async_text(hass, key, language, **given) for key, given in self.reply]
        return text_utterance(hass, " ".join(texts), pipeline)


class Question:
    """Something that is asked, until the answer."""

    def __init__(self, *, is_recorded: bool) -> None:
        self.is_recorded = is_recorded
        """True if the answer is recorded instead of being understood."""
        self.turn: asyncio.Future[AskedTurn | None] = asyncio.get_running_loop().create_future()
        """The turn that has answered it; None if there will be none."""
        self.left = asyncio.Event()
        """Set when who has asked has left that turn."""
        self.is_open = False
        """Whether the next words answer it."""
        self.error: UserError | None = None
        """The reason why nobody can answer."""
        self._conversation: object = None
        """The only conversation in which it can be answered; None if any can."""
        self._unheard = asyncio.Event()
        self._unheard.set()

    @callback
    def open(self, conversation: object) -> None:
        """Let words from now on answer it, in a `conversation` if one goes on."""
        if not self.turn.done():
            self.is_open, self._conversation = True, conversation

    @contextmanager
    def heard(self) -> Generator[None]:
        """Let who has asked wait for the end of a turn that may answer it."""
        self._unheard.clear()
        try:
            yield
        finally:
            self._unheard.set()

    @callback
    def end(self, turn: AskedTurn | None = None) -> None:
        """End it with the turn that has answered it, or with None if there will be none."""
        if not self.turn.done():
            self.is_open = False
            self.turn.set_result(turn)

    @callback
    def conversation_ended(self, conversation: object) -> None:
        """End it if it can be answered only in this conversation."""
        if self._conversation is conversation:
            self.end()

    async def answer(self, seconds: float | None) -> AskedTurn | None:
        """Return the turn that answers it, also of another conversation; None if none begins in time.

        Raises `error`.
        """
        await asyncio.wait((self.turn,), timeout=seconds)
        async with first_of(self.turn, self._unheard.wait()):
            if self.error is not None:
                raise self.error
        return self.turn.result() if self.turn.done() else None


class Questions:
    """The questions that are asked on one device."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._question: Question | None = None

    @property
    def open(self) -> Question | None:
        """The question that the next words answer."""
        question = self._question
        return question if question is not None and question.is_open else None

    @callback
    def check_free(self) -> None:
        """Check that there is no question. Raises `UserError`."""
        if self._question is not None:
            raise UserError("question_pending", name=self._device.name)

    @contextmanager
    def asking(self, *, is_recorded: bool = False) -> Generator[Question]:
        """Ask something. Raises `UserError` if there is a question already."""
        self.check_free()
        question = self._question = Question(is_recorded=is_recorded)
        try:
            yield question
        finally:
            self._question = None
            question.left.set()

    @callback
    def stop(self) -> None:
        """End the question: the satellite goes."""
        if self._question is not None:
            self._question.error = UserError("announcement_stopped", name=self._device.name)
            self._question.end()


def matching_answer(text: str, answers: list[dict[str, Any]], language: str) -> AssistSatelliteAnswer:
    """Return the answer of an action that matches a transcript, if any, with its slots."""
    sentences = [{"sentences": answer["sentences"], "metadata": {"id": answer["id"]}} for answer in answers]
    intents = Intents.from_dict({"language": language, "intents": {"Answer": {"data": sentences}}})
    templates = chain.from_iterable(data.sentences for data in intents.intents["Answer"].data)
    groups = (template.expression for template in templates if isinstance(template.expression, Group))
    names = chain.from_iterable(group.list_names() for group in groups)
    found = recognize(text, intents, slot_lists={name: WildcardSlotList(name) for name in names})
    if found is None:
        return AssistSatelliteAnswer(id=None, sentence=text)
    return AssistSatelliteAnswer(
        id=(found.intent_metadata or {})["id"],
        sentence=text,
        slots={name: entity.value for name, entity in found.entities.items()},
    )
