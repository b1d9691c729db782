"""The transport over MQTT, with audio over UDP. Source: the firmware's `mqtt_protocol.cc`."""

import asyncio
from typing import Final, override

from ..board.cjson import JsonObject, dumps, find, loads_object
from ..board.crash import DeviceCrashed, stoi
from .hello import device_hello
from .misbehave import Misbehaviour
from .mqtt_client import MqttClient, MqttSettings
from .transport import Transport, TransportContext
from .udp_audio import AudioOffer, UdpAudio, parse_offer
from .websocket_frames import Opcode

_HELLO_TIMEOUT: Final = 10.0
_DEFAULT_PORT: Final = 8883
_DEFAULT_KEEP_ALIVE: Final = 240


class MqttTransport(Transport):
    """Connects at the end of the activation, and stays connected."""

    name = "mqtt"

    def __init__(self, context: TransportContext) -> None:
        super().__init__(context)
        self._client: MqttClient | None = None
        self._was_connected = False
        self._rebuilding: asyncio.Task[None] | None = None
        self._publish_topic = ""
        self._offer: AudioOffer | None = None
        self._audio: UdpAudio | None = None

    @override
    async def start(self) -> None:
        await self._start_client(report_missing=False)

    @property
    @override
    def connected(self) -> bool:
        return self._client is not None and self._client.connected

    @property
    @override
    def channel_open(self) -> bool:
        return self._audio is not None and not self._failed and not self._stale

    @override
    async def open_channel(self) -> bool:
        if not self.connected and not await self._start_client(report_missing=True):
            return False
        self._failed = False
        self.session_id = ""
        self._hello.clear()
        await self._faults.before_hello(self.send_raw)
        text = dumps(device_hello(self._profile, version=3, transport="udp", charset=self._charset()))
        if not await self.send_text(text):
            return False
        try:
            async with self._pace.timeout(_HELLO_TIMEOUT):
                await self._hello.wait()
        except TimeoutError:
            return self._fail("SERVER_TIMEOUT")
        await self._open_audio()
        if Misbehaviour.STOP_READING in self._faults.what and self._client is not None:
            self._client.stop_reading()
        await self._faults.after_hello(self.send_raw, text)
        return True

    async def _open_audio(self) -> None:
        self._close_audio()
        if self._offer is not None:
            hardened = self._profile.checks_udp
            audio = UdpAudio(
                self._offer, self._network, self._faults, self._packet_received, hardened=hardened
            )
            self._audio = await audio.open()

    @override
    async def close_channel(self) -> None:
        if self._audio is not None:
            await self._close(say_goodbye=True)

    async def _close(self, *, say_goodbye: bool) -> None:
        self._close_audio()
        if say_goodbye:
            await self.send_text(f'{{"session_id":"{self.session_id}","type":"goodbye"}}')
        self._listener.channel_closed()

    def _close_audio(self) -> None:
        audio, self._audio = self._audio, None
        if audio is not None:
            audio.close()

    @override
    async def send_text(self, text: str) -> bool:
        if not self._publish_topic:
            return False
        self._recorder.add("sent", text=text)
        return await self._publish(text.encode()) or self._fail("SERVER_ERROR")

    async def _publish(self, payload: bytes) -> bool:
        topic = self._faults.topic(self._publish_topic)
        return self._client is not None and await self._client.publish(topic, payload)

    @override
    async def send_audio(self, packet: bytes) -> bool:
        return self._audio is not None and self._audio.send(packet)

    @override
    async def send_raw(self, opcode: Opcode, payload: bytes) -> bool:
        """Send a text by MQTT, and binary data by UDP."""
        return await (self.send_audio if opcode == Opcode.BINARY else self._publish)(payload)

    @override
    def lose_connection(self) -> None:
        if self._client is not None:
            self._client.lose_connection()

    @override
    def shut_down(self) -> None:
        self._stop(politely=True)

    @override
    def power_off(self) -> None:
        self._stop(politely=False)

    def _stop(self, *, politely: bool) -> None:
        self._stop_rebuilding()
        self._close_audio()
        client, self._client = self._client, None
        if client is not None:
            client.stop(politely=politely)

    # The connection

    async def _start_client(self, *, report_missing: bool) -> bool:
        """Replace the client. Raises `DeviceCrashed` for an endpoint with an invalid port."""
        if self._client is not None:
            self._client.stop(politely=True)
            self._client = None
        nvs = self._nvs
        endpoint = nvs.get_string("mqtt", "endpoint")
        self._publish_topic = nvs.get_string("mqtt", "publish_topic")
        if not endpoint:
            return self._fail("SERVER_NOT_FOUND") if report_missing else False
        host, colon, port = endpoint.partition(":")
        settings = MqttSettings(
            host=host,
            port=stoi(port) if colon else _DEFAULT_PORT,
            client_id=nvs.get_string("mqtt", "client_id"),
            username=nvs.get_string("mqtt", "username"),
            password=nvs.get_string("mqtt", "password"),
            keepalive=nvs.get_int("mqtt", "keepalive", _DEFAULT_KEEP_ALIVE),
        )
        self._was_connected = False
        self._client = MqttClient(
            settings,
            self._pace,
            self._network,
            self,
            spawn=self._spawn,
            faults=self._faults,
            notices_reconnection=self._profile.notices_reconnection,
        )
        return await self._client.connect() or self._fail("SERVER_NOT_CONNECTED")

    def mqtt_connected(self) -> None:
        """Note that the client is connected."""
        self._was_connected = True
        self._stop_rebuilding()
        self._recorder.add("link", connected=True)

    def mqtt_disconnected(self, reason: str) -> None:
        """Wait for the client to reconnect; an idle device replaces the client if that takes long."""
        self._recorder.add("link", connected=False, reason=reason)
        # Firmware that does not notice a reconnection does not replace the client either.
        if self._was_connected and self._profile.notices_reconnection:
            self._was_connected = False
            self._stop_rebuilding()
            self._rebuilding = self._spawn(self._rebuild_later())

    async def _rebuild_later(self) -> None:
        await self._pace.wait(self._profile.mqtt_rebuild_seconds)
        if self._idle():
            self._schedule(self._rebuild)

    async def _rebuild(self) -> None:
        await self._start_client(report_missing=False)

    def _stop_rebuilding(self) -> None:
        rebuilding, self._rebuilding = self._rebuilding, None
        if rebuilding is not None:
            rebuilding.cancel()

    # From the server

    def mqtt_message(self, payload: bytes) -> None:
        """Handle a message of any topic."""
        message = loads_object(payload)
        kind = find(message, "type")
        if message is None or not isinstance(kind, str):
            return
        match kind:
            case "hello":
                self._server_hello(message)
            case "goodbye":
                self._goodbye(find(message, "session_id"))
            case _:
                self._listener.message_received(message)
        self._last_incoming = asyncio.get_running_loop().time()

    def _server_hello(self, message: JsonObject) -> None:
        transport = find(message, "transport")
        if not isinstance(transport, str) and not self._profile.checks_udp:
            raise DeviceCrashed("the server's hello has no string 'transport'")
        if transport != "udp":
            return
        offer = parse_offer(find(message, "udp"), hardened=self._profile.checks_udp)
        self._read_hello(message)
        if offer is None:
            return
        self._offer = offer
        if self._audio is not None:
            self._audio.rekey(offer)
        self._hello.set()

    def _goodbye(self, session_id: object) -> None:
        self._recorder.add("received", message={"type": "goodbye", "session_id": session_id})
        if session_id is None:
            matches = not self._profile.goodbye_needs_session
        elif isinstance(session_id, str):
            matches = session_id == self.session_id
        elif self._profile.goodbye_needs_session:
            matches = False
        else:
            raise DeviceCrashed("the server's goodbye has a session_id that is not a string")
        if matches:
            say_goodbye = self._profile.answers_goodbye
            self._schedule(lambda: self._close(say_goodbye=say_goodbye))

    def _packet_received(self, packet: bytes) -> None:
        self._deliver_audio(packet)
        self._last_incoming = asyncio.get_running_loop().time()
