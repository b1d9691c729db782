"""The flash storage, and how cJSON reads what is stored in it."""

from hypothesis import given, strategies as st
import pytest

from simulator import DeviceCrashed, Nvs, Pace
from simulator.board.cjson import find, int_value, is_number, loads_object
from simulator.board.crash import stoi
from simulator.board.recorder import Recorder
from simulator.link.binary_protocol import pack, unpack


def test_a_merge_keeps_what_is_not_mentioned() -> None:
    nvs = Nvs()
    nvs.merge("websocket", {"url": "a", "token": "secret", "version": 3})
    nvs.merge("websocket", {"url": "b"})
    assert nvs.get_string("websocket", "url") == "b"
    assert nvs.get_string("websocket", "token") == "secret"
    assert nvs.get_int("websocket", "version") == 3
    nvs.merge("websocket", {"token": ""})
    assert nvs.get_string("websocket", "token", "default") == ""


def test_strings_and_numbers_are_not_found_by_the_reader_of_the_other() -> None:
    nvs = Nvs()
    nvs.merge("websocket", {"version": "3", "url": 5})
    assert nvs.get_int("websocket", "version", 1) == 1
    assert nvs.get_string("websocket", "url", "none") == "none"


def test_only_strings_and_numbers_are_stored_and_fractions_are_cut() -> None:
    nvs = Nvs()
    nvs.merge("mqtt", {"a": True, "b": None, "c": [1], "d": {"e": 1}, "keepalive": 59.9, "big": 1e12})
    assert nvs.dump().count(":") == 3
    assert nvs.get_int("mqtt", "keepalive") == 59
    assert nvs.get_int("mqtt", "big") == 2**31 - 1


@pytest.mark.parametrize(
    "section", [{"sixteen_letters_": "x"}, {"url": "x" * 4001}, {"url": "ä" * 2001}, {"schlüsselwörter": 1}]
)
def test_too_long_names_and_strings_crash(section: dict[str, object]) -> None:
    with pytest.raises(DeviceCrashed, match="longer"):
        Nvs().merge("websocket", section)


def test_names_and_strings_at_the_limit_do_not_crash() -> None:
    nvs = Nvs()
    nvs.merge("mqtt", {"subscribe_topic": "x", "username": "x" * 4000})
    assert nvs.get_string("mqtt", "subscribe_topic") == "x"


def test_the_flash_survives_as_json_and_an_erase_does_not() -> None:
    nvs = Nvs()
    nvs.merge("mqtt", {"endpoint": "host:1884"})
    assert Nvs.load(nvs.dump()).get_string("mqtt", "endpoint") == "host:1884"
    nvs.erase()
    assert nvs.dump() == "{}"


@pytest.mark.parametrize("text", ["[]", '{"mqtt":5}', "nothing"])
def test_what_is_no_flash_is_not_loaded(text: str) -> None:
    with pytest.raises(ValueError, match=r"settings|Expecting"):
        Nvs.load(text)


@pytest.mark.parametrize(("text", "number"), [("8123/path", 8123), (" 7", 7), ("-1x", -1), ("+5", 5)])
def test_stoi_reads_the_number_at_the_start(text: str, number: int) -> None:
    assert stoi(text) == number


def test_members_are_found_in_any_case_the_first_one_wins() -> None:
    assert find({"URL": 1, "url": 2}, "url") == 1
    assert find({"a": 1}, "b") is None
    assert find([1], "a") is None


@pytest.mark.parametrize("text", ["", "[]", "5", "{", "NaN", '{"a":Infinity}', "[" * 100_000])
def test_what_is_no_object_is_nothing(text: str) -> None:
    assert loads_object(text) is None


@given(st.floats(allow_nan=False) | st.integers())
def test_every_number_becomes_a_32_bit_integer(value: float) -> None:
    assert is_number(value)
    assert -(2**31) <= int_value(value) < 2**31


@given(st.sampled_from([1, 2, 3, 4]), st.binary(max_size=300), st.integers(0, 2**32 - 1))
def test_what_is_framed_is_unframed(version: int, packet: bytes, timestamp: int) -> None:
    assert unpack(version, pack(version, packet, timestamp)) == packet


@given(st.sampled_from([2, 3]), st.binary(max_size=40))
def test_a_frame_is_either_read_within_its_bounds_or_a_crash(version: int, frame: bytes) -> None:
    header, size = {2: (16, frame[12:16]), 3: (4, frame[2:4])}[version]
    if len(frame) >= header and header + int.from_bytes(size) <= len(frame):
        assert unpack(version, frame) == frame[header : header + int.from_bytes(size)]
    else:
        with pytest.raises(DeviceCrashed):
            unpack(version, frame)


def test_the_timestamp_is_in_milliseconds_at_offset_8() -> None:
    assert pack(2, b"ab", 0x01020304) == bytes.fromhex("0002 0000 00000000 01020304 00000002") + b"ab"
    assert pack(3, b"ab") == bytes.fromhex("00 00 0002") + b"ab"


async def test_a_wait_ends_with_its_time_and_a_listener_hears_every_event() -> None:
    recorder, heard = Recorder(), list[str]()
    recorder.listeners.append(lambda event: heard.append(event.kind))
    with pytest.raises(TimeoutError):
        await recorder.wait_for(lambda: False, 0.001)
    recorder.add("state", state="idle")
    assert heard == ["state"]
    assert recorder.of("state") == [{"state": "idle"}]


async def test_a_pace_scales_waits_and_time_outs() -> None:
    pace = Pace(waits=0.0001, timeouts=0.0001)
    await pace.wait(10)
    with pytest.raises(TimeoutError):
        async with pace.timeout(1):
            await pace.wait(100_000)
