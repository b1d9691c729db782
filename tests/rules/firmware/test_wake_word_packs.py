"""Wake words: which a device may be given, and the pack with them; what is not known to fit is refused."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from hashlib import sha256
import io
from pathlib import Path
from typing import Any

from PIL import Image, ImageSequence
import pytest

from custom_components.xiaozhi.guests.firmware.firmware_image import FirmwareError
from custom_components.xiaozhi.guests.wake_words.assets_pack import (
    Asset,
    read_models,
    read_pack,
    write_pack,
)
from custom_components.xiaozhi.guests.wake_words.speech_models import FIXED_WORDS, TABLE
from custom_components.xiaozhi.guests.wake_words.wake_word_packs import (
    ORIGINAL,
    Board,
    Choice,
    Phrase,
    build_pack,
)
from custom_components.xiaozhi.protocol.checkin import Partition
from custom_components.xiaozhi.protocol.firmware_version import FirmwareVersion
from tests.rules.firmware.firmware_files import FONT, OLD_WORD, base_pack

S3 = Board(
    name="esp-box-3",
    chip="esp32s3",
    firmware=FirmwareVersion(2, 4, 2),
    memory=8_000_000,
    partition=Partition(0x800000, 0x800000),
)
C3 = replace(S3, name="xmini-c3", chip="esp32c3", memory=100_000, partition=Partition(0x800000, 4000 * 1024))
SMALL = replace(S3, partition=Partition(1, len(base_pack()) - 1))
ENGLISH = Phrase("hello kitchen", "HELLO KITCHEN", "en")
CHINESE = Phrase("你好管家", "ni hao guan jia", "cn")
MODELS = {
    "fst": {"commands_cn.txt": b"1,a\n", "commands_en.txt": b"1,A\n"},
    "mn6_cn": {
        "mn6_data": b"cn",
        "vocab": "<blk>\t0\n▁ni\t-6.0\n▁hao\t-6.0\n▁guan\t-6.0\n▁jia\t-6.0\n".encode(),
    },
    "mn6_en": {"mn6_data": b"en", "vocab": b"<blk>\t0\n"},
    "wn9_jarvis_tts": {"_MODEL_INFO_": b"wakenet9l_tts1h8_Jarvis_3_0.627_0.632", "wn9_data": b"j"},
    "wn9s_hiesp": {"wn9_data": b"s"},
}


def chosen(*ids: str, board: Board = S3, phrases: tuple[Phrase, ...] = (ENGLISH, CHINESE)) -> Choice | None:
    return Choice.of(ids, phrases, 0.2, board)


def built(pack: bytes, choice: Choice | None, board: Board = S3, faces: Path = Path("nowhere")) -> bytes:
    return build_pack(pack, choice, MODELS, board, faces)[0]


@cache
def picture(kind: str, *colours: str, size: tuple[int, int] = (64, 64)) -> bytes:
    """Return a picture with a frame of each colour."""
    frames = [Image.new("RGBA", size, colour) for colour in colours]
    target = io.BytesIO()
    frames[0].save(target, kind, save_all=kind == "GIF", append_images=frames[1:], duration=200)
    return target.getvalue()


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("hello kitchen", ENGLISH),
        ("你好管家 = ni hao guan jia", CHINESE),
        ("你好管家=ni hao guan jia", CHINESE),
        *((text, CHINESE) for text in ("你好管家＝ni hao guan jia", " 你好管家 =  Ni Hao  guan jia ")),
        ("你好管家 = nǐ hǎo guǎn jiā", CHINESE),
        *((f"女王 = {nu} wang", Phrase("女王", "nv wang", "cn")) for nu in ("nü", "nv", "NÜ", "nǚ", "nu:")),
        ("hello  kitchen ", ENGLISH),
        ("ｈｅｌｌｏ kitchen", ENGLISH),
        *((text, None) for text in ("", "hello 2", "你好管家", "a" * 17, "x " * 10)),
        *((text, None) for text in ("你好管家 = nihaoguanjia", "ni hao = 你好", "hey Müller")),
        *((text, ENGLISH) for text in ("hello-kitchen", "“hello kitchen”", "hello, kitchen!")),
        *(
            (f"你好管家{written}", CHINESE)
            for written in ("(ni hao guan jia)", "：ni-hao-guan-jia", " ni3 hao3 guan3 jia1")
        ),
        ('你"好，管家\0 = ni hao guan jia', CHINESE),
    ],
)
def test_a_phrase_is_english_or_chinese_with_its_pinyin(text: str, phrase: Phrase | None) -> None:
    assert Phrase.parse(text) == phrase


@pytest.mark.parametrize(
    ("board", "fixed", "phrases"),
    [
        (S3, "wn9_", True),
        (replace(S3, firmware=FirmwareVersion(2, 0, 2)), "wn9_", True),
        (replace(S3, firmware=FirmwareVersion(2, 5, 9)), "wn9_", True),
        (replace(S3, memory=5_500_000), "wn9_", False),
        (replace(S3, memory=None), "wn9_", False),
        (replace(S3, chip="esp32p4"), "wn9_", False),
        (C3, "wn9s_", False),
        (replace(C3, chip="esp32c5"), "wn9s_", False),
        (replace(C3, chip="esp32c6"), "wn9s_", False),
        (replace(S3, chip="esp32"), None, False),
        (replace(S3, chip=None), None, False),
        (replace(S3, firmware=FirmwareVersion(2, 0, 1)), None, False),
        (replace(S3, firmware=FirmwareVersion(1, 9, 4)), None, False),
        (replace(S3, firmware=FirmwareVersion(2, 6, 0)), None, False),
        (replace(S3, firmware=None), None, False),
        (replace(S3, partition=None), None, False),
        (replace(S3, name=None), None, False),
        *(
            (replace(S3, name=name), None, False)
            for name in ("esp-vocat", "echoear", "esp-sensairshuttle", "x-emote")
        ),
    ],
)
def test_what_a_board_can_have(board: Board, fixed: str | None, phrases: bool) -> None:
    """Why not is told in a form, which shows Markdown."""
    assert (board.objection is None) == (fixed is not None)
    assert (board.objection_to_phrases is None) == phrases
    assert {model.partition("_")[0] + "_" for model in board.fixed_words} == ({fixed} if fixed else set())
    assert set(board.fixed_words) <= set(FIXED_WORDS)
    objection = replace(board, name="![](//a)", chip="[a](//a)").objection
    assert objection is not None
    assert {*objection.placeholders.values()} == {"?", str(board.firmware or "?")}


def test_the_table_of_models_is_complete() -> None:
    """Each file has its size and hash, and each model the files that the firmware's library opens."""
    table = TABLE["models"]
    for model, entry in table.items():
        files = entry["files"]
        assert all(size > 0 and len(bytes.fromhex(digest)) == 32 for size, digest in files.values())
        kind = model.partition("_")[0].rstrip("s")
        wanted = {"wn9": {"_MODEL_INFO_", "wn9_data", "wn9_index"}}
        wanted["mn6"] = {"_MODEL_INFO_", "mn6_data", "mn6_index", "vocab"}
        assert set(files) == wanted.get(kind, {"commands_cn.txt", "commands_en.txt"})
    by_family = [(model.partition("_")[0], word) for model, (word, _) in FIXED_WORDS.items()]
    assert len(set(by_family)) == len(by_family)


@pytest.mark.parametrize(
    ("chosen_id", "digest"),
    [
        (ORIGINAL, "d13e71a6eba3123c800eff20dc6bd223c418d5b1b546d4955d3ba5c2c7c940f6"),
        ("wn9_jarvis_tts", "5ae13354a6fed1d87c5c59f3907cada3a8daad332cdafeee0d8c6991273d3ff1"),
        (ENGLISH.text, "0484867d04d7f9719f86bdb3ffdf00d121a3d926e0f8d88487cad146aba41daf"),
        (CHINESE.text, "782dc041303e3ad852adc9cd0c2cf08f37f5ded5ae04f56c528060bd3e82aaa3"),
    ],
)
def test_packs_are_those_that_the_script_of_the_firmware_makes(chosen_id: str, digest: str) -> None:
    """Of the same parts: `build_default_assets.py` of 2.4.2 (3dea6e7f), its files and models in order."""
    pack = built(base_pack() + b"\xff" * 4096, chosen(chosen_id))
    assert sha256(pack).hexdigest() == digest


def test_what_woke_a_device_before_leaves_nothing_and_other_models_stay() -> None:
    with_phrases = built(base_pack(), chosen(ENGLISH.text))
    assert built(with_phrases, chosen("wn9_jarvis_tts")) == built(base_pack(), chosen("wn9_jarvis_tts"))
    pack = built(base_pack({"vadnet1_medium": {"vadn1_data": b"v"}, **OLD_WORD}), chosen("wn9_jarvis_tts"))
    assert [*read_models(read_pack(pack)["srmodels.bin"].content)] == ["vadnet1_medium", "wn9_jarvis_tts"]


@pytest.mark.parametrize(
    ("ids", "board", "key"),
    [
        ((), S3, "wake_words_mixed"),
        (("wn9_jarvis_tts", "hello kitchen"), S3, "wake_words_mixed"),
        (("wn9_jarvis_tts", "wn9_alexa"), S3, "wake_words_mixed"),
        (("hello kitchen", "你好管家"), S3, "wake_words_mixed"),
        (("wn9_unknown",), S3, "wake_words_mixed"),
        (("wn9s_hiesp",), S3, "wake_words_mixed"),
        (("wn9_jarvis_tts",), C3, "wake_words_mixed"),
        (("hello kitchen",), C3, "phrases_need_chip"),
        (("hello kitchen",), replace(S3, memory=4_000_000), "phrases_need_memory"),
        (("hello kitchen",), replace(S3, memory=None), "phrases_memory_unknown"),
        ((ORIGINAL,), replace(S3, partition=None), "wake_words_unknown_board"),
    ],
)
def test_a_choice_that_does_not_fit_is_refused(ids: tuple[str, ...], board: Board, key: str) -> None:
    with pytest.raises(FirmwareError) as refused:
        chosen(*ids, board=board)
    assert refused.value.key == key


@pytest.mark.parametrize(
    ("pack", "choice", "board", "key"),
    [
        (b"", "wn9_jarvis_tts", S3, "pack_damaged"),
        (base_pack()[:-1], ORIGINAL, S3, "pack_damaged"),
        (base_pack(more={"version": 2}), ORIGINAL, S3, "pack_damaged"),
        (base_pack(more={"srmodels": "other.bin"}), ORIGINAL, S3, "pack_damaged"),
        (base_pack(more={"srmodels": []}), ORIGINAL, S3, "pack_damaged"),
        (base_pack(more={"srmodels": FONT}), ORIGINAL, S3, "pack_damaged"),
        (write_pack({"font.bin": Asset(b"")}), ORIGINAL, S3, "pack_damaged"),
        (write_pack({"index.json": Asset(b"[]")}), ORIGINAL, S3, "pack_damaged"),
        (write_pack({"index.json": Asset(b"{" * 99)}), ORIGINAL, S3, "pack_damaged"),
        (base_pack({}), "wn9_jarvis_tts", S3, "pack_without_words"),
        (base_pack({"wn9s_hiesp": {}}), "wn9_jarvis_tts", S3, "pack_without_words"),
        (base_pack(), "wn9s_hiesp", C3, "pack_without_words"),
        (base_pack(**{"happy.eaf": Asset(b"")}), "wn9_jarvis_tts", S3, "pack_without_words"),
        (
            base_pack(),
            "wn9_jarvis_tts",
            replace(S3, partition=Partition(1, len(base_pack()) - 1)),
            "pack_too_large",
        ),
        (base_pack(), ORIGINAL, SMALL, "pack_too_large"),
        (base_pack(), "你好厨房", S3, "phrase_syllable"),
    ],
)
def test_a_pack_that_does_not_fit_is_refused(pack: bytes, choice: str, board: Board, key: str) -> None:
    unknown = Phrase("你好厨房", "ni hao chu fang", "cn")
    with pytest.raises(FirmwareError) as refused:
        built(pack, chosen(choice, board=board, phrases=(unknown,)), board)
    assert refused.value.key == key


FACES = {
    "happy.png": Asset(picture("PNG", "red")),
    "sad.gif": Asset(picture("GIF", "red", "green")),
    "winking.png": Asset(picture("PNG", "red")),
}
NAMED = {"emoji_collection": [{"name": name.partition(".")[0], "file": name} for name in FACES]}


def test_the_owners_faces_take_the_place_of_those_of_a_pack(tmp_path: Path) -> None:
    """In their size and kind, and moving where they move; the others stay, and what is none is left out."""
    before = base_pack(more=NAMED, **FACES)
    (tmp_path / "happy.gif").write_bytes(picture("GIF", "blue", "white", size=(600, 300)))
    (tmp_path / "sad.GIF").write_bytes(picture("GIF", "blue", "white", "black", size=(32, 32)))
    for name in ("angry.png", "README.txt", "wn9.bin", "index.png"):
        (tmp_path / name).write_bytes(b"?")
    assets = read_pack(built(before, None, faces=tmp_path))
    old = read_pack(before)
    assert [*assets] == [*old]
    assert {name for name in old if assets[name] != old[name]} == {"happy.png", "sad.gif"}
    happy, sad = (Image.open(io.BytesIO(assets[name].content)) for name in ("happy.png", "sad.gif"))
    assert (happy.format, happy.size, happy.mode) == ("PNG", (64, 64), "RGBA")
    # It keeps its proportions.
    assert (happy.getpixel((32, 32)), happy.getpixel((32, 1))) == ((0, 0, 255, 255), (0, 0, 0, 0))
    assert (sad.format, sad.size) == ("GIF", (64, 64))
    frames = [
        (frame.convert("RGB").getpixel((9, 9)), frame.info["duration"])
        for frame in ImageSequence.Iterator(sad)
    ]
    assert frames == [((0, 0, 255), 200), ((255, 255, 255), 200), ((0, 0, 0), 200)]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GIF89a",
        FACES["happy.png"].content[:-60],
        picture("PNG", "blue").ljust(1024 * 1024 + 1, b"\0"),
        lambda: picture("PNG", "blue", size=(5000, 5000)),
        lambda: picture("GIF", *["blue", "red"] * 11, size=(1000, 1000)),
        lambda: picture("JPEG2000", "blue"),
    ],
    ids=["empty", "cut off", "damaged", "bytes", "pixels", "frames", "kind"],
)
@pytest.mark.parametrize("face", ["happy.png", "sad.gif"])
def test_a_picture_that_cannot_be_a_face_is_refused(
    tmp_path: Path, face: str, content: bytes | Callable[[], bytes]
) -> None:
    (tmp_path / face).write_bytes(content if isinstance(content, bytes) else content())
    with pytest.raises(FirmwareError) as refused:
        built(base_pack(more=NAMED, **FACES), None, faces=tmp_path)
    assert (refused.value.key, refused.value.placeholders) == (
        "face_unusable",
        {"file": f"xiaozhi/faces/{face}"},
    )


@pytest.mark.parametrize(
    ("index", "font"),
    [
        ({}, "noto-v1 common"),
        ({"text_font_meta": {"charset": 7}}, "font_noto_sans_common_20_4"),
        ({"text_font": None, "text_font_meta": []}, None),
    ],
)
def test_the_font_of_a_pack_is_named(index: dict[str, Any], font: str | None) -> None:
    assert build_pack(base_pack(more=index), None, {}, S3, Path("nowhere"))[1] == font
