"""The table of what tools can do harm with: words of names, and what descriptions say that a tool does.

It follows Home Assistant, which does not expose locks, doors, alarms and the like by default.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from .words import LIGHTS

__all__ = [
    "ADMIN_KINDS",
    "DANGERS",
    "DISABLED_KINDS",
    "EVERYDAY",
    "GENERIC",
    "GUARDED_KINDS",
    "ITSELF",
    "Danger",
    "DangerRow",
    "word_set",
]


class Danger(StrEnum):
    """Kinds of harm."""

    ACCESS = "access"
    ALARM = "alarm"
    DECLARED = "declared"
    """The device itself says so."""
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


GUARDED_KINDS: Final = frozenset({Danger.FIRMWARE, Danger.IDENTITY, Danger.NETWORK})
"""Only an administrator does this, in any way."""
ADMIN_KINDS: Final = GUARDED_KINDS | {Danger.RESTART}
"""Only an administrator calls such a tool by its name; all users may press restart buttons, as elsewhere."""
DISABLED_KINDS: Final = ADMIN_KINDS | {Danger.ACCESS, Danger.ERASE, Danger.POWER, Danger.SETUP}
"""Entities that do this are disabled until their owner enables them."""


def word_set(*texts: str) -> frozenset[str]:
    """Return the words of texts."""
    return frozenset(word for text in texts for word in text.split())


ITSELF: Final = word_set(
    "self system device chip board esp esp32 mcu cpu robot xiaozhi machine host pc computer",
    "server nas unit",
)
"""What a device is called."""
GENERIC: Final = ITSELF | word_set(
    "all app auto automatic battery button check close control cut cycle disable down enable",
    "execute force full get hard immediate it its kernel key kill main mode now off on open",
    "power press program set soft software supply switch the this to toggle total turn",
    "version whole your",
)
"""Beside these, the device itself is meant; beside others, a part or an appliance: coffee.power_off."""
EVERYDAY: Final = LIGHTS | word_set(
    "animation backlight body canvas caption chassis clock color colour count counter",
    "countdown cursor display effect eye eyes face fan game gimbal hand head lcd leg lyrics",
    "matrix message motor motors music neck notification odometer oled pixel pixels playlist",
    "pose position posture pump queue relay reminder score screen servo servos song sound",
    "stopwatch story subtitle text theme timer timers track video volume wallpaper zoom",
)
"""What goes on after it was cleared, reset or restarted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DangerRow:
    """Words of one kind of harm."""

    kind: Danger
    words: frozenset[str] = frozenset()
    """One of these in a name is enough,"""
    unless: frozenset[str] = frozenset()
    """but not together with one of these,"""
    needs: frozenset[str] = frozenset()
    """and only together with one of these, if there are any."""
    itself: bool = False
    """Whether it is only harm if it is done to the device itself."""
    acts: frozenset[str] = frozenset()
    """In a description: what is done"""
    things: frozenset[str] = frozenset()
    """to one of these."""
    bare: frozenset[str] = frozenset()
    """In a description: what is harm without being done to something."""


DANGERS: Final = (
    DangerRow(
        kind=Danger.ACCESS,
        words=word_set("unlock deadbolt latch turnstile garage"),
        unless=LIGHTS,
        acts=word_set("open close lock unlock release trigger operate control toggle"),
        things=word_set(
            "lock locks door doors gate gates garage deadbolt latch safe barrier turnstile",
        ),
        bare=word_set("unlock"),
    ),
    DangerRow(
        kind=Danger.ACCESS,
        words=word_set("door doors gate gates lock locks"),
        unless=LIGHTS
        | word_set(
            "bell chime child face focus key keyboard keys orientation rotation screen volume",
        ),
    ),
    DangerRow(
        kind=Danger.ACCESS, words=word_set("safe barrier"), needs=word_set("open close lock raise lift")
    ),
    DangerRow(
        kind=Danger.VALVE,
        words=word_set("valve valves gas faucet hydrant"),
        acts=word_set("open close shut operate control enable disable turn toggle"),
        things=word_set("valve valves gas faucet hydrant"),
    ),
    DangerRow(
        kind=Danger.ALARM,
        words=word_set("alarm alarms"),
        unless=word_set("clock wake timer snooze time hour minute morning ring ringtone"),
        acts=word_set("arm bypass disable disarm enable mute silence trigger"),
        things=word_set("alarm alarms siren security"),
        bare=word_set("disarm"),
    ),
    DangerRow(kind=Danger.ALARM, words=word_set("disarm siren burglar security")),
    DangerRow(
        kind=Danger.HEAT,
        words=word_set(
            "heat heater heaters heating preheat boiler oven stove furnace cooktop hotplate kettle",
            "radiator fireplace burner ignite grill toaster fryer sauna soldering thermostat",
        ),
        unless=word_set("map index sensor"),
        acts=word_set(
            "enable disable open close control start set turn toggle ignite heat preheat",
        ),
        things=word_set(
            "heat heater heaters heating boiler oven stove furnace cooktop hotplate kettle radiator",
            "fireplace burner sauna thermostat",
        ),
    ),
    DangerRow(
        kind=Danger.POWER,
        words=word_set("power shutdown"),
        itself=True,
        acts=word_set("close cut cycle disable disconnect interrupt kill shutdown toggle"),
        things=ITSELF | word_set("power mains electricity breaker"),
        bare=word_set("shutdown"),
    ),
    DangerRow(kind=Danger.POWER, words=word_set("off down halt"), needs=ITSELF - {"self"}, itself=True),
    DangerRow(
        kind=Danger.POWER,
        words=word_set("breaker deepsleep hibernate hibernation mains sleep"),
        unless=word_set(
            "timer screen display music sound sounds song story noise face emotion eyes",
        ),
        bare=word_set("hibernate"),
    ),
    DangerRow(
        kind=Danger.RESTART,
        words=word_set("restart reset"),
        unless=EVERYDAY,
        acts=word_set("restart reboot reset"),
        things=ITSELF - {"machine", "robot"},
        bare=word_set("restart reboot"),
    ),
    DangerRow(kind=Danger.RESTART, words=word_set("reboot tft")),
    DangerRow(
        kind=Danger.FIRMWARE,
        words=word_set(
            "asset assets bootloader dfu downgrade efuse firmware fw ota partition partitions upgrade",
            "rollback",
        ),
        acts=word_set(
            "burn change download downgrade erase flash install program replace rollback update",
            "upgrade write",
        ),
        things=word_set("firmware bootloader partition partitions ota assets"),
    ),
    DangerRow(
        kind=Danger.FIRMWARE,
        words=word_set("flash"),
        needs=word_set("burn chip erase format image memory program rom wipe write"),
    ),
    DangerRow(
        kind=Danger.FIRMWARE,
        words=word_set("update"),
        itself=True,
        acts=word_set("update upgrade"),
        things=ITSELF | word_set("software"),
    ),
    DangerRow(
        kind=Danger.NETWORK,
        words=word_set(
            "ap apn cellular dhcp dns ethernet gateway hotspot hostname modem mqtt netif network",
            "networking provision provisioning proxy router server softap ssid vpn websocket wifi",
            "wlan",
        ),
        acts=word_set(
            "change clear close config configure connect delete disable disconnect enable enter",
            "forget join leave open reconfigure reset restart set setup switch",
        ),
        things=word_set("dns hotspot mqtt network router server ssid wifi wlan"),
        bare=word_set("provision"),
    ),
    DangerRow(
        kind=Danger.IDENTITY,
        words=word_set(
            "account bind certificate credential credentials deregister factory factoryreset identity",
            "logout mac nvs pair pairing passcode password secret secrets token unbind unpair",
            "unregister uuid",
        ),
        acts=word_set("bind change delete remove reset set unbind unpair unregister"),
        things=word_set(
            "account cloud credential credentials identity nvs owner password passcode token",
        ),
        bare=word_set("factoryreset unbind unpair unregister logout"),
    ),
    DangerRow(
        kind=Danger.ERASE,
        words=word_set("clear delete format remove purge"),
        unless=EVERYDAY | word_set("audio date image output"),
        acts=word_set("clear delete destroy erase format purge remove uninstall wipe"),
        things=word_set(
            "card content contents data database disk drive everything file files flash history log",
            "logs memory nvs photos partition record records recording recordings sd settings storage",
        ),
    ),
    DangerRow(kind=Danger.ERASE, words=word_set("destroy erase forget uninstall wipe")),
    DangerRow(
        kind=Danger.MACHINE,
        words=word_set(
            "blade cnc drill eeprom eval exec gcode iic laser modbus mower register registers saw",
            "shell spi uart",
        ),
        acts=word_set("send execute run write start fire"),
        things=word_set(
            "blade cnc drill gcode iic laser modbus mower register registers saw shell spi uart",
        ),
    ),
    DangerRow(
        kind=Danger.SETUP,
        words=word_set(
            "aec calibrate calibration config configuration configure reconfigure trim trims",
        ),
    ),
)
