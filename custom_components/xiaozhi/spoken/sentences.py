"""Sentences for Home Assistant's own assistant, which passes their words to an intent."""

from typing import Any, Final

from homeassistant.util.yaml import dump

from .language import Language

ALARM_SENTENCE: Final = "XiaozhiAlarm"
"""The intent of all sentences, with the slot `action`."""
WORDS: Final = ("a", "b", "d", "ending")
"""Its slots with spoken words, in this order, and the ending of a text."""


def sentences(language: Language, code: str) -> str:
    """Return the content of a file of custom sentences, by Home Assistant's code of the language."""
    words, days = "xiaozhi_words", "xiaozhi_days"

    def template(sentence: str) -> str:
        for slot in WORDS:
            sentence = sentence.replace(f"{{{slot}}}", f"{{{days if slot == 'd' else words}:{slot}}}")
        return sentence

    data: dict[str, Any] = {
        "language": code,
        "intents": {
            ALARM_SENTENCE: {
                "data": [
                    {
                        "sentences": [template(each) for each in listed],
                        "slots": dict(zip(("action", "ending"), action.split(" "), strict=False)),
                    }
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
