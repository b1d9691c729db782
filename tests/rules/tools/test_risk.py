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
    self.wifi.reset self.factoryReset self.ota.start self.device.shutdown self.system.power_off
    self.power.off self.system.poweroff self.system.turn_off self.enterWiFiConfig
    self.system.enter_config_mode self.bluetooth.provision self.wi_fi.forget self.Wi_Fi.stop
    self.nvs.clear self.data.clear self.system.hibernate self.system.halt self.door.unlock
    self.esp32Reset self.OTAStart
    lock.open lock.set_pin front_door.unlock door.open gate.open garage.open_door garage.toggle opendoor
    unlockdoor valve.open gas.turn_on alarm.disarm alarm.arm siren.on heater.set_power oven.preheat
    stove.on boiler.set_temperature power_cycle powerCycle system.power_off system.shutdown
    self.poweroff PowerOff self.halt_system self.deep_sleep reboot RESTART ReStart device.restart
    step2reset self.system.reset_state resetAll firmware.update ota.start upgrade_firmware self.update
    self.ota.read_and_flash assets.set_url flash.wipe network.set_ip wifi.connect wifi.forget x.WIFI_off
    wi_fi.stop self.reconfigureWiFi self.wifi.reset_status mqtt.set_server server.set_url ap.start
    provision cloud.unbind self.unpair account.logout token.set factory_reset factoryreset nvs.erase
    self.factory.clear_status sd.wipe self.sd.format self.files.delete data.clear history.delete
    storage.format self.get_and_clear printer.send_gcode i2c.write shell.exec laser.fire mower.start
    self.imu.calibrate
    门锁.开锁 门锁.开 打开门锁 车库.开门 大门.打开 门禁.打开 保险箱.打开 燃气阀.打开 水阀.关闭 警报.撤防
    加热器.打开 热水器.设置温度 烤箱.加热 电源.关闭 系统.关机 设备.断电
    关机 重启 设备.重启 固件.升级 网络.配置 WiFi.重置 配网 设置WiFi密码 云端.解绑 设备.解绑
    系统.恢复出厂设置 恢复出厂设置 存储卡.格式化 数据.清除 校准.开始
    self.application.launch self.application.kill open_app run_program kill_process take_screenshot
    self.screenshot.capture desktop.capture 应用.启动 关闭应用程序 截屏
"""

FREE = """
    self.arm.rotate self.preset_next self.flashlight_blink self.led.off self.screen.poweroff
    self.screen.clear self.servo.halt
    wifi.get_rssi wifi.status network.get_ip network.info firmware.get_version firmware.check_update
    lock.get_state door.is_open self.model.param_get heat_index.get outdoor.temperature display.update
    weather.update screen.clear screen.set_text screen.lock child_lock.on coffee.power_off
    self.lamp.power_off motor.power_off tv.power_on fan.set_power light.set_power fan.turn_off
    lamp.reset_color timer.reset timer.delete game.reset music.restart sleep_timer.set alarm_clock.set
    set_alarm_clock door_bell.ring doorbell.ring garage_light.on camera.flash led.flash flash_light.on
    pump.start relay.set gpio.set robot.dance self.arm.ready camera.take_photo self.kiwi_fish
    self.hotArea self.prefix_restarts
    灯.打开 风扇.关闭 音量.设置 网络.查询IP 门锁.查询状态 门锁状态 查询固件版本 获取温度 电池.获取电量
    屏幕.更新 屏幕.清空 咖啡机.关机 咖啡机.断电 门铃.响 闹钟.设置 音乐.播放
    定时器.删除 表情.重置 舵机.复位 机器人.前进 机器人.跳舞 灯带.设置颜色 水泵.启动 空调.打开 窗帘.打开
    热门歌曲 拍照
"""

HARMFUL_TEXTS = """
    Launch an application on the computer|Closes a running program|Terminate processes
    Take a screenshot of the desktop|启动应用程序|结束程序|把所有程序关掉|把卧室的电源关掉|截图并上传
    Unlock the front door.|Opens the garage door.|This tool unlocks the door.
    Used to open the main gate|Lock the door
    Toggle the garage door|Operates the gate|Closes the water valve|Turns the main valve off
    Turns the heater on
    Turn on the heater|Disarm the alarm|Turn off the alarm|Fire the laser|Send G-code to the printer
    Turns off the power of the device|Power cycle the device|Turn the device off|Turns off the device's power
    Upgrades the device's system
    Shut down the system|Cut the power
    Restarts the device.|Reboot.|Flip the panel setting and reboot.
    It will restart the device afterwards|reboots it
    Performs a factory reset.|Erase all data from the SD card|Format the SD card|Wipe the flash
    Delete all recordings
    Upgrade the firmware|Download and install new firmware|Configure the Wi-Fi|Forget all Wi-Fi networks
    Disconnect from the network|Unbind the device from the cloud|Deletes every file on the card
    打开门锁|开锁|用于打开大门|开门|把门打开|把灯和闸门打开|将车库门打开|关闭燃气阀门|打开燃气|开启加热器|撤防
    恢复出厂设置|擦除所有数据|格式化SD卡|清空所有记录|升级固件|重启|重启设备|将设备重启|修改后会重启设备|重新配网
    将证书解锁|把水泵断电|关机|断开电源|关闭设备电源|关闭系统|解除绑定|解绑设备
"""

HARMLESS_TEXTS = """
    Turn off the power of the LED|Turns off the LED power|Turn off the device's LED
    Turns off the robot's lights
    Show whether the door is open|Tells if the lock is locked|Display a picture of a lock
    Turn on the garage light
    Set the LED to blink, e.g. when the door is open|Turn off the light near the garage
    Set the door sensor light
    Move the robot to the door and stop|Close the app when the door opens|Open and close the hand
    Power off.
    Does not restart the device|Without restarting the device, set the color|Takes effect after a restart
    Restored after reboot|Store the value; it survives a reboot|Restart the song
    Reset the pose of the robot
    Set the volume. Format: JSON|Clear the screen|Update the display|Switch the display on or off
    Delete the timer
    Turns off the lamp. The network is not needed|Set an alarm for 7 am|Play the sound of a siren
    打开灯|打开门口的灯|关闭LED的电源|关闭灯的电源|关闭屏幕显示|不会重启设备|重启后生效|下次重启后生效|更新屏幕内容
    显示门的状态|专门用于打开灯|设置闹钟|前进，后退，停止|复位机器人到初始位置|停止所有动作并复位|播放开门声|打开窗户
    控制机器人走到门前|咖啡机关机
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
