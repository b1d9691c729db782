"""Whisper and Piper in the benchmark's Home Assistant, in a home that makes the coffee of the recordings.

Where they are not installed, or in a hurry, the small engines of the demo take their place.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
import shutil
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Final, override

from homeassistant.components.assist_pipeline import async_get_pipelines, async_update_pipeline
from homeassistant.config_entries import SOURCE_USER, ConfigEntry
from homeassistant.const import CONF_HOST, CONF_PORT
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er, intent
import yaml

from demo.engines import hear, small_speech, speech
from demo.processes import HOST

from .house import House

type Hear = Callable[[bytes], Awaitable[str]]

_WYOMING: Final = "wyoming"
# What this home understands.
_ORDERS: Final = Path(__file__).with_name("orders.yaml")


class _Order(intent.IntentHandler):
    """Takes an order, with an answer that comes from no cache."""

    intent_type = "BenchmarkOrder"

    def __init__(self, asked_at: list[float]) -> None:
        self._asked_at = asked_at

    @override
    async def async_handle(self, intent_obj: intent.Intent) -> intent.IntentResponse:
        self._asked_at.append(monotonic())
        response = intent_obj.create_response()
        response.async_set_speech(f"Coffee number {len(self._asked_at)} is coming.")
        return response


@asynccontextmanager
async def real_speech(house: House, *, small: bool) -> AsyncGenerator[Hear]:
    """Use the engines in the preferred pipeline; yields one that transcribes PCM without Home Assistant.

    The home understands orders only where the pipeline prefers local commands; see `know_orders`.
    """
    hass = house.hass
    await hass.async_add_executor_job(_write_sentences, Path(hass.config.path("custom_sentences", "en")))
    await hass.services.async_call("conversation", "reload", {}, blocking=True)
    intent.async_register(hass, _Order(house.engines.asked_at))
    names = await asyncio.to_thread(_read_names)
    with TemporaryDirectory(prefix="xiaozhi-speech-") as name:
        folder = Path(name)
        async with small_speech(folder) if small else speech(folder, prompt=names) as running:
            ears = await add_wyoming(hass, running.hearing.port)
            voice = await add_wyoming(hass, running.speaking.port)
            pipeline = async_get_pipelines(hass)[0]
            before = pipeline.to_json()
            await async_update_pipeline(
                hass,
                pipeline,
                stt_engine=_entity(hass, ears),
                stt_language="en",
                tts_engine=_entity(hass, voice),
                tts_language="en_US" if not small else "en",
            )
            try:
                yield partial(hear, running.hearing)
            finally:
                del before["id"]
                await async_update_pipeline(hass, async_get_pipelines(hass)[0], **before)
                for entry in (ears, voice):
                    await hass.config_entries.async_remove(entry.entry_id)


async def know_orders(hass: HomeAssistant, known: bool) -> None:
    """Let Home Assistant understand orders itself, or leave them to the agent."""
    await async_update_pipeline(hass, async_get_pipelines(hass)[0], prefer_local_intents=known)


async def add_wyoming(hass: HomeAssistant, port: int) -> ConfigEntry:
    """Add what speaks Wyoming on a port of this machine. Raises `RuntimeError`."""
    data = {CONF_HOST: HOST, CONF_PORT: port}
    flow = await hass.config_entries.flow.async_init(_WYOMING, context={"source": SOURCE_USER}, data=data)
    if (entry := flow.get("result")) is None:
        raise RuntimeError(f"Wyoming is not set up: {flow}")
    await hass.async_block_till_done()
    return entry


def _entity(hass: HomeAssistant, entry: ConfigEntry) -> str:
    (engine,) = er.async_entries_for_config_entry(er.async_get(hass), entry.entry_id)
    return engine.entity_id


def _read_names() -> str:
    """Return the names of this home, as its owner gives them to Whisper."""
    lists = yaml.safe_load(_ORDERS.read_text())["lists"].values()
    names = [value["out"] if isinstance(value, dict) else value for each in lists for value in each["values"]]
    return ", ".join(names).capitalize() + "."


def _write_sentences(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(_ORDERS, folder)
