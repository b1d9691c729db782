"""The risks of tools, the rights that they require, and the words in names that reveal them."""

from enum import StrEnum
from typing import Final


class Risk(StrEnum):
    """Harm that a tool can do."""

    ACCESS = "access"
    ALARM = "alarm"
    COMPUTER = "computer"
    """Programs and the screen of a computer."""
    DECLARED = "declared"
    """The device marks the tool as destructive."""
    ERASE = "erase"
    FIRMWARE = "firmware"
    HEAT = "heat"
    IDENTITY = "identity"
    MACHINE = "machine"
    NETWORK = "network"
    POWER = "power"
    RESTART = "restart"
    SETUP = "setup"
    VALVE = "valve"


GUARDED_RISKS: Final = frozenset({Risk.FIRMWARE, Risk.IDENTITY, Risk.NETWORK})
"""Only for administrators, in any way."""
ADMIN_RISKS: Final = GUARDED_RISKS | {Risk.RESTART}
"""Only administrators may call such a tool by its name. All users may press restart buttons, as elsewhere."""

RISK_WORDS: Final[dict[Risk, tuple[str, ...]]] = {
    Risk.ACCESS: (
        "door doors gate gates garage lock locks unlock deadbolt latch turnstile open+safe open+barrier",
        "opendoor closedoor opengate closegate opengarage closegarage",
        "kaimen guanmen kaisuo guansuo jiesuo mensuo menjin suomen damen chekumen daozha",
        "门 锁 道闸 闸机 车库 保险柜 保险箱",
    ),
    Risk.ALARM: (
        "alarm alarms disarm siren burglar security",
        "baojing jingbao jingdi bufang chefang anfang",
        "警报 报警 警铃 警笛 布防 撤防 安防",
    ),
    Risk.COMPUTER: (
        "application applications desktop kill terminate",
        "screencap screencapture screenrecord screenshot screenshots",
        "open+app start+app close+app run+program start+program close+program",
        "yingyong chengxu jincheng jieping jietu zhuomian",
        "应用 程序 进程 桌面 截屏 截图",
    ),
    Risk.ERASE: (
        "delete destroy erase forget format purge remove uninstall wipe clear+all clear+data clear+history",
        "shanchu cachu geshihua xiezai",
        "删除 擦除 抹除 抹掉 移除 卸载 格式化 清+数据 清+记录 清+存储",
    ),
    Risk.FIRMWARE: (
        "asset assets bootloader burn dfu downgrade efuse firmware fw ota partition partitions rollback",
        "upgrade update+system update+device update+software write+flash program+flash",
        "gujian shengji shuaji shaolu fenqu",
        "固件 升级 刷机 烧录 分区 闪存 系统+更新",
    ),
    Risk.HEAT: (
        "heat heater heaters heating preheat boiler burner cooktop fireplace fryer furnace grill hotplate",
        "ignite kettle oven radiator sauna soldering stove thermostat toaster",
        "jiare zhire dianre reshuiqi nuanqi dinuan qunuanqi kaoxiang guolu dianhuo",
        "加热 电热 制热 热水器 取暖 暖气 地暖 电暖 烤箱 锅炉 灶 火炉 点火",
    ),
    Risk.IDENTITY: (
        "account bind certificate credential credentials deregister factory factoryreset identity logout mac",
        "nvs pair pairing passcode password secret secrets token unbind unpair unregister uuid",
        "bangding jiebang peidui zhuxiao dengchu mima zhanghao zhanghu huifuchuchang chuchang",
        "绑定 解绑 配对 注销 登出 退出登录 密码 令牌 证书 账号 账户 帐号 身份 出厂",
    ),
    Risk.MACHINE: (
        "blade cnc drill eeprom eval exec gcode i2c iic laser modbus mower register registers saw shell spi",
        "uart jiguang",
        "激光 寄存器 代码",
    ),
    Risk.NETWORK: (
        "4g ap apn cellular dhcp dns ethernet gateway hostname hotspot modem mqtt netif network networking",
        "provision provisioning proxy router server softap ssid vpn websocket wifi wlan",
        "wangluo lianwang duanwang peiwang redian luyouqi fuwuqi",
        "网络 联网 断网 配网 无线网 热点 路由器 服务器",
    ),
    Risk.POWER: (
        "breaker deepsleep hibernate hibernation mains powercycle poweroff shutdown",
        "system+off device+off machine+off computer+off system+halt system+sleep device+sleep",
        "guanji xiumian duandian dianzha",
        "关机 休眠 断电 总闸 电闸 断路器 电源 供电",
    ),
    Risk.RESTART: ("reboot reset restart chongqi chongzhi fuwei", "重启 重新启动 重置 复位 还原"),
    Risk.SETUP: (
        "aec calibrate calibration config configuration configure reconfigure trim trims jiaozhun biaoding",
        "校准 标定 配置 微调",
    ),
    Risk.VALVE: (
        "faucet gas hydrant valve valves famen ranqi meiqi shuilongtou",
        "阀 燃气 煤气 天然气 水龙头",
    ),
}
"""English words, pinyin and Chinese. A name has the risk if it has one of them; with `+`, if it has both."""

HARMLESS: Final = (
    "doorbell alarmclock childlock keylock screenlock lockscreen",
    "门铃 门口 门前 门外 门边 门旁 专门 热门 部门 入门 闹钟 童锁 锁屏 屏幕锁 热点新闻",
)
"""Words, and pairs of words, that contain one of those above and mean something else."""
READING: Final = "check get has is list measure query read scan 获取 查询 查看 得到 检查 检测 读取 扫描 是否"
"""A tool only reads if the last part of its name begins with one of these,"""
STATES: Final = "address info ip level rssi ssid state status temperature version 状态 信息 电量 温度"
"""or is one of these,"""
ALSO_ACTS: Final = "and or then 并 再 后"
"""and has none of these."""
