"""What Home Assistant works out for each home, and is the same in the homes of all tests.

Only processor time is saved: what is kept is what Home Assistant's own code has made.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hassil.expression import Sentence
import hassil.intents
from homeassistant.components.conversation import default_agent
from homeassistant.components.ffmpeg import FFVersion
from homeassistant.helpers import service


def worked_out_once() -> Iterator[None]:
    """Keep, until the generator ends, what takes long and is always the same."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(hassil.intents, "parse_sentence", _parser()))
        stack.enter_context(patch.object(default_agent.DefaultAgent, "_load_intents", _language_loader()))
        stack.enter_context(patch.object(service, "_validate_entity_service_schema", _schemas()))
        # No test uses the program, so that there need not be one.
        stack.enter_context(patch.object(FFVersion, "get_version", _no_version))
        yield


def _parser() -> Callable[..., Sentence]:
    parse = cache(hassil.intents.parse_sentence)

    def parse_sentence(text: str, **options: bool) -> Sentence:
        # What else is known of a sentence depends on the others, and is written into it.
        return replace(parse(text, **options))

    return parse_sentence


def _language_loader() -> Callable[[default_agent.DefaultAgent, str], Any]:
    load = default_agent.DefaultAgent._load_intents
    languages: dict[str, Any] = {}

    def load_intents(agent: default_agent.DefaultAgent, language: str) -> Any:
        if agent._config_intents_config or Path(agent.hass.config.path("custom_sentences")).exists():
            return load(agent, language)
        if language not in languages:
            languages[language] = load(agent, language)
        return languages[language]

    return load_intents


def _schemas() -> Callable[[Any, str], Any]:
    make = service._validate_entity_service_schema
    schemas: dict[tuple[str, str], Any] = {}

    def schema_of(schema: Any, name: str) -> Any:
        key = name, str(schema)
        if key not in schemas:
            schemas[key] = make(schema, name)
        return schemas[key]

    return schema_of


async def _no_version(_version: FFVersion) -> None:
    return None
