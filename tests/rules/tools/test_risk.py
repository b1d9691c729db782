"""Which risks tools have, told by the catalogue, their names, descriptions and hints."""

from typing import Any

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.mcp.tool import Tool
from custom_components.xiaozhi.tools.risk_words import Risk
from custom_components.xiaozhi.tools.tool_risks import is_reading, risks_of
from scripts.tool_table import stock_tools
from tests.rules.tools.sample_tools import listed

WITHHELD = """
    self.system.turn_off self.system.enter_config_mode self.system.hibernate gate.open garage.toggle opendoor
    gas.turn_on alarm.arm siren.on stove.on boiler.set_temperature powerCycle PowerOff self.halt_system
    self.deep_sleep reboot resetAll firmware.update self.update self.ota.read_and_flash assets.set_url
    network.set_ip wi_fi.stop server.set_url ap.start self.unpair token.set sd.wipe self.sd.format data.clear
    printer.send_gcode i2c.write laser.fire mower.start 大门.打开 保险箱.打开 水阀.关闭 热水器.设置温度
    电源.关闭 设备.断电 关机 重启 配网 云端.解绑 恢复出厂设置 数据.清除 校准.开始 self.application.launch
    open_app run_program kill_process desktop.capture 应用.启动 关闭应用程序 截屏 front_door.unlock
    wifi.forget self.factoryReset device.restart account.logout shell.exec 门锁.开锁
"""

FREE = """
    self.arm.rotate self.preset_next self.flashlight_blink self.led.off wifi.status network.info
    firmware.check_update lock.get_state door.is_open outdoor.temperature screen.lock child_lock.on
    coffee.power_off motor.power_off game.reset music.restart sleep_timer.set alarm_clock.set door_bell.ring
    garage_light.on led.flash relay.set robot.dance self.kiwi_fish self.hotArea self.prefix_restarts
    门锁.查询状态 门锁状态 查询固件版本 屏幕.更新 屏幕.清空 门铃.响 闹钟.设置 定时器.删除 表情.重置 舵机.复位
    窗帘.打开 热门歌曲
"""

HARMFUL_TEXTS = """
    Launch an application on the computer|Terminate processes|Take a screenshot of the desktop|启动应用程序
    结束程序|把所有程序关掉|把卧室的电源关掉|截图并上传|Lock the door|Toggle the garage door|Operates the gate
    Turns the main valve off|Turn on the heater|Disarm the alarm|Turn off the alarm|Fire the laser
    Send G-code to the printer|Turns off the power of the device|Power cycle the device|Turn the device off
    Upgrades the device's system|Shut down the system|Cut the power|It will restart the device afterwards
    Performs a factory reset.|Format the SD card|Wipe the flash|Delete all recordings
    Download and install new firmware|Configure the Wi-Fi|Forget all Wi-Fi networks
    Disconnect from the network|Deletes every file on the card|打开门锁|关闭燃气阀门|打开燃气|开启加热器|撤防
    恢复出厂设置|擦除所有数据|清空所有记录|升级固件|重新配网|将证书解锁|关机|断开电源|解除绑定
"""

HARMLESS_TEXTS = """
    Turn off the power of the LED|Show whether the door is open
    Set the LED to blink, e.g. when the door is open|Set the door sensor light
    Move the robot to the door and stop|Close the app when the door opens|Open and close the hand
    Does not restart the device|Without restarting the device, set the color|Takes effect after a restart
    Restored after reboot|Restart the song|Set the volume. Format: JSON
    Turns off the lamp. The network is not needed|Set an alarm for 7 am|Play the sound of a siren|打开门口的灯
    关闭LED的电源|不会重启设备|显示门的状态|设置闹钟|播放开门声|打开窗户|控制机器人走到门前|咖啡机关机
"""


def words(listed: str) -> list[str]:
    return listed.split()


def texts(listed: str) -> list[str]:
    return [text.strip() for line in listed.strip().splitlines() for text in line.split("|")]


def test_a_name_tells_of_a_risk_or_of_none() -> None:
    assert [name for name in words(WITHHELD) if not risks_of(listed(name))] == []
    assert [name for name in words(FREE) if risks_of(listed(name))] == []


def test_a_description_tells_of_a_risk_or_only_mentions_what_could_do_harm() -> None:
    assert [text for text in texts(HARMFUL_TEXTS) if not risks_of(listed("x.run", description=text))] == []
    assert [text for text in texts(HARMLESS_TEXTS) if risks_of(listed("x.run", description=text))] == []


@pytest.mark.parametrize(
    "text",
    [
        "Tells whether the door is open or locked",
        "Get the firmware version, to decide whether to upgrade the firmware",
        "Get the lock state before you unlock the door",
        "获取门锁状态，判断是否需要开锁",
    ],
)
def test_what_reads_may_mention_what_it_is_for(text: str) -> None:
    assert risks_of(listed("x.get_state", description=text)) == ()


@pytest.mark.parametrize("text", ["Unlock the door", "Opens the garage", "开锁"])
def test_a_reading_name_does_not_hide_what_the_description_begins_with(text: str) -> None:
    assert risks_of(listed("x.get_state", description=text)) == (Risk.ACCESS,)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"annotations": {"readOnlyHint": True, "destructiveHint": False}}, (Risk.ACCESS,)),
        ({"annotations": {"destructiveHint": True}}, (Risk.ACCESS, Risk.DECLARED)),
        ({"annotations": {"title": "Reboot"}}, (Risk.ACCESS, Risk.RESTART)),
        ({"title": "Show the time"}, (Risk.ACCESS,)),
    ],
)
def test_hints_and_titles_never_take_a_risk_away(more: dict[str, Any], expected: tuple[Risk, ...]) -> None:
    assert risks_of(listed("lock.open", **more)) == expected


def test_a_risk_that_only_the_device_tells_counts() -> None:
    assert risks_of(listed("x.run", annotations={"destructiveHint": True})) == (Risk.DECLARED,)


def test_of_stock_firmware_only_these_have_risks() -> None:
    stock = {found.name: found for tools in stock_tools().values() for found in tools}
    assert {name: risks for name, found in stock.items() if (risks := risks_of(found))} == {
        "self.AEC.set_mode": (Risk.SETUP,),
        "self.assets.set_download_url": (Risk.FIRMWARE,),
        "self.disp.network": (Risk.NETWORK,),
        "self.dog.set_trim": (Risk.SETUP,),
        "self.edarobot.set_trim": (Risk.SETUP,),
        "self.electron.set_trim": (Risk.SETUP,),
        "self.otto.set_trim": (Risk.SETUP,),
        "self.reboot": (Risk.RESTART,),
        "self.res.esp_restart": (Risk.RESTART,),
        "self.system.reconfigure_wifi": (Risk.NETWORK, Risk.SETUP),
        "self.system.set_aec": (Risk.SETUP,),
        "self.system.switch_TFT": (Risk.RESTART,),
        "self.upgrade_firmware": (Risk.FIRMWARE,),
    }


@given(st.text(max_size=80), st.text(max_size=400))
def test_any_words_are_judged(name: str, description: str) -> None:
    assert is_reading(name) in {True, False}
    if (found := Tool.from_dict({"name": name, "description": description})) is not None:
        assert set(risks_of(found)) <= set(Risk)
