"""Chinese commands mean the same in both scripts, whichever of them the speech engine writes."""

from pathlib import Path

from homeassistant.components.assist_pipeline import async_get_pipeline
from homeassistant.components.conversation import HOME_ASSISTANT_AGENT, ConversationInput, async_get_agent
from homeassistant.components.conversation.default_agent import DefaultAgent
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import MATCH_ALL
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar
import pytest

from custom_components.xiaozhi.voice.chinese_script import script_converter
from simulator import converse
from tests.integration.boxes import Speech
from tests.integration.names import Boot

# Sentences of Home Assistant: language, in its own script, and as an engine of the other one writes.
COMMANDS = [
    line.split() for line in (Path(__file__).parent / "chinese_commands.txt").read_text().splitlines()
]
ROOMS = {
    "zh-CN": "客厅 厨房 卧室 阳台 书房",
    "zh-TW": "客廳 廚房 臥室 陽台 書房",
    "zh-HK": "客廳 廚房 臥室 陽台 書房",
}
THINGS = {
    "zh-CN": "light.客厅吊灯 light.床头灯 light.台灯 "
    "cover.窗帘 fan.风扇 media_player.电视 climate.空调 switch.热水器 vacuum.扫地机器人 lock.大门",
    "zh-TW": "light.客廳吊燈 light.床頭燈 light.檯燈 "
    "cover.窗簾 fan.電風扇 media_player.電視 switch.熱水器 "
    "vacuum.掃地機器人 lock.大門 todo.購物清單",
    "zh-HK": "light.客廳吊燈 light.床頭燈 cover.窗簾",
}


async def written(hass: HomeAssistant, text: str) -> str:
    """Return the transcript of the preferred pipeline when its engine writes a text."""
    convert = script_converter(hass, async_get_pipeline(hass))
    assert convert is not None
    return await convert(text)


@pytest.mark.parametrize("language", ROOMS)
@pytest.mark.own_home
async def test_a_command_means_the_same_in_both_scripts(
    hass: HomeAssistant, speech: Speech, subtests: pytest.Subtests, language: str
) -> None:
    for room in ROOMS[language].split():
        ar.async_get(hass).async_create(room)
    for number, thing in enumerate(THINGS[language].split()):
        domain, name = thing.split(".")
        hass.states.async_set(f"{domain}.n{number}", "off", {"friendly_name": name})
        async_expose_entity(hass, "conversation", f"{domain}.n{number}", should_expose=True)
    await speech.use(language=language, stt_language="zh", conversation_language=language)
    agent = async_get_agent(hass, HOME_ASSISTANT_AGENT)
    assert isinstance(agent, DefaultAgent)

    async def meaning(text: str | None) -> tuple[str, dict[str, object]] | None:
        asked = ConversationInput(
            text=text or "",
            context=Context(),
            conversation_id=None,
            device_id=None,
            satellite_id=None,
            language=language,
            agent_id=HOME_ASSISTANT_AGENT,
        )
        result = await agent.async_recognize_intent(asked, strict_intents_only=True)
        if result is None:
            return None
        return result.intent.name, {name: entity.value for name, entity in result.entities.items()}

    for own, other in [command[1:] for command in COMMANDS if command[0] == language]:
        with subtests.test(own):
            assert await meaning(own) is not None
            assert await written(hass, own) == own
            assert await meaning(await written(hass, other)) == await meaning(own)
            assert await meaning(other) != await meaning(own)


async def test_the_language_of_the_pipeline_decides_and_others_are_left_alone(
    hass: HomeAssistant, speech: Speech
) -> None:
    for stt_language, conversation_language, language, text in (
        ("zh", "zh-CN", "zh-CN", "发现里面的面包"),
        ("zh-TW", "zh-Hans", "en", "发现里面的面包"),
        ("zh", "zh-TW", "zh-TW", "發現裡面的麵包"),
        ("zh-CN", "zh-Hant", "en", "發現裡面的麵包"),
        ("yue", "zh-HK", "zh-HK", "發現裡面的麵包"),
        # A language model reads all languages: that of the pipeline counts, or else that of the speech.
        ("zh", MATCH_ALL, "zh-TW", "發現裡面的麵包"),
        ("zh_TW", MATCH_ALL, "en", "發現裡面的麵包"),
        ("cmn-CN", MATCH_ALL, "en", "发现里面的面包"),
        ("ja", "ja", "ja", None),
        ("ja", MATCH_ALL, "ja", None),
        ("zh", "en", "ja", None),
    ):
        await speech.use(
            stt_language=stt_language, conversation_language=conversation_language, language=language
        )
        if text is None:
            assert script_converter(hass, async_get_pipeline(hass)) is None
            continue
        for heard in ("发现里面的面包", "發現裡面的麵包"):
            assert await written(hass, heard) == text


async def test_names_that_look_like_other_words_stay(hass: HomeAssistant, speech: Speech) -> None:
    for language, heard, text in (
        ("zh-TW", "阿里山离这里有几公里", "阿里山離這裡有幾公里"),
        ("zh-TW", "播放范冰冰的歌", "播放范冰冰的歌"),
        ("zh-TW", "范先生的示范和规范在范围里", "范先生的示範和規範在範圍裡"),
        ("zh-TW", "吹干头发以后从头发送", "吹乾頭髮以後從頭發送"),
        ("zh-HK", "太阳系系点样", "太陽系係點樣"),
        ("zh-HK", "系统系咪开着", "系統係咪開著"),
    ):
        await speech.use(stt_language=language, conversation_language=language, language=language)
        assert await written(hass, heard) == text


async def test_a_turn_is_understood_in_the_script_of_the_pipeline(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes
) -> None:
    """Also without early transcripts, which a new engine does not have yet."""
    await speech.use(language="zh-CN", stt_language="zh", conversation_language="zh-CN")
    speech.recognizer.lines = ["設置一個五分鐘的計時器"]
    talk = await converse(await boot(), command)
    assert talk.heard == ["设置一个五分钟的计时器"]
    assert talk.answers
    assert "sorry" not in talk.emotions
