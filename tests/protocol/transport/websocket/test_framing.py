"""Binary framing 1, 2 and 3."""

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.transport.websocket.audio_framing import (
    MAX_PACKET_BYTES,
    FramingError,
    framing_version,
    pack,
    unpack,
)


@pytest.mark.parametrize(
    ("version", "frame"),
    [
        (1, b"opus"),
        (2, bytes.fromhex("0002 0000 00000000 01020304 00000004") + b"opus"),
        (3, bytes.fromhex("00 00 0004") + b"opus"),
        (0, b"opus"),
        (4, b"opus"),
    ],
)
def test_each_version_has_the_layout_of_the_firmware(version: int, frame: bytes) -> None:
    """The bytes are those that the firmware reads and writes; unknown versions are like version 1."""
    assert pack(version, b"opus", timestamp_ms=0x01020304) == frame
    assert unpack(version, frame) == b"opus"


@given(
    version=st.integers(0, 5), packet=st.binary(max_size=MAX_PACKET_BYTES), timestamp=st.integers(0, 1 << 40)
)
def test_what_is_packed_can_be_unpacked(version: int, packet: bytes, timestamp: int) -> None:
    """Every packet within the limit survives both ways, and the time stamp wraps."""
    assert unpack(version, pack(version, packet, timestamp)) == packet


@given(version=st.integers(0, 4), frame=st.binary(max_size=64))
def test_any_frame_gives_a_packet_of_it_or_a_framing_error(version: int, frame: bytes) -> None:
    """Whatever the bytes are, nothing else is raised, and a packet is never longer than its frame."""
    try:
        packet = unpack(version, frame)
    except FramingError:
        assert version in {2, 3}
    else:
        assert frame.endswith(packet)


@pytest.mark.parametrize(
    ("version", "frame", "reason"),
    [
        (2, b"", "shorter than its header"),
        (2, bytes(15), "shorter than its header"),
        (3, bytes(3), "shorter than its header"),
        (2, bytes.fromhex("0003 0000 00000000 00000000 00000000"), "version 3"),
        (2, bytes.fromhex("0002 0001 00000000 00000000 00000002") + b"{}", "not audio"),
        (3, bytes.fromhex("01 00 0002") + b"{}", "not audio"),
        (2, bytes.fromhex("0002 0000 00000000 00000000 00000005") + b"opus", "announces 5 bytes and holds 4"),
        (2, bytes.fromhex("0002 0000 00000000 00000000 ffffffff") + b"opus", "announces 4294967295"),
        (3, bytes.fromhex("00 00 0003") + b"opus", "announces 3 bytes and holds 4"),
        (1, bytes(MAX_PACKET_BYTES + 1), "over the limit"),
        (2, pack(2, bytes(MAX_PACKET_BYTES))[:12] + (4001).to_bytes(4) + bytes(4001), "over the limit"),
        (3, bytes.fromhex("00 00 ffff") + bytes(0xFFFF), "over the limit"),
    ],
)
def test_a_bad_frame_says_what_is_wrong(version: int, frame: bytes, reason: str) -> None:
    """Sizes, versions and types that do not fit are named."""
    with pytest.raises(FramingError, match=reason):
        unpack(version, frame)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_oversized_packet_is_not_sent(version: int) -> None:
    """The device copies what it gets without asking how much it is."""
    with pytest.raises(FramingError, match="over the limit"):
        pack(version, bytes(MAX_PACKET_BYTES + 1))


@pytest.mark.parametrize(
    ("header", "version"),
    [("1", 1), ("2", 2), (" 3 ", 3), ("", 1), ("0", 1), ("4", 1), ("x", 1), ("٣", 1), ("9" * 9000, 1)],
)
def test_a_protocol_version_header_is_read_as_the_firmware_does(header: str, version: int) -> None:
    """Only 2 and 3 differ from 1."""
    assert framing_version(header) == version
