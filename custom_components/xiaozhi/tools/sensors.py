"""Maps tools that are only read, and the members of their answers, to sensors."""

from typing import Any, Final

from homeassistant.const import EntityCategory

from ..protocol.mcp.tool import Tool
from .catalogue import CATALOGUE, StockTool, stock_tool
from .entities import BinarySensorTool, Reading, SensorTool, ToolEntity
from .everyday import everyday_words, without_verb
from .meanings import is_detection, meaning_of
from .measures import is_state, measure_of, mentions_measure, only_measure
from .parsing import parse
from .pool import ToolPool, join, key_of, split
from .values import MemberKind
from .words import ANSWERS, words

__all__ = ["SensorMapper"]

# Each reading costs the device's time and stops its microphone; the owner can switch on more.
_MAX_READ: Final = 16


class SensorMapper:
    """Makes sensors of the tools in a pool; only the first ones are enabled."""

    def __init__(self, pool: ToolPool) -> None:
        self._pool = pool
        self._enabled = 0
        self._unnamed: set[str] = set()

    def sensor(self, tool: Tool, stock: StockTool) -> ToolEntity | None:
        """Return the sensor of a tool without arguments; None if its answer tells nothing."""
        if tool.name not in CATALOGUE and tool.name in self._pool.shapes:
            return None
        parsed = parse(tool.name)
        group, verb = split(tool.name)
        if not ANSWERS.search(verb) and (tool.name in CATALOGUE or parsed.action not in {"get", "is"}):
            return None
        subject = join(group, without_verb(ANSWERS.sub("", verb)))
        common = self._pool.common(stock, self._pool.take(tool.name), subject)
        if tool.name not in CATALOGUE:
            return self._reading(tool, common, parsed.subject, Reading(tool=tool.name))
        common |= {"category": EntityCategory.DIAGNOSTIC, "enabled": False}
        return SensorTool(
            **common,
            state=stock.state or Reading(tool=tool.name),
            unit=stock.unit,
            options=stock.options,
        )

    def members(self, tool: Tool) -> list[ToolEntity]:
        """Return the sensors of the members of an object that no other entity reads."""
        found: list[ToolEntity] = []
        paths = self._pool.shapes[tool.name]
        whole = parse(tool.name).subject
        self._pool.left.pop(tool.name)
        group = split(tool.name)[0]
        for path, kind in paths:
            if (tool.name, path) in self._pool.read:
                continue
            told = parse(path.replace(".", "_"))
            common = self._pool.common(stock_tool(""), (tool.name,), join(group, path), titled=False)
            common["key"] = f"{key_of(tool.name)}#{path}" if len(paths) > 1 else key_of(tool.name)
            reading = Reading(tool=tool.name, member=path)
            if kind is MemberKind.FLAG:
                device_class, negated = meaning_of((*whole, *words(everyday_words(path))))
                self._enable(common, wanted=True)
                common["device_class"] = device_class
                state = Reading(tool=tool.name, member=path, negated=negated)
                found.append(BinarySensorTool(**common, state=state))
            else:
                number = kind is MemberKind.NUMBER
                found.append(self._reading(tool, common, told.subject or whole, reading, number=number))
        return found

    def _reading(
        self,
        tool: Tool,
        common: dict[str, Any],
        subject: tuple[str, ...],
        reading: Reading,
        *,
        number: bool = False,
    ) -> ToolEntity:
        """Return the sensor of a value, perhaps a `number`, that a tool or a member of its answer tells."""
        if reading.member is None and (parse(tool.name).action == "is" or is_detection(subject)):
            device_class, negated = meaning_of(subject)
            self._enable(common, wanted=True)
            common["device_class"] = device_class
            state = Reading(tool=tool.name, negated=negated)
            return BinarySensorTool(**common, state=state)
        measure = measure_of(subject, tool.description)
        told = words(everyday_words(reading.member or tool.name))
        changes = is_state(tuple(told)) or mentions_measure(subject)
        # The name of a tool may be a group and a verb only: mq135.read.
        alone = len(words(split(tool.name)[1])) == 1
        changes |= reading.member is None and (alone or is_state(subject))
        self._enable(common, wanted=measure is not None or number or changes)
        if measure is None:
            if not number:
                common["category"] = EntityCategory.DIAGNOSTIC
            return SensorTool(**common, state=reading, measured=number)
        common["device_class"] = measure.device_class
        if only_measure(subject) and measure.device_class and measure.device_class not in self._unnamed:
            # Home Assistant has the name in the user's language.
            self._unnamed.add(measure.device_class)
            common["name"] = tool.title
        return SensorTool(**common, state=reading, unit=measure.unit, measured=True, grows=measure.grows)

    def _enable(self, common: dict[str, Any], *, wanted: bool) -> None:
        common["enabled"] = common["enabled"] and wanted and self._enabled < _MAX_READ
        self._enabled += common["enabled"]
