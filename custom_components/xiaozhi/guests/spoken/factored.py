"""Templates as rules in which no two choices begin alike.

Home Assistant's recogniser tries each choice and goes on from each that fits: of two that begin alike it
would read the beginning twice, and all that follows.
"""

from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from itertools import chain
from typing import Final

from hassil import parse_sentence
from hassil.sample import sample_sentence

# One of Unicode's private characters stands for a reference to another rule.
_PRIVATE: Final = 0xE000


def factored(name: str, templates: Iterable[str], references: Iterable[str] = ()) -> dict[str, str]:
    """Return rules that match together what any of the templates does; begin with the one called `name`.

    `references` names other rules that stand in the templates.
    """
    characters = {each: chr(_PRIVATE + number) for number, each in enumerate(references)}
    inner = {each: parse_sentence(character) for each, character in characters.items()}
    written = str.maketrans({character: f"<{each}>" for each, character in characters.items()})
    rules: dict[str, str] = {}

    @cache
    def template_of(forms: frozenset[str]) -> str:
        """Return the template of forms; if they differ at once, a reference to a rule."""
        rests = defaultdict[str, set[str]](set)
        for form in forms - {""}:
            rests[form[0]].add(form[1:])
        if not rests:
            return ""
        choices = [first + template_of(frozenset(rest)) for first, rest in sorted(rests.items())]
        if len(choices) == 1 and "" not in forms:
            return choices[0]
        rule = f"{name}_{len(rules)}"
        rules[rule] = ("[{}]" if "" in forms else "({})").format("|".join(choices)).translate(written)
        return f"<{rule}>"

    forms = chain.from_iterable(sample_sentence(parse_sentence(each), {}, inner) for each in templates)
    return {name: template_of(frozenset(forms)).translate(written)} | rules
