"""Rules made of templates match the same words, and read each beginning once."""

from itertools import chain
import re
from typing import Final

from hassil.expression import Sentence
from hassil.parse_expression import parse_sentence
from hassil.sample import sample_sentence
import pytest

from custom_components.xiaozhi.guests.spoken.factored import factored

_TEMPLATES: Final = [
    "[(at|for) ]<n>[ o'clock]",
    "at <n>:<n>[ sharp]",
    "[<n>[ (days|weeks)] ]later",
    "noon|at (night|noon)",
]
_NUMBERS: Final = {"n": parse_sentence("(1|2)")}


@pytest.fixture(name="rules")
def _rules() -> dict[str, str]:
    return factored("time", _TEMPLATES, _NUMBERS)


def test_rules_match_what_their_templates_do(rules: dict[str, str]) -> None:
    parsed = {name: parse_sentence(rule) for name, rule in rules.items()}
    found = _forms(["<time>"], _NUMBERS | parsed)
    assert found == _forms(_TEMPLATES, _NUMBERS)
    assert found >= {"at 1", "2 o'clock", "at 2:1 sharp", "1 weeks later", "later", "at noon"}


def _forms(templates: list[str], rules: dict[str, Sentence]) -> set[str]:
    return set(chain.from_iterable(sample_sentence(parse_sentence(each), {}, rules) for each in templates))


def test_no_two_choices_begin_alike(rules: dict[str, str]) -> None:
    choices = [rule[1:-1].split("|") for rule in rules.values() if "|" in rule]
    for each in choices:
        beginnings = re.findall(r"^(<n>|[^<])", "\n".join(each), re.MULTILINE)
        assert len({*beginnings}) == len(each) > 1
    assert len(choices) > 3
