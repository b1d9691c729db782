"""One TCP connection of an MQTT client: packets in, bytes out, bounded in every direction."""

import asyncio
import socket
from typing import Final

from ...timeouts import MqttTimeouts
from ..link import LinkClosedError
from ..tcp_backlog import unacknowledged
from . import mqtt_packets as mqtt
from .mqtt_packets import MqttProtocolError, Packet, PacketTooLongError

READ_BYTES: Final = 4096
# Room for a CONNECT with long names, and for the last will of a client that is not a device.
_MAX_CONNECT_BYTES: Final = 4096
# The kernel's own buffer would hide for a long time that a device has stopped reading.
_SEND_BUFFER: Final = 16 * 1024


class MqttConnection:
    """A client's connection."""

    notices_loss = True

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Use open streams; the caller closes the connection."""
        self._reader = reader
        self._writer = writer
        self._limit = _MAX_CONNECT_BYTES
        self._topic = ""
        writer.transport.set_write_buffer_limits(_SEND_BUFFER)
        endpoint: socket.socket = writer.get_extra_info("socket")
        endpoint.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)

    @property
    def remote(self) -> str:
        """IP address of the peer; empty if it is gone already."""
        return str((self._writer.get_extra_info("peername") or ("",))[0])

    @property
    def local(self) -> str:
        """Our IP address to which the peer is connected."""
        return str(self._writer.get_extra_info("sockname")[0])

    def unacknowledged(self) -> int:
        """Return how many bytes have not arrived."""
        return unacknowledged(self._writer.transport)

    def settle(self, topic: str) -> None:
        """Accept the client; messages to it are published to `topic`."""
        self._topic = topic
        self._limit = mqtt.MAX_PACKET_BYTES
        self.write(mqtt.ACCEPTED)

    async def read_connect(self) -> mqtt.Connect:
        """Return the first packet. Raises as `read` does."""
        packet = await self.read(MqttTimeouts.connect)
        if not isinstance(packet, mqtt.Connect):
            raise MqttProtocolError("the first packet is not a CONNECT")
        return packet

    async def read(self, seconds: float) -> Packet:
        """Return the next packet.

        Raises `MqttProtocolError`, and `LinkClosedError` when the connection is lost or no complete packet
        comes for `seconds`.
        """
        try:
            async with asyncio.timeout(seconds) as patience:
                return await self._read_packet()
        except asyncio.IncompleteReadError as err:
            raise LinkClosedError("the device closed the connection") from err
        except OSError as err:
            silent = patience.expired()
            raise LinkClosedError(
                "nothing heard from the device in time" if silent else "the connection was lost"
            ) from err

    async def _read_packet(self) -> Packet:
        # Neither after a wrong first byte nor after too large a length is the rest waited for.
        first = await self._read_byte()
        if first not in mqtt.PARSERS:
            raise MqttProtocolError(f"no packet of a device begins with {first:#04x}")
        remaining = 0
        # The length has at most four bytes (2.2.3).
        for shift in (0, 7, 14, 21):
            byte = await self._read_byte()
            remaining |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
        else:
            raise MqttProtocolError("remaining length has more than four bytes")
        if remaining > self._limit:
            raise PacketTooLongError(f"packet of {remaining} bytes is over the limit of {self._limit}")
        return mqtt.parse_packet(first, await self._reader.readexactly(remaining))

    async def _read_byte(self) -> int:
        return (await self._reader.readexactly(1))[0]

    def write(self, data: bytes) -> None:
        """Queue bytes for sending; `drain` waits until there is room again."""
        self._writer.write(data)

    async def drain(self) -> None:
        """Wait until the device has accepted enough data. Raises `LinkClosedError` when it does not."""
        try:
            async with asyncio.timeout(MqttTimeouts.send) as patience:
                await self._writer.drain()
        except OSError as err:
            self.abort()
            stuck = patience.expired()
            raise LinkClosedError(
                "the device does not take what it is sent" if stuck else "the connection was lost"
            ) from err

    async def publish(self, payload: bytes) -> None:
        """Send a message to the device. Raises `LinkClosedError`."""
        if self._writer.is_closing():
            raise LinkClosedError("the connection is closed")
        self.write(mqtt.publish(self._topic, payload))
        await self.drain()

    def disconnect(self) -> None:
        """Make the reader of the connection close it."""
        self._writer.close()
        # A device that reads nothing would otherwise keep it open for its whole keep-alive time.
        self._reader.feed_eof()

    def abort(self) -> None:
        """Close the connection now."""
        self._writer.transport.abort()

    async def close(self) -> None:
        """Close the connection; queued bytes that cannot be sent soon are lost."""
        self._writer.close()
        try:
            async with asyncio.timeout(MqttTimeouts.close):
                await self._writer.wait_closed()
        except OSError:
            self.abort()
