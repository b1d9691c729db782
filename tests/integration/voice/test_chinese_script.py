"""Chinese commands mean the same in both scripts, whichever of them the speech engine writes."""

from collections.abc import AsyncGenerator

from homeassistant.components import stt
from homeassistant.components.assist_pipeline import async_get_pipeline
from homeassistant.components.conversation import HOME_ASSISTANT_AGENT, ConversationInput, async_get_agent
from homeassistant.components.conversation.default_agent import DefaultAgent
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import MATCH_ALL
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar
import pytest

from custom_components.xiaozhi.voice.chinese_script import engine_in_script
from simulator import converse
from tests.integration.boxes import Boot, Speech

# Sentences of Home Assistant in the script of their language, and as an engine of the other one writes.
COMMANDS = {
    "zh-CN": """
        打开厨房的灯 打開廚房的燈
        关闭厨房的灯 關閉廚房的燈
        把客厅的灯打开 把客廳的燈打開
        打开客厅吊灯 打開客廳吊燈
        关掉客厅吊灯 關掉客廳吊燈
        打开床头灯 打開床頭燈
        打开阳台的窗帘 打開陽台的窗簾
        把书房的风扇打开 把書房的風扇打開
        关闭所有的灯 關閉所有的燈
        打开电视 打開電視
        关闭空调 關閉空調
        启动扫地机器人 啟動掃地機器人
        让扫地机器人回去充电 讓掃地機器人回去充電
        把客厅的亮度调到百分之五十 把客廳的亮度調到百分之五十
        卧室亮度设置为30% 臥室亮度設置為30%
        把床头灯亮度调到20% 把床頭燈亮度調到20%
        客厅的温度是多少 客廳的溫度是多少
        厨房多少度 廚房多少度
        有没有窗户开着 有沒有窗戶開著
        有哪些灯是开着的 有哪些燈是開著的
        锁上大门 鎖上大門
        设置阳台的窗帘位置为50% 設置陽台的窗簾位置為50%
        设置一个五分钟的计时器 設置一個五分鐘的計時器
        取消计时器 取消計時器
        取消所有计时器 取消所有計時器
        暂停计时器 暫停計時器
        计时器还剩多少时间 計時器還剩多少時間
        把计时器增加两分钟 把計時器增加兩分鐘
        计时器减少一分钟 計時器減少一分鐘
        购物清单加鸡蛋 購物清單加雞蛋
        把牛奶从购物清单划掉 把牛奶從購物清單劃掉
        暂停客厅的音乐 暫停客廳的音樂
        客厅音量调高 客廳音量調高
        今天几号 今天幾號
        广播一下晚饭好了 廣播一下晚飯好了
        没关系 沒關係
        客厅的风扇调到百分之四十 客廳的風扇調到百分之四十
        开始割草 開始割草
        打扫客厅 打掃客廳
        客厅下一曲 客廳下一曲
        继续客厅的音乐 繼續客廳的音樂
        天气如何 天氣如何
        设置十分钟倒计时 設置十分鐘倒計時
        两小时后打开热水器 兩小時後打開熱水器
        关掉阳台的窗帘 關掉陽台的窗簾
        现在时间是多少 現在時間是多少
    """,
    "zh-TW": """
        打開廚房的燈 打开厨房的灯
        關閉廚房的燈 关闭厨房的灯
        把臥室的燈關掉 把卧室的灯关掉
        關掉客廳吊燈 关掉客厅吊灯
        把檯燈關掉 把台灯关掉
        打開陽台的窗簾 打开阳台的窗帘
        把書房的電風扇打開 把书房的电风扇打开
        打開電視 打开电视
        打開熱水器 打开热水器
        臥室亮度設定為30% 卧室亮度设定为30%
        把客廳的溫度設為二十四度 把客厅的温度设为二十四度
        現在臥室幾度 现在卧室几度
        有窗戶是開著的嗎 有窗户是开着的吗
        客廳的燈開著嗎 客厅的灯开着吗
        設定一個五分鐘的計時器 设定一个五分钟的计时器
        三分鐘後關閉客廳的燈 三分钟后关闭客厅的灯
        取消所有計時器 取消所有计时器
        暫停計時器 暂停计时器
        計時器還剩多久 计时器还剩多久
        計時器減少一分鐘 计时器减少一分钟
        購物清單新增雞蛋 购物清单新增鸡蛋
        在購物清單裡加入牛奶 在购物清单里加入牛奶
        暫停客廳的音樂 暂停客厅的音乐
        客廳音量調高 客厅音量调高
        今天幾號 今天几号
        現在幾點了 现在几点了
        沒關係 没关系
        打掃客廳 打扫客厅
        啟動掃地機器人 启动扫地机器人
        把客廳亮度設定為百分之五十 把客厅亮度设定为百分之五十
        把客廳的音量設為百分之三十 把客厅的音量设为百分之三十
        大門是鎖上的嗎 大门是锁上的吗
    """,
    "zh-HK": """
        打開廚房嘅燈 打开厨房嘅灯
        關掉廚房的燈 关掉厨房的灯
        閂臥室嘅燈 闩卧室嘅灯
        打開客廳吊燈 打开客厅吊灯
        將陽台嘅窗簾打開 将阳台嘅窗帘打开
        閂陽台的窗簾 闩阳台的窗帘
        而家臥室幾多度 而家卧室几多度
        把客廳的燈亮度調到50% 把客厅的灯亮度调到50%
        取消計時器 取消计时器
        五分鐘計時器 五分钟计时器
        設置一個五分鐘嘅計時器 设置一个五分钟嘅计时器
        繼續計時器 继续计时器
        暫停客廳嘅音樂 暂停客厅嘅音乐
        客廳下一首 客厅下一首
        調高客廳音量至60% 调高客厅音量至60%
        今日係幾多號 今日系几多号
        今日天氣點樣 今日天气点样
        着客廳嘅燈 着客厅嘅灯
        關閉所有燈 关闭所有灯
        三分鐘後關閉客廳的燈 三分钟后关闭客厅的灯
        廣播晚飯好了 广播晚饭好了
        把客廳燈光調至紅色 把客厅灯光调至红色
    """,
}
ROOMS = {
    "zh-CN": "客厅 厨房 卧室 阳台 书房",
    "zh-TW": "客廳 廚房 臥室 陽台 書房",
    "zh-HK": "客廳 廚房 臥室 陽台 書房",
}
LIGHTS = {"zh-CN": "客厅吊灯 床头灯 台灯", "zh-TW": "客廳吊燈 床頭燈 檯燈", "zh-HK": "客廳吊燈 床頭燈"}
THINGS = {
    "zh-CN": "cover.窗帘 fan.风扇 media_player.电视 climate.空调 switch.热水器 vacuum.扫地机器人 lock.大门",
    "zh-TW": "cover.窗簾 fan.電風扇 media_player.電視 switch.熱水器 "
    "vacuum.掃地機器人 lock.大門 todo.購物清單",
    "zh-HK": "cover.窗簾",
}


async def written(hass: HomeAssistant, speech: Speech, text: str) -> str | None:
    """Return the transcript of the preferred pipeline when its engine writes a text."""
    engine = engine_in_script(hass, async_get_pipeline(hass))
    assert engine is not None
    speech.recognizer.lines = [text]
    result = await engine.async_process_audio_stream(METADATA, silence())
    return result.text


async def silence() -> AsyncGenerator[bytes]:
    yield bytes(640)


METADATA = stt.SpeechMetadata(
    language="zh",
    format=stt.AudioFormats.WAV,
    codec=stt.AudioCodecs.PCM,
    bit_rate=stt.AudioBitRates.BITRATE_16,
    sample_rate=stt.AudioSampleRates.SAMPLERATE_16000,
    channel=stt.AudioChannels.CHANNEL_MONO,
)


@pytest.mark.parametrize("language", COMMANDS)
@pytest.mark.own_home
async def test_a_command_means_the_same_in_both_scripts(
    hass: HomeAssistant, speech: Speech, subtests: pytest.Subtests, language: str
) -> None:
    for room in ROOMS[language].split():
        ar.async_get(hass).async_create(room)
    lights = [f"light.{name}" for name in LIGHTS[language].split()]
    for number, thing in enumerate(lights + THINGS[language].split()):
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

    for line in COMMANDS[language].strip().splitlines():
        own, other = line.split()
        with subtests.test(own):
            assert await meaning(own) is not None
            assert await written(hass, speech, own) == own
            assert await meaning(await written(hass, speech, other)) == await meaning(own)
            assert await meaning(other) != await meaning(own)


@pytest.mark.parametrize(
    ("stt_language", "conversation_language", "language", "text"),
    [
        ("zh", "zh-CN", "zh-CN", "发现里面的面包"),
        ("zh-TW", "zh-Hans", "en", "发现里面的面包"),
        ("zh", "zh-TW", "zh-TW", "發現裡面的麵包"),
        ("zh-CN", "zh-Hant", "en", "發現裡面的麵包"),
        ("yue", "zh-HK", "zh-HK", "發現裡面的麵包"),
        # A language model reads all languages: that of the pipeline counts, or else that of the speech.
        ("zh", MATCH_ALL, "zh-TW", "發現裡面的麵包"),
        ("zh_TW", MATCH_ALL, "en", "發現裡面的麵包"),
        ("cmn-CN", MATCH_ALL, "en", "发现里面的面包"),
    ],
)
async def test_the_language_of_the_pipeline_decides(
    hass: HomeAssistant,
    speech: Speech,
    stt_language: str,
    conversation_language: str,
    language: str,
    text: str,
) -> None:
    await speech.use(
        stt_language=stt_language, conversation_language=conversation_language, language=language
    )
    for heard in ("发现里面的面包", "發現裡面的麵包"):
        assert await written(hass, speech, heard) == text


@pytest.mark.parametrize(
    ("stt_language", "conversation_language"), [("ja", "ja"), ("ja", MATCH_ALL), ("zh", "en")]
)
async def test_other_pipelines_are_left_alone(
    hass: HomeAssistant, speech: Speech, stt_language: str, conversation_language: str
) -> None:
    await speech.use(stt_language=stt_language, conversation_language=conversation_language, language="ja")
    assert engine_in_script(hass, async_get_pipeline(hass)) is None
    await speech.use(stt_engine=None, stt_language="zh", conversation_language="zh-CN")
    assert engine_in_script(hass, async_get_pipeline(hass)) is None


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
