"""Sentences for Home Assistant's own assistant, which hands what it finds in them to an intent."""

from typing import Any, Final

from homeassistant.util.yaml import dump

from .language import Language

ALARM_SENTENCE: Final = "XiaozhiAlarm"
"""The intent of all sentences, with slots: the action, and in `a`, `b` and `d` what was said."""


def sentences(language: Language, code: str) -> str:
    """Return the content of a file of custom sentences, by Home Assistant's code of the language."""
    words, days = "xiaozhi_words", "xiaozhi_days"
    lists = {"a": words, "b": words, "d": days}

    def template(sentence: str) -> str:
        for slot, name in lists.items():
            sentence = sentence.replace(f"{{{slot}}}", f"{{{name}:{slot}}}")
        return sentence

    data: dict[str, Any] = {
        "language": code,
        "intents": {
            ALARM_SENTENCE: {
                "data": [
                    {"sentences": [template(each) for each in listed], "slots": {"action": action}}
                    for action, listed in language.sentences.items()
                ]
            }
        },
        "lists": {
            words: {"wildcard": True},
            days: {"values": [{"in": day, "out": day} for day in language.days]},
        },
    }
    return dump(data)
