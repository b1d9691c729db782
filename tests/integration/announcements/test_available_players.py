"""The media players of a large house cost each box little."""

import asyncio

from homeassistant.components.media_player import MediaPlayerEntityFeature
from homeassistant.const import EVENT_STATE_CHANGED, Platform
from homeassistant.core import (
    Event,
    EventStateChangedData,
    HomeAssistant,
    State,
    StateMachine,
    callback,
)
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from tests.integration.boxes import Speech, paired_boxes, state_of
from tests.integration.http_device import MakeEntry, running

_ANNOUNCES = MediaPlayerEntityFeature.MEDIA_ANNOUNCE | MediaPlayerEntityFeature.PLAY_MEDIA


async def test_players_that_come_together_are_looked_at_once_for_all_boxes(
    hass: HomeAssistant, speech: Speech, make_entry: MakeEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    await running(hass, make_entry(*paired_boxes(20)))
    await asyncio.sleep(2)
    everything, looks = StateMachine.async_all, list[object]()

    def look(states: StateMachine, domain: str | None = None) -> list[State]:
        looks.append(domain)
        return everything(states, domain)

    monkeypatch.setattr(StateMachine, "async_all", look)
    written = async_capture_events(hass, EVENT_STATE_CHANGED)
    order = list[str]()

    @callback
    def told(event: Event[EventStateChangedData]) -> None:
        if event.data["entity_id"].startswith("select.box_"):
            order.append("told")
            hass.loop.call_soon(order.append, "others")

    stop = hass.bus.async_listen(EVENT_STATE_CHANGED, told)
    for number in range(60):
        hass.states.async_set(f"media_player.room_{number}", "idle", {"supported_features": _ANNOUNCES})
    await asyncio.sleep(2)
    assert looks.count(Platform.MEDIA_PLAYER) == 1
    of_selects = [event for event in written if event.data["entity_id"].startswith("select.box_")]
    assert len(of_selects) == 20
    # Between two of them, everybody else has a turn.
    assert order == ["told", "others"] * 20
    stop()
    assert len(state_of(hass, "select.box_20_voice_output").attributes["options"]) >= 61
    for number in range(60):
        hass.states.async_remove(f"media_player.room_{number}")
