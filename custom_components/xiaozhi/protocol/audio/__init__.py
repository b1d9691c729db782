"""Audio: Opus and other codecs, pacing, the time line of a turn, speech detection, loudness."""
