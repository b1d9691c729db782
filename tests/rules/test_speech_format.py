"""The formats that speech engines are said to give, compared with Home Assistant's own."""

from pathlib import Path

import homeassistant.components

from custom_components.xiaozhi.voice.speech_format import OTHER_FORMATS


def test_home_assistants_engines_that_give_only_mp3_are_known() -> None:
    (folder,) = map(Path, homeassistant.components.__path__)
    found = {
        file.parent.name
        for file in folder.glob("*/tts.py")
        if '"mp3"' in (source := file.read_text()) and '"wav"' not in source
    }
    # The demo plays a file of its own.
    assert found - {"demo"} <= OTHER_FORMATS.keys()
    assert len(found) > 2
