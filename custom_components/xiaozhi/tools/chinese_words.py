"""English for Chinese words in names and descriptions of tools, in the words of `risk_words`."""

import re
from typing import Final

# Grouped by the word that has the same risks. Some are listed because they contain another one: 专门 does not
# mean 门.
_WORDS: Final[dict[str, str]] = {
    chinese: english
    for english, group in {
        # Reading.
        "get": "获取 查询 查看 得到 检查 检测",
        "read": "读取 扫描",
        "is": "是否",
        "state": "状态 信息",
        "level": "强度 电量 温度 地址",
        "version": "版本",
        # Acting.
        "open": "打开 开启 开",
        "close": "关闭 关上 关",
        "start": "开始 启动",
        "stop": "停止 结束",
        "set": "设置 设定",
        "change": "修改 更改 切换",
        "enter": "进入",
        "control": "控制 操作",
        "send": "发送",
        "execute": "执行",
        "write": "写入",
        "disconnect": "断开",
        "connect": "连接",
        "switch": "开关",
        # Access, water and gas, alarms, heat.
        "door": "门 闸门 道闸 闸机 门禁",
        "lock": "门锁 锁 上锁 锁定 密码锁",
        "unlock": "解锁 开锁",
        "garage": "车库 车库门 卷帘门",
        "safe": "保险柜 保险箱",
        "valve": "阀门 阀 燃气 煤气 天然气 水龙头",
        "alarm": "警报 报警 警铃",
        "siren": "警笛",
        "disarm": "撤防",
        "arm alarm": "布防",
        "security": "安防",
        "alarm clock": "闹钟",
        "heat": "加热 电热 制热",
        "heater": "加热器 取暖器 暖气 地暖 热水器 电暖器 电热毯 烤箱 锅炉 炉灶 灶 火炉",
        "ignite": "点火",
        # Power and restarts.
        "power": "电源 供电",
        "disable power": "断电",
        "shutdown": "关机",
        "power on": "开机 通电 上电",
        "hibernate": "休眠",
        "sleep": "睡眠",
        "breaker": "总闸 电闸 断路器",
        "restart": "重启 重新启动",
        "reset": "复位 重置 还原",
        # Firmware, network, identity, data.
        "firmware": "固件",
        "partition": "分区",
        "flash firmware": "刷机 烧录",
        "upgrade": "升级",
        "update": "更新",
        "flash memory": "闪存",
        "network": "网络 联网 无线网 热点 路由器",
        "provision": "配网",
        "server": "服务器",
        "factoryreset": "恢复出厂设置 恢复出厂 出厂设置",
        "factory": "出厂",
        "unbind": "解绑 解除绑定 取消绑定 取消配对 注销 退出登录 登出",
        "bind": "绑定 配对",
        "password": "密码 令牌 证书 账号 账户 帐号 身份",
        "erase": "擦除 抹除 抹掉 卸载",
        "delete": "删除 清空 清除 移除 格式化",
        "record": "记录",
        "data": "数据 资料 文件 内存 存储 存储卡 卡",
        "calibrate": "校准 标定",
        "trim": "微调",
        "config": "配置",
        "aec": "回声消除",
        "laser": "激光",
        "register": "寄存器",
        "gcode": "G代码",
        # The device itself and its parts.
        "device": "设备 本机 整机 系统 主机 小智 开发板 主板 芯片 电脑",
        "robot": "机器人",
        "software": "软件",
        "application": "应用程序 应用 进程",
        "program": "程序",
        "desktop": "桌面",
        "capture screenshot": "截屏 截图",
        "all": "所有 全部",
        "screen": "屏幕 显示屏 屏",
        "screen lock": "锁屏",
        "child lock": "童锁",
        "display": "显示",
        "light": "灯",
        "timer": "定时器 计时器 倒计时",
        "play": "播放",
        "sound": "声音 音效 声 音乐 歌曲",
        "face": "表情",
        "motor": "电机 舵机 风扇 水泵 游戏 文字 文本 提醒",
        "keyboard": "键盘",
        # Negations.
        "not": "不会 不要 不能 不用 不必 不需要 无需 无须 避免 防止 禁止",
        "need": "需要",
        "next": "下次 每次",
        "after": "之后 以后 后 之前 以前 前 时",
        "ba": "把 将",
        "and": "并 然后 和",
        "": "的 了",
        # Other words that contain one of these.
        "doorbell": "门铃",
        "leave": "离开",
        "other": "专门 热门 门口 门前 门外 门边 门旁 关于 前进 向前 后退 向后 热点新闻",
    }.items()
    for chinese in group.split()
}
_ANY: Final = re.compile("|".join(sorted(_WORDS, key=len, reverse=True)))


def in_english(text: str) -> str:
    """Replace the known Chinese words in a text by English; the rest stays."""
    return text if text.isascii() else _ANY.sub(lambda found: f" {_WORDS[found.group()]} ", text)
