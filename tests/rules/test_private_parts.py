"""Private parts of Home Assistant: none but a few are used, and those still exist."""

from collections.abc import Callable, Iterator
import hashlib
import importlib
import inspect
import pkgutil
import re
from types import ModuleType

from homeassistant.components.assist_pipeline import async_pipeline_from_audio_stream
from homeassistant.components.assist_pipeline.default_pipeline import _DefaultPipelineProcessor
from homeassistant.components.assist_satellite import AssistSatelliteEntity
from homeassistant.components.stt import async_get_provider
import pytest

import custom_components.xiaozhi as integration

# Meant for integrations: helpers of flows, how an event is fired, how a notification is recorded, which
# attributes are not recorded, and what triggers and conditions set in their base classes.
MEANT_FOR_USE = {
    "_abort_if_unique_id_configured",
    "_async_record_notification",
    "_domain_specs",
    "_excluded_from_states",
    "_get_entry",
    "_get_reauth_entry",
    "_get_reconfigure_entry",
    "_get_reconfigure_subentry",
    "_hass",
    "_should_include",
    "_states",
    "_to_states",
    "_trigger_event",
    "_unrecorded_attributes",
}
# In `voice/satellite_states.py`, which says why.
PRIVATE = {
    "_ask_question_future",
    "_conversation_id",
    "_extra_system_prompt",
    "_internal_on_pipeline_event",
    "_question_response_to_answer",
    "_run_has_tts",
    "_wake_word_intercept_future",
}


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(integration.__path__, f"{integration.__name__}."):
        yield importlib.import_module(found.name)


def private_parts(cls: type) -> set[str]:
    """Return the members of Home Assistant's classes that a class of ours uses or overrides."""
    used = set(re.findall(r"(?:self|super\(\))\.(_[a-z]\w*)", inspect.getsource(cls)))
    used |= {name for name in vars(cls) if re.fullmatch(r"_[a-z]\w*", name)}
    theirs: set[str] = set()
    for base in cls.__mro__:
        if base.__module__.startswith("homeassistant."):
            theirs |= {*vars(base), *re.findall(r"self\.(_[a-z]\w*)", inspect.getsource(base))}
    # The latter is Python's, and Home Assistant's documentation tells integrations to set the former.
    return {name for name in used & theirs if not name.startswith(("_attr_", "_abc_"))}


def test_no_private_part_of_home_assistant_is_used_but_those_that_are_known() -> None:
    """It also fails when one of them is gone: what Home Assistant no longer has is not found here."""
    found: dict[str, set[str]] = {}
    for module in modules():
        for cls in vars(module).values():
            if inspect.isclass(cls) and cls.__module__ == module.__name__:
                for name in private_parts(cls):
                    found.setdefault(name, set()).add(
                        module.__name__.removeprefix(f"{integration.__name__}.")
                    )
    assert found.keys() == MEANT_FOR_USE | PRIVATE
    assert set().union(*(found[name] for name in PRIVATE)) == {"voice.satellite_states"}


@pytest.mark.parametrize(
    ("what", "digest"),
    [
        (AssistSatelliteEntity.async_accept_pipeline_from_satellite, "2825c38a650ceb09"),
        (async_pipeline_from_audio_stream, "450cd08deced23ea"),
        (_DefaultPipelineProcessor.prepare_speech_to_text, "d7886b821f792ad0"),
        (async_get_provider, "30cb1f21a4f7bc4f"),
    ],
    ids=["satellite", "stream", "engine", "provider"],
)
def test_what_home_assistant_does_around_a_spoken_turn_is_as_it_was(
    what: Callable[..., object], digest: str
) -> None:
    """`voice/satellite_states.py` does the same around our runs. `voice/engine_override.py` needs it, too.

    Compare both, then set the new digest.
    """
    assert hashlib.sha256(inspect.getsource(what).encode()).hexdigest()[:16] == digest
