"""English for Chinese words in the names of everyday things and readings, for entities.

The words that decide on risks are in `chinese`; these change no risk.
"""

import re
from typing import Final

from .chinese import in_english

__all__ = ["everyday_words", "is_verb", "without_verb"]

# Before those of `chinese`, so that none of its words is found within one of these.
_WORDS: Final[dict[str, str]] = {
    chinese: f" {english} "
    for english, group in {
        "blind": "百叶窗 百叶帘",
        "awning": "遮阳篷 遮阳棚 雨棚",
        "curtain": "窗帘 布帘 纱帘 帘",
        "window": "窗户 天窗 窗",
        "clothes rack": "晾衣架 晾衣机",
        "fan": "风扇 电扇 排气扇 换气扇 新风 新风机",
        "air conditioner": "空调",
        "thermostat": "温控器",
        "target": "目标",
        "now": "当前",
        "indoor": "室内",
        "ambient": "环境",
        "purifier": "净化器 空气净化器",
        "humidifier": "加湿器",
        "dehumidifier": "除湿机 除湿器",
        "socket": "插座 排插",
        "relay": "继电器",
        "irrigation": "灌溉 浇水 浇花",
        "sprinkler": "喷头 喷淋 洒水器",
        "oxygen pump": "氧气泵 增氧泵 打氧泵",
        "filter": "过滤器 滤芯",
        "coffee machine": "咖啡机",
        "coffee": "咖啡",
        "printer": "打印机",
        "projector": "投影仪",
        "tv": "电视 电视机",
        "train": "火车 小火车 列车",
        "light": "灯光 灯带 灯泡 台灯 氛围灯",
        "temperature": "温度 气温",
        "water temperature": "水温",
        "room temperature": "室温",
        "humidity": "湿度",
        "temperature humidity": "温湿度",
        "": "浓度",
        "soil moisture": "土壤湿度 土壤水分",
        "soil temperature": "土壤温度",
        "illuminance": "光照 光照度 光照强度 照度 光强",
        "co2": "二氧化碳 二氧化碳浓度",
        "co": "一氧化碳",
        "pm25": "PM2.5 pm2.5 细颗粒物",
        "tvoc": "挥发物",
        "formaldehyde": "甲醛",
        "aqi": "空气质量",
        "pressure": "气压 大气压",
        "noise": "噪音 噪声 分贝",
        "water level": "水位",
        "ph": "酸碱度 pH值 PH值",
        "tds": "水质",
        "battery": "电池 电池电量 剩余电量 电量",
        "voltage": "电压",
        "current": "电流",
        "power": "功率",
        "energy": "用电量 耗电量",
        "weight": "重量",
        "distance": "距离",
        "speed": "速度 转速 风速 车速",
        "gear": "档位 挡位",
        "position": "位置 开度",
        "angle": "角度",
        "brightness": "亮度",
        "volume": "音量",
        "mode": "模式",
        "scene": "场景",
        "colour": "颜色",
        "count": "数量 个数 次数",
        "progress": "进度",
        "paper": "纸张 余纸",
        "occupancy": "有人 人体",
        "motion": "移动 运动",
        "leak": "漏水 水浸",
        "smoke": "烟雾",
    }.items()
    for chinese in group.split()
}
_ANY: Final = re.compile("|".join(sorted(map(re.escape, _WORDS), key=len, reverse=True)))

_VERBS: Final = (
    "获取|查询|查看|得到|读取|检查|检测|测量|当前|是否|设置|设定|修改|更改|切换|调节|调整|选择|控制"
    "|打开|开启|关闭|关上|启动|停止|上锁|解锁|开锁|升起|降下|暂停|停下"
)
_AROUND: Final = re.compile(rf"^(?:{_VERBS}|[开关](?![关机始于]))+|(?:{_VERBS}|状态)+$")
_IN_THE_MIDDLE: Final = re.compile(r"_(?:set|get|is|read)_")
_MORE: Final = {
    chinese: f" {english} "
    for english, group in {
        "set": "调节 调整 选择",
        "measure": "测量",
        "up": "升起",
        "down": "降下",
        "pause": "暂停",
    }.items()
    for chinese in group.split()
}
_MORE_ANY: Final = re.compile("|".join(_MORE))


def everyday_words(text: str) -> str:
    """Replace the known Chinese words in a name by English; the rest stays."""
    if text.isascii():
        return text
    plain = _ANY.sub(lambda found: _WORDS[found.group()], text)
    return in_english(_MORE_ANY.sub(lambda found: _MORE[found.group()], plain))


def without_verb(name: str) -> str:
    """Return a name without its verbs: 温度 for 获取温度; as it is if it has nothing else."""
    plain = _IN_THE_MIDDLE.sub("_", name)
    return plain if plain.isascii() else _AROUND.sub("", plain) or plain


def is_verb(name: str) -> bool:
    """Whether a Chinese name is only a verb."""
    return not name.isascii() and not _AROUND.sub("", name)
