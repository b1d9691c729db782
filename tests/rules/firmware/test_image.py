"""Firmware files: which are taken, what is read from them, and why others are refused."""

from contextlib import suppress
import hashlib
import random
import zipfile

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.guests.firmware.firmware_image import FirmwareError, read_firmware
from custom_components.xiaozhi.protocol.firmware_version import FirmwareVersion, is_version
from simulator.firmware.image import CHIP_IDS, build_image, judge_image
from tests.rules.firmware.firmware_files import FIRMWARE_OFFSET, TABLE_OFFSET, archive, flash

_IMAGE = build_image(version="2.4.2", size=64 * 1024)
_CHIP_OFFSET = 12
_SEGMENTS_OFFSET = 1
_HASHED_OFFSET = 23
_FIRST_SIZE_OFFSET = 28


def changed(data: bytes, position: int) -> bytes:
    """Return data with another byte at a position."""
    return data[:position] + bytes([data[position] ^ 0xFF]) + data[position + 1 :]


def repaired(image: bytes) -> bytes:
    """Return a changed image with the right hash."""
    return image[:-32] + hashlib.sha256(image[:-32]).digest()


@pytest.mark.parametrize("chip", CHIP_IDS)
def test_version_and_chip_are_what_the_file_says(chip: str) -> None:
    image = read_firmware(build_image(version="2.5.0-beta", chip=chip))
    assert (image.version, image.chip) == ("2.5.0-beta", chip)


@pytest.mark.parametrize("size", range(512, 512 + 16, 4))
def test_padding_of_every_length_is_passed_over(size: int) -> None:
    data = build_image(version="2.4.2", size=size)
    assert read_firmware(data).content == data


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(_IMAGE + b"\xff" * 100, id="firmware and more"),
        pytest.param(flash(_IMAGE), id="whole flash"),
        pytest.param(flash(_IMAGE, loader=b"\xff"), id="whole flash of a chip whose loader comes later"),
        pytest.param(archive(xiaozhi__bin=_IMAGE), id="archive"),
        pytest.param(archive(**{"merged-binary__bin": flash(_IMAGE), "readme__txt": b"?"}), id="release"),
    ],
)
def test_the_firmware_is_found_in_what_people_have(data: bytes) -> None:
    image = read_firmware(data)
    assert image.content == _IMAGE
    assert judge_image(image.content, chip="esp32s3", revision=1).version == image.version


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "firmware_not_esp32"),
        (flash(b"\xe9nothing"), "firmware_not_esp32"),
        (flash(_IMAGE)[:TABLE_OFFSET], "firmware_not_esp32"),
        (flash(_IMAGE)[: FIRMWARE_OFFSET + 1000], "firmware_cut_off"),
        (_IMAGE[:-40], "firmware_cut_off"),
        (_IMAGE[:-1], "firmware_wrong_hash"),
        (changed(_IMAGE, 300), "firmware_wrong_hash"),
        (_IMAGE[:_HASHED_OFFSET] + b"\0" + _IMAGE[_HASHED_OFFSET + 1 :], "firmware_damaged"),
        (_IMAGE[:_SEGMENTS_OFFSET] + b"\0" + _IMAGE[_SEGMENTS_OFFSET + 1 :], "firmware_damaged"),
        (_IMAGE[:_SEGMENTS_OFFSET] + b"\x11" + _IMAGE[_SEGMENTS_OFFSET + 1 :], "firmware_damaged"),
        (_IMAGE[:_FIRST_SIZE_OFFSET] + b"\xff" * 4 + _IMAGE[_FIRST_SIZE_OFFSET + 4 :], "firmware_cut_off"),
        (
            repaired(_IMAGE[:_CHIP_OFFSET] + b"\x63\0" + _IMAGE[_CHIP_OFFSET + 2 :]),
            "firmware_unknown_chip 99",
        ),
        (build_image(version="v2.4.2"), "firmware_bad_version"),
        (build_image(version="2.4.99999999999"), "firmware_bad_version"),
        (build_image(version="2.4.2", project="esphome"), "firmware_of_something_else esphome"),
        (archive(readme__txt=b"?"), "firmware_archive_not_one 0"),
        (
            archive(xiaozhi__bin=_IMAGE, **dict.fromkeys(map(str, range(1000)), b"")),
            "firmware_archive_crowded",
        ),
        (archive(one__bin=_IMAGE, two__bin=_IMAGE), "firmware_archive_not_one 2"),
        (archive(xiaozhi__bin=_IMAGE)[:5000], "firmware_archive_damaged"),
        (changed(archive(xiaozhi__bin=_IMAGE), 5000), "firmware_archive_damaged"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_good_firmware_is_refused_with_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(FirmwareError) as refused:
        read_firmware(data)
    assert " ".join((refused.value.key, *refused.value.placeholders.values())).startswith(reason)


@given(st.integers(0, len(_IMAGE) - 1), st.integers(1, 255))
def test_no_damage_goes_unnoticed(position: int, change: int) -> None:
    data = bytearray(_IMAGE)
    data[position] ^= change
    with pytest.raises(FirmwareError):
        read_firmware(bytes(data))


@pytest.mark.parametrize(
    "method",
    [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, zipfile.ZIP_ZSTANDARD],
)
def test_a_damaged_archive_is_refused_whatever_its_decompressor_says(method: int) -> None:
    """The whole flash is compressed well, so that much of what can be damaged is not merely content."""
    whole = archive(method, **{"merged-binary__bin": flash(build_image(version="2.4.2"))})
    assert read_firmware(whole).version == "2.4.2"
    noise = random.Random(7)
    for _ in range(200):
        data = bytearray(whole)
        for _ in range(noise.randint(1, 4)):
            data[noise.randrange(4, len(data))] = noise.randrange(256)
        with suppress(FirmwareError):
            assert read_firmware(bytes(data)).version == "2.4.2"


@given(st.binary(max_size=300), st.integers(0, 300))
def test_noise_is_refused_or_is_what_a_device_would_take(noise: bytes, position: int) -> None:
    data = _IMAGE[:position] + noise + _IMAGE[position + len(noise) :]
    try:
        image = read_firmware(data)
    except FirmwareError:
        return
    assert judge_image(image.content, chip=image.chip, revision=1).version == image.version


@given(st.text(alphabet="0123456789.-abv", max_size=16))
def test_every_version_that_is_offered_is_one_that_a_device_survives(text: str) -> None:
    """As the firmware reads it: a whole number of 32 bits at the start of each part."""
    if is_version(text):
        for part in text.split("."):
            digits = part.split("-")[0]
            assert digits.isdigit()
            assert int(digits) < 1 << 31


@pytest.mark.parametrize(
    ("old", "new", "possible"),
    [
        ("1.9.4", "2.0.0", False),
        ("2.4.2", "1.9.4", False),
        ("1.8.0", "1.9.4", True),
        ("2.0.0", "2.4.2", True),
    ],
)
def test_between_layouts_of_the_flash_there_is_no_way_over_the_air(
    old: str, new: str, possible: bool
) -> None:
    before, after = FirmwareVersion.parse(old), FirmwareVersion.parse(new)
    assert before is not None
    assert after is not None
    assert before.can_become(after) is possible
