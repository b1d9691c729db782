"""How long things may take in a turn."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class VoiceTimeouts:
    """Time-outs of a turn on Home Assistant's side, in seconds."""

    no_speech: float = 8
    """For speech to begin after the wake word; the pipeline's own detector gives up only after 15 s."""
    pipeline_silence: float = 14
    """For speech to begin where the pipeline finds its end: after 15 s it takes silence for speech."""
    transcript: float = 60
    """For the transcript, after the beginning of speech, where the pipeline finds its end: the longest turn,
    and its recognition."""
    recognition: float = 30
    """For the transcript, after the end of speech: what the slowest recognition at home takes for the longest
    turn."""
    early: float = 5
    """For an early transcript after the end of speech, before the turn is transcribed again; longer with an
    engine that usually takes longer."""
    quiet: float = 90
    """Between two signs of life of the pipeline, whose engines need not have time limits. An assistant that
    works with tools tells of each step, and speech comes in pieces: an engine silent this long is hung."""
    reading: float = 3
    """For a person to read a line before the end of the conversation wipes it."""
    ending: float = 5
    """For a cancelled pipeline to end before the next one begins."""
