"""Time-outs and pauses, by layer."""


class CallTimeouts:
    """Time-outs of requests of devices to our web server, in seconds."""

    body: float = 10
    """To send a check-in. The device itself waits 30 s for an answer."""
    probe: float = 3
    """For a name to be resolved, and for ourselves to answer at an address that the owner has typed."""
    hang_up: float = 0.5
    """To close the connection. The HTTP client of firmware 2.1.0 to 2.4.x uses a freed object when the server
    closes before the device does (component ml307, src/esp/esp_tcp.cc). Devices close it well within this
    time."""
    stall: float = 60
    """For a device to take the next part of a file. It writes some 64 KiB a second into its flash."""


class SessionTimeouts:
    """Time-outs and pauses of the session of a link, in seconds."""

    poll: float = 60
    """Between two readings of the status."""
    starting: float = 3
    """From a device's check-in to its connection to the broker."""
    away: float = 30
    """For a device that comes and goes to stay, there or away, until it is shown so."""
    idle: float = 1.0
    """Until a device that goes idle has cleared its screen: alerts are shown after that."""
    hang_up: float = 1.0
    """Until the last conversation is ended: a device that connects because it was woken must send its hello
    first."""
    refresh: float = 0.5
    """Changes within this time are read back together, and tools listed once."""
    status_at_end: float = 2.0
    """How long the end of a conversation waits for the status."""
    tools_at_end: float = 10.0
    """How long the end of a conversation waits for tools, after the status."""


class StoreTimeouts:
    """Pauses before the states of devices are saved, in seconds."""

    change: float = 60
    """After a change. A device that talks changes its record often; a lost minute of it is found again at the
    next handshake."""
    soon: float = 1
    """Between two immediate saves of changes that a crash must not lose."""
    retry: float = 60
    """Until a failed save is tried again."""


class VoiceTimeouts:
    """Time-outs of a turn on Home Assistant's side, in seconds."""

    detector_probe: float = 20
    """For the speech detector to run once in a process of its own, on a slow computer that starts up."""
    detector_wait: float = 1
    """For a turn to wait for that; then Home Assistant's detector serves it."""
    dry: float = 1
    """For more text or speech of an answer to come before a sentence without its end is shown."""
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
    message: float = 60
    """For a voice message, and after the time in which it has to begin."""
    early: float = 10
    """For an early transcript after the end of speech, before the turn is transcribed again."""
    quiet: float = 90
    """Between two signs of life of the pipeline, whose engines need not have time limits. An assistant that
    works with tools reports each step, and speech comes in pieces: an engine silent this long is hung."""
    reading: float = 3
    """For a person to read a line before the end of the conversation wipes it."""
    typed: float = 3
    """From the end of an answer to a typed question until the conversation ends: programs may play later than
    a device does, and drop the rest then.
    """
    ending: float = 5
    """For a cancelled pipeline to end before the next one begins."""


class AnnouncementTimeouts:
    """Time-outs and pauses of announcements, in seconds."""

    sound: float = 30
    """For the next sound of a speech engine."""
    request: float = 5
    """For an idle device to ask for a sound, after it received the address."""
    pause: float = 2
    """Of a source, before silence is sent instead: the device gives up after 5 s without data."""
    waits: float = 30
    """For a loudspeaker on which something else is heard, before an announcement fails."""
    ring_waits: float = 5
    """The same, before a ring ends that, or rings elsewhere; and before an answer is heard elsewhere."""
    between_alerts: float = 3
    room_player: float = 5
    """For a media player that is to speak in place of the device to fetch the sound."""
    buffering: float = 10
    """For a media player that has fetched the sound and reports that it is buffering to begin to play."""
    idle_player: float = 1
    """For which a media player is idle before that counts as its end."""
    repeat: float = 1
    """Until an idle device that has not asked for the sound is sent its address again."""
    stall: float = 15
    """Between two moments at which the device takes something of a stream."""
    poll: float = 0.5
    """Between two polls of the device's progress, while there is more to send: it holds several seconds, and
    each poll takes processor time.
    """
    last_look: float = 0.05
    """The same when all has been sent, until the end."""
    closing: float = 15
    """For the device to close the connection, after everything has arrived: it reads that first, as fast as
    it plays."""
    pop_up: float = 0.5
    """The sound that the device plays first."""
    read_ahead: float = 1.4
    """Sound that the device has still to play when it has read everything: 20 packets and 2 decoded frames.
    """
    margin: float = 0.5
    """For the loudspeaker's buffers and the device's way back to idle."""
    waking: float = 3
    """From the end of a sound that was ended by waking the device until its conversation begins."""
    cancelled: float = 5
    """For which a download that the user has ended may keep the device from beginning another one."""
    idle: float = 1
    """For a device to go idle after a conversation."""
