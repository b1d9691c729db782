"""The translation for the language of a voice assistant."""

import pytest

from custom_components.xiaozhi.texts.translated import language_of_texts


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("de", "de"),
        ("de-CH", "de"),
        ("de_AT", "de"),
        ("DE", "de"),
        ("en-GB", "en"),
        ("pt", "pt-BR"),
        ("pt-PT", "pt-BR"),
        ("pt-br", "pt-BR"),
        ("zh", "zh-Hans"),
        ("zh-CN", "zh-Hans"),
        ("zh-cmn-Hans-CN", "zh-Hans"),
        ("zh-Hans-HK", "zh-Hans"),
        ("cmn-CN", "zh-Hans"),
        ("zh-TW", "zh-Hant"),
        ("zh-HK", "zh-Hant"),
        ("zh_hant", "zh-Hant"),
        ("yue", "zh-Hant"),
        ("ko-KR", "ko"),
        ("kok", "en"),
        ("nb", "en"),
        ("", "en"),
        ("../de", "en"),
    ],
)
def test_a_language_of_an_assistant_is_found_among_the_translations(language: str, expected: str) -> None:
    assert language_of_texts(language) == expected
