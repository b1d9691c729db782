"""Other wake words for a device of the demo, as its owner chooses them."""

import asyncio
import json
from pathlib import Path
from typing import Final

from simulator import Profile, SimulatedDevice, State

from .abilities import Owner
from .client import Json
from .errors import DemoError
from .house import change_device

_SECONDS: Final = 120
_WORD: Final = "Jarvis"
_PHRASES: Final = "own_phrases"
_PHRASE: Final = "hello kitchen"
_ORIGINAL: Final = "original"


def put_pack(configuration: Path, profile: Profile, word: str) -> bytes:
    """Put the pack of a release, whose wake word is `word`, where the integration looks for it; return it."""
    # It loads Home Assistant, for which each command at another terminal would wait.
    from custom_components.xiaozhi.guests.wake_words import assets_pack as packs  # noqa: PLC0415

    folder = configuration / "xiaozhi" / "packs"
    folder.mkdir(parents=True, exist_ok=True)
    models = {"wn9_nihaoxiaozhi_tts": {"_MODEL_INFO_": f"wakenet9_demo_{word}_3".encode(), "wn9_data": b""}}
    index = json.dumps({"version": 1, "srmodels": "srmodels.bin"}).encode()
    srmodels = packs.Asset(packs.write_models(models))
    pack = packs.write_pack({"srmodels.bin": srmodels, "index.json": packs.Asset(index)})
    (folder / f"{profile.board.name}_{profile.version}.bin").write_bytes(pack)
    return pack


async def change_wake_word(owner: Owner) -> Json:
    """Choose another word, a phrase and the original one, and see which of them wake the device."""
    entity = await owner.entity("select", "wake_word")
    results: Json = {"entity_id": entity}
    await change_device(owner.client, owner.device.mac, "phrases_saved", wake_phrases=[_PHRASE])
    old = owner.wake_word
    for option, new in ((_WORD, _WORD), (_PHRASES, _PHRASE), (_ORIGINAL, owner.wake_word)):
        async with asyncio.timeout(_SECONDS):
            await owner.client.call("select", "select_option", entity_id=entity, option=option)
        if (state := await owner.client.state(entity)) != option:
            raise DemoError(f"{option} was chosen, and {entity} is {state}")
        if await _wakes(owner.device, old) or not await _wakes(owner.device, new):
            raise DemoError(f"after the choice of {option}, {old} wakes the {owner.name}, or {new} does not")
        results[option] = {"wakes": new, "does_not_wake": old}
        old = new
    return results


async def _wakes(device: SimulatedDevice, word: str) -> bool:
    """Say a word to the idle device, and end the conversation that it begins."""
    await device.wait_state(State.IDLE, _SECONDS)
    await device.wake(word)
    if device.state is State.IDLE:
        return False
    await device.wait_state(State.LISTENING, _SECONDS)
    await device.click()
    await device.wait_state(State.IDLE, _SECONDS)
    return True
