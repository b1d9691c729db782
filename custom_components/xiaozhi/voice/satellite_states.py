"""The states of the satellite, around pipeline runs of our own: a run shows its stages, and its end is idle.

Home Assistant's `async_accept_pipeline_from_satellite` takes only audio, and always has the pipeline's own
detector find the end of speech. So `pipeline_runs` makes the runs, and this file does the rest of that
method: the states, the chat history, the extra prompt of the next command, and the answer to Home Assistant's
own questions. `docs/architecture.md` lists the parts that Home Assistant does not promise.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
import inspect
from typing import Any, Final, override

from homeassistant.components.assist_pipeline import Pipeline, PipelineEvent, PipelineEventType, PipelineStage
from homeassistant.components.assist_satellite import AssistSatelliteAnswer, AssistSatelliteEntity
from homeassistant.components.conversation import AssistantContent, async_get_chat_log
from homeassistant.core import callback
from homeassistant.helpers.chat_session import ChatSession, async_get_chat_session

from ..announcements.announcement_errors import check_length
from ..announcements.announcer import Announcer
from ..device.device import Device
from ..protocol.audio.timer_sound import tone
from ..protocol.messages import DOWNLINK
from ..texts.issues import Part, Unpromised
from ..util.event_loop import first_of
from .pipelines import chosen_pipeline
from .questions import AskedTurn, Question, Questions

# Since Home Assistant 2026.11 a run has a user: none for a satellite.
NO_USER: Final[dict[str, Any]] = (
    {"context": None} if "context" in inspect.signature(async_get_chat_session).parameters else {}
)
# Begins the line of an extra prompt that says who speaks.
_SPEAKER_LINE: Final = "Speaker recognition: "
_STAGES: Final = frozenset({"stt-start", "intent-start"})
# A turn reports its own end, and its answer to a question.
_NOT_SHOWN: Final = frozenset({"stt-end", "run-end"})


@dataclass(frozen=True, slots=True)
class _BegunConversation:
    """A conversation that an automation has begun: the words of the satellite, and the extra prompt."""

    message: str
    prompt: str | None


class SatelliteStates(AssistSatelliteEntity):
    """A satellite whose pipelines are run by `pipeline_runs`, one run at a time."""

    device: Device

    def __init__(self, device: Device, announcer: Announcer) -> None:
        self.announcer = announcer
        self.wake_word_awaited = False
        """Whether Home Assistant's voice set-up waits for the next wake word, and no pipeline is to run."""
        self.questions = Questions(device)
        """Questions of automations."""
        self.announcing = asyncio.Lock()
        """Held during announcements."""
        self.sound_before: str | None = None
        """The owner's sound before what is being announced."""
        self._begun: _BegunConversation | None = None
        """The conversation that the next run goes on with."""
        self._asked: Question | None = None
        """Home Assistant's question."""
        self._stage: PipelineEvent | None = None
        """The last stage of the turn that goes on."""
        self._take_event: Callable[[PipelineEvent], object] | None = None
        """Takes the events of the run that Home Assistant makes."""
        self._conversation_ids: dict[str, str] = {}
        """Ids of the chat histories, by pipeline: assistants do not share them."""

    # Runs.

    @contextmanager
    def chat_session(self, pipeline: Pipeline) -> Generator[tuple[ChatSession, str | None]]:
        """Yield the chat history of a run, and an extra prompt that the assistant receives with it."""
        begun, self._begun = self._begun, None
        history = None if begun else self._conversation_ids.get(pipeline.id)
        with async_get_chat_session(self.hass, history, **NO_USER) as session:
            self._conversation_ids[pipeline.id] = session.conversation_id
            if begun is not None and begun.message:
                with async_get_chat_log(self.hass, session) as log:
                    said = AssistantContent(agent_id=self.entity_id, content=begun.message)
                    log.async_add_assistant_content_without_tools(said)
            yield session, begun.prompt if begun else None

    @callback
    def prompt_with_speaker(self, session: ChatSession, prompt: str | None, speaker: str | None) -> str:
        """Return an extra prompt that says who speaks, beside that of an automation, now or before."""
        with async_get_chat_log(self.hass, session) as log:
            lines = (prompt or log.extra_system_prompt or "").splitlines()
        said = f"the user is {speaker!r}." if speaker else "it is not known who the user is."
        others = (line for line in lines if not line.startswith(_SPEAKER_LINE))
        return "\n".join((*others, _SPEAKER_LINE + said))

    @callback
    def prompt_without_speaker(self, session: ChatSession, prompt: str | None) -> str | None:
        """Return an extra prompt for what was typed, perhaps by another person than the last speaker."""
        with async_get_chat_log(self.hass, session) as log:
            named = _SPEAKER_LINE in (log.extra_system_prompt or "")
        return self.prompt_with_speaker(session, prompt, None) if named else prompt

    @callback
    def show_stage(self, event: PipelineEvent) -> None:
        """Show the stage that a run is in."""
        if event.type not in _NOT_SHOWN:
            self._stage = event if event.type in _STAGES else self._stage
            self._internal_on_pipeline_event(event)

    @callback
    def show_turn(self) -> bool:
        """Show the running turn instead of an announcement after it; return whether there is one."""
        if (stage := self._stage) is not None:
            self._internal_on_pipeline_event(stage)
        return stage is not None

    @asynccontextmanager
    async def speaking(self) -> AsyncGenerator[Callable[[object], None]]:
        """Speak in turn with announcements. Yields what is to be called when it begins to be heard."""

        def begin(_how: object) -> None:
            # The turn before is over.
            self._stage = None
            self.show_stage(PipelineEvent(PipelineEventType.TTS_START))

        async with self.announcing:
            try:
                yield begin
            finally:
                if not self.show_turn():
                    self.tts_response_finished()

    @callback
    @override
    def tts_response_finished(self) -> None:
        """Show that the turn or the announcement is over."""
        self._stage = None
        super().tts_response_finished()

    async def run_as_home_assistant_does(
        self,
        audio: AsyncIterable[bytes],
        take_event: Callable[[PipelineEvent], object],
        wake_word: str | None,
        end: PipelineStage,
    ) -> None:
        """Have Home Assistant choose and run a pipeline and find the end of speech, or take the wake word."""
        self._take_event = take_event
        try:
            await self.async_accept_pipeline_from_satellite(audio, end_stage=end, wake_word_phrase=wake_word)
        finally:
            self._take_event = None

    @callback
    @override
    def on_pipeline_event(self, event: PipelineEvent) -> None:
        """Take an event of a run that Home Assistant makes. The turns of others have taken theirs."""
        if self._take_event is not None:
            self._take_event(event)

    @override
    async def async_intercept_wake_word(self) -> str | None:
        """Take the next wake word for the voice set-up."""
        self.wake_word_awaited = True
        try:
            return await super().async_intercept_wake_word()
        finally:
            self.wake_word_awaited = False

    # Announcements: in turn, where Home Assistant would refuse the second, and without its usual sound, since
    # the device plays one of its own first.

    @override
    async def async_internal_announce(self, *args: Any, **given: Any) -> None:
        """Announce after earlier announcements."""
        announce = super().async_internal_announce
        check_length(self.device, given.get("message"))
        async with self.announcing:
            await announce(*args, **self._without_sound(announce, *args, **given))

    @override
    async def async_internal_start_conversation(self, *args: Any, **given: Any) -> None:
        """Begin in turn. The next words belong to this, so no automation may wait for an answer."""
        start, message = super().async_internal_start_conversation, given.get("start_message")
        check_length(self.device, message)
        self.questions.check_free()
        async with self.announcing:
            await start(*args, **self._without_sound(start, *args, **given))
        self._begun = _BegunConversation(message or "", given.get("extra_system_prompt") or message)

    @override
    async def async_internal_ask_question(self, *args: Any, **given: Any) -> AssistSatelliteAnswer | None:
        """Ask in turn."""
        ask = super().async_internal_ask_question
        check_length(self.device, given.get("question"))
        with self.questions.asking() as asked:
            async with self.announcing:
                self._asked = asked
                try:
                    return await ask(*args, **self._without_sound(ask, *args, **given))
                finally:
                    self._asked = None

    def _without_sound(self, method: Callable[..., object], *args: Any, **given: Any) -> dict[str, Any]:
        """Return arguments for a method of Home Assistant's without the sound before the words.

        With the owner's sound, which is ours to play, it would fail where that is gone.
        """
        sound = given.pop("preannounce_media_id", None)
        self.sound_before = sound if given.pop("preannounce", True) else None
        with Unpromised(self.hass, Part.ANNOUNCEMENTS):
            inspect.signature(method).bind(*args, **given, preannounce=False)
            return given | {"preannounce": False}
        return given

    @asynccontextmanager
    async def next_turn(
        self, prompt: str, patience: float, *, is_recorded: bool = False
    ) -> AsyncGenerator[AskedTurn | None]:
        """Say a prompt, and yield the turn in which somebody answers; None if nobody does in so many seconds.

        It is understood, or recorded after a tone. In a conversation it is the next one, otherwise one that
        begins later. What is left as its reply is said after this. Raises `HomeAssistantError`.
        """
        pipeline = chosen_pipeline(self.hass, self.device)
        with self.questions.asking(is_recorded=is_recorded) as question:
            async with self.speaking() as on_start:
                asking = self.announcer.ask(
                    prompt,
                    pipeline,
                    lambda: question.open(self.device.conversation),
                    on_start,
                    tone(DOWNLINK.sample_rate) if is_recorded else b"",
                )
                # Somebody may have interrupted it to speak, and waits for the reply.
                async with first_of(asking, question.turn) as (asked, _):
                    if asked.done():
                        asked.result()
            yield await question.answer(patience)

    async def wait_for_answer(self) -> None:
        """Wait for the answer to Home Assistant's question, if it has asked one, which takes it as an event.

        A run that Home Assistant makes reports it by itself.
        """
        if (question := self._asked) is None:
            return
        if (conversation := self.device.conversation) is None:
            question.end()
        question.open(conversation)
        turn = await question.answer(None)
        if self._take_event is None:
            with Unpromised(self.hass, Part.RUNS):
                event = PipelineEvent(PipelineEventType.RUN_END)
                if turn is not None:
                    event = PipelineEvent(
                        PipelineEventType.STT_END, {"stt_output": {"text": turn.transcript}}
                    )
                self._internal_on_pipeline_event(event)
