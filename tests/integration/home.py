"""One Home Assistant for all tests of a file, and what makes it forget a test.

A start takes longer than most tests. So `conftest.py` starts one for each file (`run_home`), in the event
loop of `tests/virtual_time.py`, and after each test removes what the test has left there (`forget`):
entries, flows, registries, pipelines, caches, users. Where Home Assistant offers no way to remove
something, this uses its private parts, as only tests may. A test that leaves more than that, such as a
stopped Home Assistant, is marked `own_home` and gets one to itself.

What is left running is looked for once a file, when its Home Assistant ends: tasks and errors that nobody
has caught here, threads and log lines in `tests/conftest.py`. Nothing here assumes Linux.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from homeassistant import core, loader
from homeassistant.components import tts
from homeassistant.components.assist_pipeline.const import DATA_LAST_WAKE_UP
from homeassistant.components.assist_pipeline.pipeline import KEY_ASSIST_PIPELINE, PipelineStorageCollection
from homeassistant.const import STATE_OFF
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
    frame,
    issue_registry as ir,
    label_registry as lr,
    restore_state,
    translation,
)
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
from pytest_homeassistant_custom_component.common import async_test_home_assistant


@asynccontextmanager
async def run_home(folder: Path) -> AsyncGenerator[HomeAssistant]:
    """Run a Home Assistant.

    Raises what nobody has caught in it, and `AssertionError` for tasks that it leaves behind.
    """
    loop = asyncio.get_running_loop()
    tasks = asyncio.all_tasks()
    uncaught: list[BaseException] = []

    def caught(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        uncaught.append(context.get("exception") or RuntimeError(context["message"]))

    # Home Assistant reads it when sentences are reloaded.
    (folder / "configuration.yaml").touch()
    async with async_test_home_assistant(loop, config_dir=str(folder)) as hass:
        loop.set_exception_handler(caught)
        wake(hass)
        del hass.data[loader.DATA_CUSTOM_COMPONENTS]
        await translation.async_load_integrations(hass, {core.DOMAIN})
        assert await async_setup_component(hass, "homeassistant", {})
        yield hass
        wake(hass)
        await hass.async_stop(force=True)
    left = asyncio.all_tasks() - tasks - {asyncio.current_task()}
    assert not left, f"left running: {left}"
    if uncaught:
        raise uncaught[0]


def wake(hass: HomeAssistant) -> None:
    """Make a Home Assistant the one of this thread: the plug-in forgets it after each test."""
    frame.async_setup(hass)
    core._hass.hass = hass


def remember(hass: HomeAssistant, state: State, extra: dict[str, Any] | None) -> None:
    """Let an entity that is added find this state as its last one."""
    # By entity id; before 2026.11 that was the only way.
    states = min(_last_states(hass).items())[1]
    stored = {"state": state.as_dict(), "extra_data": extra, "last_seen": dt_util.utcnow()}
    states[state.entity_id] = restore_state.StoredState.from_dict(stored)


def _last_states(hass: HomeAssistant) -> dict[str, dict[str, restore_state.StoredState]]:
    kept = vars(restore_state.async_get(hass))
    return {name: states for name, states in kept.items() if name.startswith("last_states")}


async def forget(hass: HomeAssistant) -> None:
    """Remove what a test has left in a Home Assistant, so that the next one finds it empty."""
    for entry in hass.config_entries.async_entries():
        await hass.config_entries.async_remove(entry.entry_id)
    for flow in hass.config_entries.flow.async_progress(include_uninitialized=True):
        hass.config_entries.flow.async_abort(flow["flow_id"])
    await hass.async_block_till_done()
    _forget_registered(hass)
    for state in hass.states.async_all("input_boolean"):
        hass.states.async_set(state.entity_id, STATE_OFF, state.attributes)
    if KEY_ASSIST_PIPELINE in hass.data:
        await _forget_pipelines(hass.data[KEY_ASSIST_PIPELINE].pipeline_store)
        hass.data[KEY_ASSIST_PIPELINE].pipeline_debug.clear()
    if (manager := hass.data.get(tts.DATA_TTS_MANAGER)) is not None:
        manager.mem_cache.clear()
        manager.file_cache.clear()
    for states in _last_states(hass).values():
        states.clear()
    # The same word within two seconds counts as heard by two.
    hass.data.get(DATA_LAST_WAKE_UP, {}).clear()
    hass.config.internal_url = hass.config.external_url = None
    # The owner cannot be removed.
    hass.auth._store._users.clear()
    await hass.async_block_till_done()


def _forget_registered(hass: HomeAssistant) -> None:
    areas, floors, labels = ar.async_get(hass), fr.async_get(hass), lr.async_get(hass)
    for area in tuple(areas.async_list_areas()):
        areas.async_delete(area.id)
    for floor in tuple(floors.async_list_floors()):
        floors.async_delete(floor.floor_id)
    for label in tuple(labels.async_list_labels()):
        labels.async_delete(label.label_id)
    devices, entities = dr.async_get(hass), er.async_get(hass)
    for device in tuple(devices.devices):
        devices.async_remove_device(device.id)
    for entity in tuple(entities.entities.values()):
        if entity.platform != "input_boolean":
            entities.async_remove(entity.entity_id)
    # What they were called, and where they were, comes back with them otherwise.
    entities.deleted_entities.clear()
    devices._deleted_devices.clear()
    for domain, issue_id in tuple(ir.async_get(hass).issues):
        ir.async_delete_issue(hass, domain, issue_id)


async def _forget_pipelines(store: PipelineStorageCollection) -> None:
    first, *others = store.data
    store.async_set_preferred_item(first)
    for pipeline_id in others:
        await store.async_delete_item(pipeline_id)
