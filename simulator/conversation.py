"""A whole conversation with the simulated device, and its measurements."""

from dataclasses import asdict, dataclass
from typing import Any

from .application.state import State
from .board.recorder import Event
from .device import SimulatedDevice


class ConversationError(Exception):
    """The conversation could not begin or did not end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Transcript and measurements of a conversation."""

    heard: list[str]
    """The server's transcripts."""
    answers: list[str]
    """The captions of its answers."""
    emotions: list[str]
    """The faces that the server chose."""
    played: bytes
    """The PCM of the answers: mono, 16 bits."""
    sample_rate: int
    """Hz."""
    played_seconds: float
    late_percent: float
    """Percentage of the answers' packets that came more than 65 ms after the one before."""
    reply_ms: float | None
    """Milliseconds from the end of the last utterance to the first packet of the answer."""
    first_audio_ms: float | None
    """Milliseconds from the transcript to the first packet of the answer."""
    hung_up: bool
    """Whether the user had to end the conversation, since the server did not."""

    def as_json(self) -> dict[str, Any]:
        """Return everything except the sound."""
        account = asdict(self)
        del account["played"]
        return account


async def converse(
    device: SimulatedDevice,
    *sounds: bytes,
    word: str = "hi xiaozhi",
    timeout: float = 60,  # noqa: ASYNC109
    patience: float = 10,
) -> Conversation:
    """Wake the idle device, say one thing after each answer, and stay until the conversation is over.

    `sounds` are 16 kHz mono PCM of 16 bits. Each turn and the end may take `timeout` seconds. If the server
    still listens `patience` seconds after the last answer, the user ends the conversation.
    Raises `ConversationError` and `DeviceCrashed`.
    """
    first_event = len(device.transcript)
    first_frame, first_answer = len(device.speaker.played), len(device.speaker.answers)
    for sound in sounds:
        await _turn(device, sound, word, timeout)
    hung_up = await _end(device, timeout, patience)
    await device.wait_played()
    events = device.transcript[first_event:]
    frames = device.speaker.played[first_frame:]
    pcm = b"".join(frame.pcm for frame in frames)
    answers = [times for times in device.speaker.answers[first_answer:] if times]
    first_packet = device.seconds_at(answers[-1][0]) if answers else None
    messages = [(event.time, event.data["message"]) for event in events if event.kind == "received"]
    transcripts = [time for time, message in messages if message.get("type") == "stt"]
    return Conversation(
        heard=[message["text"] for _, message in messages if message.get("type") == "stt"],
        answers=[message["text"] for _, message in messages if message.get("state") == "sentence_start"],
        emotions=[message["emotion"] for _, message in messages if message.get("type") == "llm"],
        played=pcm,
        sample_rate=device.speaker.rate,
        played_seconds=round(len(pcm) / 2 / device.speaker.rate, 3),
        late_percent=round(device.speaker.late_percent(first_answer=first_answer), 2),
        reply_ms=_milliseconds(_times(events, "said"), first_packet),
        first_audio_ms=_milliseconds(transcripts, first_packet),
        hung_up=hung_up,
    )


async def _turn(device: SimulatedDevice, sound: bytes, word: str, seconds: float) -> None:
    """Say something and wait until the answer has been spoken, or the conversation is over."""
    answers = len(device.speaker.answers)
    if device.state is State.IDLE:
        known = len(device.transcript)
        await device.wake(word)
        if any(event.kind == "unheard" for event in device.transcript[known:]):
            raise ConversationError(f"{word!r} does not wake the device")
        if device.state is State.IDLE:
            raise ConversationError(
                f"the device could not connect: {device.last_error or 'the server hung up at once'}"
            )

    def answered() -> bool:
        return len(device.speaker.answers) > answers and device.state is not State.SPEAKING

    device.say(sound)
    try:
        await device.wait_for(lambda: device.state is State.IDLE or answered(), seconds)
    except TimeoutError:
        raise ConversationError(f"no answer within {seconds:g} s") from None
    if device.last_error:
        raise ConversationError(f"the device lost its connection: {device.last_error}")


async def _end(device: SimulatedDevice, seconds: float, patience: float) -> bool:
    """Wait for the end; True when the user had to hang up."""
    try:
        await device.wait_for(lambda: device.state in {State.IDLE, State.LISTENING}, seconds)
        await device.wait_for(lambda: device.state is State.IDLE, patience)
    except TimeoutError:
        if device.state is not State.LISTENING:
            raise ConversationError(f"the conversation did not end within {seconds:g} s") from None
    else:
        return False
    await device.click()
    await device.wait_state(State.IDLE)
    return True


def _times(events: list[Event], kind: str) -> list[float]:
    return [event.time for event in events if event.kind == kind]


def _milliseconds(times: list[float], end: float | None) -> float | None:
    """Return the time from the last of `times` before `end`."""
    if end is None or not (earlier := [time for time in times if time <= end]):
        return None
    return round(1000 * (end - earlier[-1]), 1)
