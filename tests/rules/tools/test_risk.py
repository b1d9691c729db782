"""Which risks tools have, told by the catalogue, words in their names and hints."""

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.tools.risk_words import Risk
from custom_components.xiaozhi.tools.tool_risks import risks_in_name, risks_of
from tests.rules.tools.sample_tools import listed

WITHHELD = """
    self.system.turn_off self.system.enter_config_mode self.system.hibernate gate.open garage.toggle opendoor
    gas.turn_on alarm.arm siren.on stove.on boiler.set_temperature powerCycle PowerOff self.halt_system
    self.deep_sleep reboot resetAll ReSet firmware.update self.ota.read_and_flash assets.set_url shut_down
    network.set_ip wi_fi.stop server.set_url ap.start self.unpair token.set sd.wipe self.sd.format data.clear
    printer.send_gcode i2c.write laser.fire mower.start 大门.打开 保险箱.打开 水阀.关闭 热水器.设置温度
    电源.关闭 设备.断电 关机 重启 配网 云端.解绑 恢复出厂设置 数据.清除 校准.开始 self.application.launch
    open_app run_program kill_process desktop.capture 应用.启动 关闭应用程序 截屏 front_door.unlock
    wifi.forget self.factoryReset device.restart account.logout shell.exec 门锁.开锁 重置状态 查询并重启
    kai_men guanJi self.chong_qi peiwang huifu_chuchang shengji.start 4g.connect game.reset coffee.power_off
"""

FREE = """
    self.arm.rotate self.preset_next self.flashlight_blink self.led.off wifi.status network.info
    firmware.check_update lock.get_state door.is_open outdoor.temperature screen.lock child_lock.on
    sleep_timer.set alarm_clock.set door_bell.ring doorBell.ring light.on led.flash relay.set robot.dance
    self.kiwi_fish self.hotArea self.prefix_restarts self.screen.clear display.update pump.turn_off
    门锁.查询状态 查询固件版本 屏幕.更新 屏幕.清空 门铃.响 闹钟.设置 窗帘.打开 热门歌曲
"""


def words(listed: str) -> list[str]:
    return listed.split()


def test_words_in_a_name_tell_of_a_risk_or_of_none() -> None:
    assert [name for name in words(WITHHELD) if not risks_of(listed(name))] == []
    assert [name for name in words(FREE) if risks_of(listed(name))] == []


def test_a_description_counts_for_nothing() -> None:
    assert risks_of(listed("x.run", description="Unlocks the door", title="Reboot")) == ()


@pytest.mark.parametrize(
    ("name", "hints", "expected"),
    [
        ("lock.open", {"readOnlyHint": True, "destructiveHint": False}, (Risk.ACCESS,)),
        ("lock.open", {"destructiveHint": True}, (Risk.ACCESS, Risk.DECLARED)),
        ("lock.get_state", {"readOnlyHint": False}, (Risk.ACCESS,)),
        ("self.reboot", {"readOnlyHint": True}, (Risk.RESTART,)),
        ("x.run", {"destructiveHint": True}, (Risk.DECLARED,)),
        ("x.run", {"readOnlyHint": False}, ()),
    ],
)
def test_a_hint_may_add_a_risk_and_never_takes_one_away(
    name: str, hints: dict[str, bool], expected: tuple[Risk, ...]
) -> None:
    assert risks_of(listed(name, annotations=hints)) == expected


@given(st.text(max_size=128))
def test_any_name_is_judged(name: str) -> None:
    assert set(risks_in_name(name)) <= set(Risk)
