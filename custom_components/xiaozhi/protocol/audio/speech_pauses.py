"""Shape of decoded speech: its beginning, and its pauses."""

from typing import Final

import audioop

_WINDOW: Final = 0.01
# Of 32767. Engines put digital silence before speech, or noise that nobody hears.
_SILENT: Final = 150
# Share of the loudest sample so far: pauses of a noisy voice are not silent.
_PAUSE_LEVEL: Final = 0.02
_SAMPLE: Final = 2
# Seconds of silence that are left before the speech.
_LEAD: Final = 0.03
# Seconds after which silence is a pause.
_PAUSE: Final = 0.15


class SpeechShape:
    """Cuts the silence before speech, and finds its pauses.

    `take` is for the thread that decodes. `resumed` may be read from another one.
    """

    def __init__(self, sample_rate: int) -> None:
        """Take 16-bit mono PCM."""
        self.resumed: list[float] = []
        """Positions in the output of `take`, in seconds, at which speech goes on after a pause."""
        self._window = _SAMPLE * round(sample_rate * _WINDOW)
        self._lead = _SAMPLE * round(sample_rate * _LEAD)
        self._pause = round(_PAUSE / _WINDOW)
        self._begun = False
        self._held = bytearray()
        self._checked = 0
        self._loudest = 0
        self._windows = 0
        self._quiet = 0

    def take(self, pcm: bytes) -> bytes:
        """Return the part of the next PCM that is to be played."""
        self._held += pcm
        if self._begun:
            self._look_for_pauses()
            return pcm
        while len(self._held) - self._checked >= self._window:
            if self._peak(self._checked) >= _SILENT:
                self._begun = True
                del self._held[: max(0, self._checked - self._lead)]
                speech = bytes(self._held)
                self._look_for_pauses()
                return speech
            self._checked += self._window
        surplus = max(0, self._checked - self._lead)
        del self._held[:surplus]
        self._checked -= surplus
        return b""

    def _look_for_pauses(self) -> None:
        start = 0
        while len(self._held) - start >= self._window:
            peak = self._peak(start)
            self._loudest = max(self._loudest, peak)
            if peak < _SILENT or peak < _PAUSE_LEVEL * self._loudest:
                self._quiet += 1
            else:
                if self._quiet >= self._pause:
                    self.resumed.append(self._windows * _WINDOW)
                self._quiet = 0
            self._windows += 1
            start += self._window
        del self._held[:start]

    def _peak(self, start: int) -> int:
        with memoryview(self._held) as data, data[start : start + self._window] as window:
            return audioop.max(window, _SAMPLE)
