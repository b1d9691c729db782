"""The time-outs and pauses of every part of the protocol, in seconds."""


class ConversationTimeouts:
    """Time-outs of a conversation, in seconds."""

    listen: float = 10
    """For the device to open its microphone, after its channel or after an answer."""
    push_to_talk: float = 60
    """For the next press of the button in push-to-talk. Below the 120 s after which the device counts its
    channel as stale and mixes up its sessions."""
    program: float = 120
    """For a program to listen, to speak, to type or to ping, which stays connected between its turns."""
    typed: float = 2
    """From a text of the device, without sound, until it counts as typed: `listen start` follows a wake word
    at once, or when a sound of the device's own has ended."""
    wake_sound: float = 3
    """For which a text that follows a sound is that sound's wake word."""
    late_wake_sound: float = 0.12
    """For which the sound of a wake word may arrive on UDP after the message on MQTT that the microphone is
    on; the microphone itself gives nothing for so long."""
    first_packet: float = 1
    """For the first packet of a microphone, which is on or about to be."""
    turn: float = 30
    """For a spoken command, in audio: a device that is left listening would stream without end."""
    held: float = 60
    """For a spoken command in push-to-talk, in audio: the user ends it, and may take time to think."""
    ready: float = 5
    """For the proof that the device speaks: its main task may be busy, and its Wi-Fi have a hole. What is
    sent before that is lost."""
    no_probe: float = 600
    """For which a device that has not given this proof three times in a row is not asked for it."""
    reading: float = 3
    """For a person to read an alert before the end of the conversation wipes it off the screen."""


class McpTimeouts:
    """How long a device may take to answer, in seconds."""

    answer: float = 10
    """For an answer or the next report of progress, unless the caller gives another time."""
    progress: float = 600
    """For a whole call, however often it reports progress."""


class WebSocketTimeouts:
    """How long a device may take, in seconds."""

    open: float = 10
    """For the opening handshake."""
    upgrade_delay: float = 0.03
    """Delay of our answer to the device's request: it could miss a faster one."""
    hello: float = 120
    """From then to its hello, where it is not pinged. Stock firmware says it at once."""
    send: float = 5
    """To make room for a message or packet."""
    receive: float = 15
    """To take audio: its Wi-Fi may have a hole."""
    close: float = 0.5
    """To accept the close frame. Devices do not answer it, and keep their end open."""
    ping_interval: float = 20
    pong: float = 20
    """To answer a ping."""


class MqttTimeouts:
    """How long a client may take, in seconds."""

    connect: float = 10
    """To send its CONNECT."""
    keep_alive_factor: float = 1.5
    """Silence that ends the connection, as a multiple of the client's keep-alive time."""
    send: float = 5
    """To make room for a message."""
    close: float = 0.5
    """To accept the last bytes."""
    refusal: float = 1
    """Delay of a refusal, since a client asks again at once. The firmware waits 10 s for any answer."""


class BrokerTimeouts:
    """Time-outs and pauses of a client of the broker, in seconds."""

    answer: float = 5.0
    """For the broker to answer, the connection included."""
    hang_up: float = 0.1
    """For a disconnect, whose arrival does not matter."""
    push: float = 0.5
    """For a message to a client that never subscribes."""
    first_retry: float = 1.0
    """Until the next attempt to connect. Each pause is twice as long as the one before."""
    last_retry: float = 15.0
    """Between two attempts at most. Devices themselves look for a broker that was away every ten seconds."""
    steady: float = 60.0
    """A broker that has held us for less may only have let us in to throw us out: the pauses do not get short
    again."""
    first_probe: float = 1.0
    """Until the first probe of a device that may be connected already. Each pause is twice as long as the one
    before: some devices download files first, or have a slow network."""
    first_probe_after_check_in: float = 3.0
    """Until the first probe of a device that has just checked in."""
    last_probe: float = 60.0
    """Between two probes at most."""
    probe_spread: float = 0.1
    """Between two devices, so that many do not answer at the same moment."""
    rights: float = 300.0
    """Between two tests whether we may still subscribe."""
    ban: float = 60.0
    """For which a device that floods is not heard: it would otherwise get a new link by its next message."""


class AccessPointTimeouts:
    """Time-outs and pauses of an access point, in seconds."""

    open: float = 10
    """For the opening handshake, TLS and the look-up of the name included."""
    close: float = 3
    """For the closing handshake. Home Assistant waits ten seconds for all of an unloaded entry."""
    ping_interval: float = 20
    pong: float = 20
    """To answer a ping of ours."""
    hold: float = 3
    """For which a new address is tested: self-hosted servers accept any token, and refuse it after that."""
    listing: float = 8
    """To make the list of tools. The cloud waits 10 s for any answer."""
    api: float = 3
    """For an LLM API to give its tools. The list may be made twice meanwhile."""
    call: float = 25
    """For an action, until the model hears that it is still running. Self-hosted servers wait 30 s."""
    finish: float = 300
    """For an action in all. Then it is cancelled."""
    first_retry: float = 1
    """Until the next attempt to connect. Each pause is twice as long as the one before."""
    last_retry: float = 300
    """Between two attempts at most, and at once after a refusal."""
    steady: float = 60
    """A connection that has lasted so long is healthy: the pauses begin again with the shortest."""
    listed: float = 15
    """So long after a list of tools has been sent, the other side has accepted it."""
    shared: float = 900
    """Connections in a row that another client ended within this time are a sign that the address is used
    elsewhere. One that has lasted longer shows that it is not."""
    half_open: float = 45
    """Until the next attempt after the network was lost. A self-hosted server that still believes in the old
    connection would otherwise stop for all its users (mcp-endpoint-server 0.0.6)."""
    first_self_test: float = 5
    """From the connection to the first test whether a self-hosted server still hands us requests."""
    second_self_test: float = 60
    """From the first to the second: when a server gives up an older connection, it may forget this one."""
    self_test: float = 600
    """Between two of these tests after that."""
    self_test_answer: float = 5
    """For our own answer to come back in such a test."""
    quiet: float = 60
    """Without calls, until a connection is renewed because the list of tools has changed."""
    changes: float = 10
    """Until the list of tools is made again after a change in the house: changes often come together."""
    kept: float = 5
    """For which the tools of the house are kept."""
