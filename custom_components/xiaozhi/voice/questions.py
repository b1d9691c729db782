"""A question that an automation asks on a device, from asking to the answer. One at a time.

It is asked by our action *Ask* or by Home Assistant's *Ask question*. The next words answer it: in the
conversation in which it was asked or, if the device was idle, in the next one.
"""

import asyncio
from collections.abc import AsyncIterable, Generator
from contextlib import contextmanager
from itertools import chain
from typing import Any, Final, override

from hassil import Group, Intents, WildcardSlotList, recognize
from homeassistant.components.assist_satellite import AssistSatelliteAnswer
from homeassistant.core import HomeAssistant, callback

from ..device.device import Device
from ..errors import UserError
from ..protocol.audio.uplink_timeline import UPLINK_SAMPLE_RATE
from ..protocol.conversation.turn_audio import TurnAudio
from ..texts.translated import async_text

_LONGEST_MESSAGE: Final = 60
# Part of the pause at the end of a message that is kept.
_PAUSE_KEPT: Final = 0.3


class Question:
    """A question that is being asked, or whose answer is awaited."""

    def __init__(self) -> None:
        self.transcript: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        """The transcript of the answer; None if there will be none."""
        self.pending = False
        """Whether the next words answer it."""
        self.answered = False
        self.turn: asyncio.Task[Any] | None = None
        """The turn that may answer it, while it runs."""
        self.conversation: object = None
        """The only conversation in which it can be answered; None if any can."""

    @callback
    def was_asked(self, conversation: object) -> None:
        """Note that words from now on answer it, in a `conversation` if one goes on."""
        if not self.transcript.done():
            self.pending, self.conversation = True, conversation

    @callback
    def end(self, text: str | None = None) -> None:
        """Take the answer, or None if there will be none."""
        if not self.transcript.done():
            self.pending, self.answered = False, text is not None
            self.transcript.set_result(text)

    @callback
    def leave(self) -> None:
        """Note that the turn is over; without an answer, the next one may answer it."""
        self.turn = None

    async def thanks(self, hass: HomeAssistant, language: str) -> str:
        """Return what is said to the answer."""
        return await async_text(hass, "question_answered", language)


class Recording(Question):
    """A voice message that is awaited: the next turn is recorded instead of being understood."""

    def __init__(self) -> None:
        super().__init__()
        self.sound = bytearray()
        """16 kHz mono 16-bit PCM; empty as long as nobody has spoken."""
        self._turn: TurnAudio | None = None
        self.thanked: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """The sentence that says whether it was sent."""

    @property
    def cut_off(self) -> bool:
        """Whether the end is missing."""
        return self._turn is not None and self._turn.cut_off

    async def record(self, turn: TurnAudio, audio: AsyncIterable[bytes]) -> None:
        """Take the words, up to their end."""
        self._turn = turn
        self.sound.clear()
        async for pcm in audio:
            self.sound += pcm
            if len(self.sound) >= 2 * UPLINK_SAMPLE_RATE * _LONGEST_MESSAGE:
                break

    @callback
    def cut_pause(self, seconds: float) -> None:
        """Cut the pause that has ended the message, of so many seconds."""
        if (samples := round(UPLINK_SAMPLE_RATE * (seconds - _PAUSE_KEPT))) > 0:
            del self.sound[-2 * samples :]

    @callback
    @override
    def leave(self) -> None:
        """End the message with the turn: by its button, the device closes the channel."""
        super().leave()
        if self.sound:
            self.end("")

    @override
    async def thanks(self, hass: HomeAssistant, language: str) -> str:
        return await asyncio.shield(self.thanked)


class Questions:
    """The questions of automations to one device."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._question: Question | None = None
        self._stopped = asyncio.Event()

    @property
    def pending(self) -> Question | None:
        """The question that the next words answer."""
        question = self._question
        return question if question is not None and question.pending else None

    @callback
    def check_free(self) -> None:
        """Check that there is no question. Raises `UserError`."""
        if self._question is not None:
            raise UserError("question_pending", name=self._device.name)

    @contextmanager
    def asking(self, question: Question) -> Generator[None]:
        """Ask a question. Raises `UserError` if there is one already."""
        self.check_free()
        self._question = question
        try:
            yield
        finally:
            self._question = None

    async def answer(self, question: Question, seconds: float) -> str | None:
        """Return the next words, also of another conversation; None if there are none in so many seconds.

        Raises `UserError` if the satellite goes.
        """
        answer = question.transcript
        await asyncio.wait((answer,), timeout=seconds)
        if question.turn is not None:
            # Somebody has begun in time.
            await asyncio.wait((answer, question.turn), return_when=asyncio.FIRST_COMPLETED)
        if self._stopped.is_set():
            raise UserError("announcement_stopped", name=self._device.name)
        return answer.result() if answer.done() else None

    @callback
    def conversation_ended(self, conversation: object) -> None:
        """End a question that can be answered only in this conversation."""
        if self._question is not None and self._question.conversation is conversation:
            self._question.end()

    @callback
    def stop(self) -> None:
        """End the question: the satellite goes."""
        self._stopped.set()
        if self._question is not None:
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
