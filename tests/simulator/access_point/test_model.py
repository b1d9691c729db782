"""The scripted model picks tools by name."""

from typing import Any

import pytest

from simulator.access_point import Cloud, ask
from tests.simulator.access_point.peers import peer


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "description": "", "inputSchema": {"type": "object", "properties": {}}}


@pytest.mark.parametrize(
    ("sentence", "called", "arguments"),
    [
        ("turn on the lamp", "intent__HassTurnOn", {"name": "lamp"}),
        ("Turn off Kitchen Light!", "intent__HassTurnOff", {"name": "Kitchen Light"}),
        ("set the lamp to 40 percent", "light__HassLightSet", {"name": "lamp", "brightness": 40}),
        ("what is on?", "homeassistant__GetLiveContext", {}),
        ("what time is it", None, {}),
        ("sing", None, {}),
    ],
)
async def test_a_sentence_becomes_a_call(
    sentence: str, called: str | None, arguments: dict[str, Any]
) -> None:
    names = (
        "intent__HassTurnOn",
        "intent__HassTurnOff",
        "light__HassLightSet",
        "homeassistant__GetLiveContext",
    )
    tools = [tool(name) for name in (*names, "assist__intent__HassTurnOn")]
    async with Cloud() as cloud, peer(cloud.url(), tools=tools):
        await (await cloud.session()).ready()
        spoken = await ask(cloud.agent(), sentence)
        assert (spoken.called, spoken.arguments) == (called, arguments)
        assert (spoken.answer is None) == (called is None)
