"""The device's readers of Ogg: `lax`, `old` and `strict`."""

from fractions import Fraction
import io

import av
from hypothesis import given, strategies as st
import pytest

from simulator import OggReader
from simulator.audio.ogg import OggDemuxer, OggError, OggPacket
from tests.simulator.fake_server import opus_packets
from tests.simulator.ogg_file import HEAD, TAGS, music, ogg, page

FIRST, LAST, CONTINUED = 2, 4, 1
PACKETS = opus_packets(25)
FILE = ogg(PACKETS)
NO_GRANULE = 2**64 - 1


def read(reader: OggReader, file: bytes, size: int = 1024) -> list[OggPacket]:
    """Read a file piece by piece. Raises `OggError`."""
    demuxer = OggDemuxer(reader)
    packets = [
        packet for start in range(0, len(file), size) for packet in demuxer.feed(file[start : start + size])
    ]
    demuxer.finish()
    return packets


def by_av() -> bytes:
    """Return a file that libav has written."""
    output = io.BytesIO()
    with av.open(output, "w", format="ogg", options={"page_duration": "200000"}) as container:
        stream = container.add_stream("libopus", rate=24000, layout="mono", options={"frame_duration": "60"})
        for number in range(20):
            frame = av.AudioFrame(format="s16", layout="mono", samples=1440)
            frame.sample_rate, frame.pts, frame.time_base = 24000, number * 1440, Fraction(1, 24000)
            frame.planes[0].update(bytes(2880))
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return output.getvalue()


@pytest.mark.parametrize("reader", OggReader)
@pytest.mark.parametrize("size", [1, 7, 255, 1024, 10**6])
def test_a_correct_file_is_read_whole_in_pieces_of_any_size(reader: OggReader, size: int) -> None:
    packets = read(reader, FILE, size)
    assert [packet.payload for packet in packets] == PACKETS
    assert {(packet.rate, packet.duration) for packet in packets} == {(24000, 60)}


@pytest.mark.parametrize("reader", OggReader)
def test_what_libav_writes_is_read(reader: OggReader) -> None:
    assert len(read(reader, by_av())) >= 20


@pytest.mark.parametrize("reader", OggReader)
@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (b"", "no audio packet"),
        (ogg([]), "no audio packet"),
        (FILE[:-1], "inside a page"),
        (FILE[:-400], "inside a page"),
        (FILE + b"x", "ends inside a page|belong to no page"),
        (FILE + b"no page follows here", "ends inside a page|belong to no page"),
        (ogg(PACKETS, head=HEAD[:18]), "head"),
        (ogg(PACKETS, head=HEAD[:9] + b"\x02" + HEAD[10:]), "2 channels|another form"),
        (ogg(PACKETS, head=b"Wrong..." + HEAD[8:]), "no audio packet|another form"),
        (ogg(PACKETS, tags=b"Wrong..." + TAGS[8:]), "no audio packet|no tags"),
        (ogg(PACKETS, tags=TAGS + bytes(2049 - len(TAGS))), "more than 2048 bytes"),
        (ogg([b"\x00\x01"]), None),
        (ogg([b"\x03"]), "no frame count"),
        (ogg([b"\x03\x00"]), "a packet of 0 ms"),
        (ogg([bytes((16 << 3,)) + bytes(20)]), "a packet of 2.5 ms"),
        (ogg([bytes((3 << 3 | 3, 3)) + bytes(30)]), "a packet of 180 ms"),
        (ogg(PACKETS[:10]) + ogg(PACKETS[:10]), "a packet of 960 ms|after the end"),
        (FILE[: -len(FILE) // 2] + page(PACKETS[:1], version=1), "version 1|inside|belong to no page"),
    ],
)
def test_a_wrong_file_is_refused(reader: OggReader, file: bytes, reason: str | None) -> None:
    if reason is None:
        assert len(read(reader, file)) == 1
        return
    with pytest.raises(OggError, match=reason):
        read(reader, file)


@pytest.mark.parametrize(("given_rate", "rate"), [(8000, 8000), (16000, 16000), (44100, 48000), (0, 48000)])
@pytest.mark.parametrize("reader", OggReader)
def test_the_input_rate_is_the_rate_of_decoding_if_opus_knows_it(
    reader: OggReader, given_rate: int, rate: int
) -> None:
    head = HEAD[:12] + given_rate.to_bytes(4, "little") + HEAD[16:]
    assert {packet.rate for packet in read(reader, ogg(PACKETS, head=head))} == {rate}


@pytest.mark.parametrize("reader", OggReader)
def test_a_comment_may_fill_2048_bytes_and_run_over_pages(reader: OggReader) -> None:
    tags = TAGS + bytes(2048 - len(TAGS))
    pages = [
        page([HEAD], flags=FIRST),
        page([tags[:1275]], sequence=1, lacing=b"\xff" * 5, granule=NO_GRANULE),
        page([tags[1275:]], flags=CONTINUED, sequence=2),
        page(PACKETS[:5], flags=LAST, sequence=3, granule=5 * 2880),
    ]
    assert len(read(reader, b"".join(pages))) == 5


@pytest.mark.parametrize("reader", OggReader)
def test_a_packet_may_run_over_pages(reader: OggReader) -> None:
    long = PACKETS[0][:2] + bytes(598)
    pages = [
        page([HEAD], flags=FIRST),
        page([TAGS], sequence=1),
        page([PACKETS[1], long[:510]], sequence=2, granule=2880, lacing=bytes((len(PACKETS[1]), 255, 255))),
        page([long[510:], PACKETS[2]], flags=CONTINUED | LAST, sequence=3, granule=3 * 2880),
    ]
    payloads = [packet.payload for packet in read(reader, b"".join(pages))]
    assert payloads == [PACKETS[1], long, PACKETS[2]]


@pytest.mark.parametrize("size", [255, 510])
def test_the_old_reader_never_ends_a_last_packet_of_a_multiple_of_255_bytes(size: int) -> None:
    last = PACKETS[0][:2] + bytes(size - 2)
    file = ogg([*PACKETS[:3], last])
    for reader in (OggReader.LAX, OggReader.STRICT):
        assert read(reader, file)[-1].payload == last
    with pytest.raises(OggError, match="inside a page or packet"):
        read(OggReader.OLD, file)
    assert len(read(OggReader.OLD, ogg([*PACKETS[:3], last, PACKETS[4]]))) == 5


# What only the strict reader looks at


def broken(number: int, **fields: int) -> bytes:
    """Return a file whose page of that number has other fields than it should."""
    right: list[dict[str, int]] = [
        {"flags": FIRST},
        {"sequence": 1},
        {"sequence": 2, "granule": 28800},
        {"sequence": 3, "granule": 57600, "flags": LAST},
    ]
    contents = [[HEAD], [TAGS], PACKETS[:10], PACKETS[10:20]]
    return b"".join(
        page(content, **(given | (fields if place == number else {})))
        for place, (content, given) in enumerate(zip(contents, right, strict=True))
    )


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (b"junk" + FILE, "belong to no page"),
        (broken(2, crc=5), "check sum"),
        (broken(2, serial=8), "serial number"),
        (broken(2, sequence=3), "page 3 where 2 is due"),
        (broken(0, flags=0), "without its first page"),
        (broken(2, flags=FIRST), "another stream"),
        (broken(2, flags=CONTINUED), "continued"),
        (broken(2, flags=LAST), "after the end"),
        (broken(3, flags=0), "no last page"),
        (broken(0, granule=1), "head or tags"),
        (broken(1, granule=1), "head or tags"),
        (broken(2, granule=28799), "position 28799"),
        (broken(2, granule=NO_GRANULE), "position"),
        (broken(3, granule=57601), "position 57601"),
        (broken(3, granule=28799), "position 28799"),
        (broken(3, granule=57600, flags=0), "no last page"),
        (
            page([HEAD, TAGS], flags=FIRST) + page(PACKETS[:2], flags=LAST, sequence=1, granule=5760),
            "head or tags share a page",
        ),
    ],
)
def test_the_strict_reader_refuses_what_the_lax_one_does_not_look_at(file: bytes, reason: str) -> None:
    assert read(OggReader.LAX, file)
    with pytest.raises(OggError, match=reason):
        read(OggReader.STRICT, file)


@pytest.mark.parametrize(
    "tags", [TAGS[:12], TAGS[:-4] + b"\x01\0\0\0", TAGS[:8] + b"\xff\xff\xff\xff" + TAGS[12:]]
)
def test_the_strict_reader_looks_into_the_tags(tags: bytes) -> None:
    with pytest.raises(OggError, match="cut off"):
        read(OggReader.STRICT, ogg(PACKETS, tags=tags))


def test_the_strict_reader_refuses_packets_that_the_decoder_does_not_know() -> None:
    thirty = bytes((8 << 3 | 3, 3)) + bytes(30)
    with pytest.raises(OggError, match="a packet of 30 ms"):
        read(OggReader.STRICT, ogg([thirty]))
    assert read(OggReader.LAX, ogg([thirty]))


def test_the_strict_reader_accepts_a_last_page_that_trims_the_end() -> None:
    assert len(read(OggReader.STRICT, broken(3, granule=57000))) == 20


def test_the_strict_reader_plays_nothing_of_a_page_that_is_not_whole() -> None:
    demuxer = OggDemuxer(OggReader.STRICT)
    file = broken(3)
    assert len(list(demuxer.feed(file[:-1]))) == 10
    assert len(list(demuxer.feed(file[-1:]))) == 10


@given(data=st.binary(max_size=300), place=st.integers(0, len(FILE)), reader=st.sampled_from(OggReader))
def test_nothing_but_a_refusal_comes_of_a_damaged_file(data: bytes, place: int, reader: OggReader) -> None:
    try:
        packets = read(reader, FILE[:place] + data + FILE[place + len(data) :])
    except OggError:
        return
    assert packets


def test_the_test_files_are_like_those_of_libav() -> None:
    with av.open(io.BytesIO(music(10))) as container:
        assert sum(frame.samples for frame in container.decode(audio=0)) == 10 * 2880 - 312
