"""Notifies the owner when Home Assistant has no pipeline that hears and speaks, as after its installation."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from homeassistant.components import stt, tts
from homeassistant.components.assist_pipeline import Pipeline, async_get_pipeline
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.helpers import entity_registry as er, issue_registry as ir
from homeassistant.helpers.event import async_track_time_interval
from homeassistant.helpers.start import async_at_started

from ..const import DOMAIN
from ..device.device import Device
from ..texts.issues import async_raise_issue
from ..texts.translated import async_text
from ..util.text import plain_name
from .pipelines import chosen_pipeline

_SPEECH_ISSUE: Final = "no_speech"
_INTERVAL: Final = timedelta(seconds=10)
# The page of Home Assistant on which a pipeline gets its engines.
_PAGE: Final = "/config/voice-assistants/assistants"
_GUIDE: Final = "https://www.home-assistant.io/voice_control/voice_remote_local_assistant/"
# Keys of the missing parts, by whether the pipelines hear and speak.
_MISSING: Final = {
    (False, False): "no_speech",
    (False, True): "no_speech_to_text",
    (True, False): "no_text_to_speech",
}


async def async_missing_engines_hint(hass: HomeAssistant) -> str:
    """Return a paragraph on what the pipeline of a new device lacks; an empty text if it hears and speaks."""
    pipeline = async_get_pipeline(hass)
    missing = _MISSING.get((_hears(hass, pipeline), _speaks(hass, pipeline)))
    if missing is None:
        return ""
    hint = await async_text(hass, f"{missing}_hint", pipeline=plain_name(pipeline.name), page=_PAGE)
    guide = await async_text(hass, "engines_guide", guide=_GUIDE)
    # Chinese and Japanese have no space after a full stop.
    return f"\n\n{hint}{'' if hint.endswith('。') else ' '}{guide}"


@callback
def async_report_missing_engines(hass: HomeAssistant, devices: Mapping[str, Device]) -> CALLBACK_TYPE:
    """Raise a repair issue while a device's pipeline, or that of a new device, cannot hear or speak.

    This is polled: Home Assistant does not report another preferred pipeline, nor a new engine that is not an
    entity. Returns a function that ends this, and deletes the issue.
    """

    @callback
    def check(_: object = None) -> None:
        pipelines = [chosen_pipeline(hass, device) for device in devices.values()] or [
            async_get_pipeline(hass)
        ]
        used = {pipeline.id: pipeline for pipeline in pipelines}.values()
        deaf = [pipeline for pipeline in used if not _hears(hass, pipeline)]
        dumb = [pipeline for pipeline in used if not _speaks(hass, pipeline)]
        missing = _MISSING.get((not deaf, not dumb))
        if missing is None:
            ir.async_delete_issue(hass, DOMAIN, _SPEECH_ISSUE)
            return
        names = dict.fromkeys(pipeline.name for pipeline in (*deaf, *dumb))
        async_raise_issue(
            hass,
            _SPEECH_ISSUE,
            missing,
            learn_more_url=f"homeassistant:/{_PAGE}",
            pipelines=", ".join(names),
            page=_PAGE,
        )

    stops: list[CALLBACK_TYPE] = []

    @callback
    def begin(_: object) -> None:
        check()
        stops.append(async_track_time_interval(hass, check, _INTERVAL, cancel_on_shutdown=True))

    @callback
    def end() -> None:
        for stop in stops:
            stop()
        ir.async_delete_issue(hass, DOMAIN, _SPEECH_ISSUE)

    # Before that, the engines may still be starting.
    stops.append(async_at_started(hass, begin))
    return end


def _hears(hass: HomeAssistant, pipeline: Pipeline) -> bool:
    engine = pipeline.stt_engine
    return _is_known(hass, engine) or stt.async_get_speech_to_text_engine(hass, engine or "") is not None


def _speaks(hass: HomeAssistant, pipeline: Pipeline) -> bool:
    engine = pipeline.tts_engine
    return _is_known(hass, engine) or tts.async_resolve_engine(hass, engine or "") is not None


def _is_known(hass: HomeAssistant, engine: str | None) -> bool:
    """Whether an engine is an entity, which may not be loaded while its server is away."""
    entity = er.async_get(hass).async_get(engine or "")
    return entity is not None and not entity.disabled
