"""The risks of tools, what they mean for entities and users' rights, and the words that reveal them.

As in Home Assistant, locks, doors, alarms and the like are not exposed by default.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from .tool_names import LIGHTS, word_set


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
DISABLED_RISKS: Final = ADMIN_RISKS | {Risk.ACCESS, Risk.ERASE, Risk.POWER, Risk.SETUP}
"""Entities with these risks are disabled by default."""


ITSELF: Final = word_set(
    "self system device chip board esp esp32 mcu cpu robot xiaozhi machine host pc computer",
    "server nas unit",
)
"""Words for the device itself."""
GENERIC: Final = ITSELF | word_set(
    "all app auto automatic battery button check close control cut cycle disable down enable",
    "execute force full get hard immediate it its kernel key kill main mode now off on open",
    "power press program set soft software supply switch the this to toggle total turn",
    "version whole your",
)
"""With only these words, the device itself is meant; else a part or an appliance: coffee.power_off."""
EVERYDAY: Final = LIGHTS | word_set(
    "animation backlight body canvas caption chassis clock color colour count counter",
    "countdown cursor display effect eye eyes face fan game gimbal hand head lcd leg lyrics",
    "matrix message motor motors music neck notification odometer oled pixel pixels playlist",
    "pose position posture pump queue relay reminder score screen servo servos song sound",
    "stopwatch story subtitle text theme timer timers track video volume wallpaper zoom",
)
"""Things that may be cleared, reset or restarted without harm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskRow:
    """Words of one risk, in names and in descriptions."""

    risk: Risk
    words: frozenset[str] = frozenset()
    """A name has the risk if it has one of these words,"""
    unless: frozenset[str] = frozenset()
    """none of these,"""
    needs: frozenset[str] = frozenset()
    """and, if given, one of these."""
    itself: bool = False
    """Whether the risk needs the device itself as the object."""
    acts: frozenset[str] = frozenset()
    """A description has the risk if one of these verbs"""
    things: frozenset[str] = frozenset()
    """has one of these objects."""
    bare: frozenset[str] = frozenset()
    """Verbs that are a risk in a description also without an object."""


RISK_ROWS: Final = (
    RiskRow(
        risk=Risk.ACCESS,
        words=word_set("unlock deadbolt latch turnstile garage"),
        unless=LIGHTS,
        acts=word_set("open close lock unlock release trigger operate control toggle"),
        things=word_set(
            "lock locks door doors gate gates garage deadbolt latch safe barrier turnstile",
        ),
        bare=word_set("unlock"),
    ),
    RiskRow(
        risk=Risk.ACCESS,
        words=word_set("door doors gate gates lock locks"),
        unless=LIGHTS
        | word_set(
            "bell chime child face focus key keyboard keys orientation rotation screen volume",
        ),
    ),
    RiskRow(risk=Risk.ACCESS, words=word_set("safe barrier"), needs=word_set("open close lock raise lift")),
    RiskRow(
        risk=Risk.VALVE,
        words=word_set("valve valves gas faucet hydrant"),
        acts=word_set("open close shut operate control enable disable turn toggle"),
        things=word_set("valve valves gas faucet hydrant"),
    ),
    RiskRow(
        risk=Risk.ALARM,
        words=word_set("alarm alarms"),
        unless=word_set("clock wake timer snooze time hour minute morning ring ringtone"),
        acts=word_set("arm bypass disable disarm enable mute silence trigger"),
        things=word_set("alarm alarms siren security"),
        bare=word_set("disarm"),
    ),
    RiskRow(risk=Risk.ALARM, words=word_set("disarm siren burglar security")),
    RiskRow(
        risk=Risk.HEAT,
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
    RiskRow(
        risk=Risk.POWER,
        words=word_set("power shutdown"),
        itself=True,
        acts=word_set("close cut cycle disable disconnect interrupt kill shutdown toggle"),
        things=ITSELF | word_set("power mains electricity breaker"),
        bare=word_set("shutdown"),
    ),
    RiskRow(risk=Risk.POWER, words=word_set("off down halt"), needs=ITSELF - {"self"}, itself=True),
    RiskRow(
        risk=Risk.POWER,
        words=word_set("breaker deepsleep hibernate hibernation mains sleep"),
        unless=word_set(
            "timer screen display music sound sounds song story noise face emotion eyes",
        ),
        bare=word_set("hibernate"),
    ),
    RiskRow(
        risk=Risk.RESTART,
        words=word_set("restart reset"),
        unless=EVERYDAY,
        acts=word_set("restart reboot reset"),
        things=ITSELF - {"machine", "robot"},
        bare=word_set("restart reboot"),
    ),
    RiskRow(risk=Risk.RESTART, words=word_set("reboot tft")),
    RiskRow(
        risk=Risk.FIRMWARE,
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
    RiskRow(
        risk=Risk.FIRMWARE,
        words=word_set("flash"),
        needs=word_set("burn chip erase format image memory program rom wipe write"),
    ),
    RiskRow(
        risk=Risk.FIRMWARE,
        words=word_set("update"),
        itself=True,
        acts=word_set("update upgrade"),
        things=ITSELF | word_set("software"),
    ),
    RiskRow(
        risk=Risk.NETWORK,
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
    RiskRow(
        risk=Risk.IDENTITY,
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
    RiskRow(
        risk=Risk.ERASE,
        words=word_set("clear delete format remove purge"),
        unless=EVERYDAY | word_set("audio date image output"),
        acts=word_set("clear delete destroy erase format purge remove uninstall wipe"),
        things=word_set(
            "card content contents data database disk drive everything file files flash history log",
            "logs memory nvs photos partition record records recording recordings sd settings storage",
        ),
    ),
    RiskRow(risk=Risk.ERASE, words=word_set("destroy erase forget uninstall wipe")),
    RiskRow(
        risk=Risk.MACHINE,
        words=word_set(
            "blade cnc drill eeprom eval exec gcode iic laser modbus mower register registers saw",
            "shell spi uart",
        ),
        acts=word_set("send execute run write start fire"),
        things=word_set(
            "blade cnc drill gcode iic laser modbus mower register registers saw shell spi uart",
        ),
    ),
    RiskRow(
        risk=Risk.COMPUTER,
        words=word_set("app apps application applications process processes program programs"),
        needs=word_set("close kill launch open quit run start stop terminate"),
        unless=word_set("brew bake cook dish washer washing"),
        acts=word_set("close kill launch open quit run start stop terminate"),
        things=word_set("application applications process processes program programs software"),
    ),
    RiskRow(
        risk=Risk.COMPUTER,
        words=word_set("desktop screencap screencapture screenrecord screenshot screenshots"),
        acts=word_set("capture grab record share"),
        things=word_set("desktop monitor screen screens screenshot screenshots"),
    ),
    RiskRow(
        risk=Risk.SETUP,
        words=word_set(
            "aec calibrate calibration config configuration configure reconfigure trim trims",
        ),
    ),
)
