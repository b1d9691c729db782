"""The tools of one device, with their last answers and calls."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
import logging
from typing import Any, Final, override

from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback

from ..protocol.mcp.client import MAX_TOOLS
from ..protocol.mcp.result import ToolResult
from ..protocol.mcp.tool import Tool
from ..tools.answer_values import member, parse_answer
from ..tools.stock_tools import CATALOGUE, STATUS_TOOL
from ..tools.tool_entities import Call, Reading, ToolEntity
from ..tools.tool_state import prepare, shape_of
from ..util.text import one_line
from ..util.untrusted_json import is_bounded
from .store import DeviceRecord

_LOGGER = logging.getLogger(__name__)

_MAX_ARGUMENTS: Final = 1024
_MAX_LOGGED: Final = 500


class DeviceTools(Mapping[str, Tool]):
    """The tools of one device by name, as last listed."""

    def __init__(self, hass: HomeAssistant, record: DeviceRecord) -> None:
        self._hass = hass
        self._record = record
        self._read: Counter[str] = Counter()
        self._left_out: set[str] = set()
        """Malformed tools that the log has named."""
        self._refused = False

    @override
    def __getitem__(self, name: str) -> Tool:
        return self._record.state.tools.by_name[name]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._record.state.tools.by_name)

    @override
    def __len__(self) -> int:
        return len(self._record.state.tools.by_name)

    @property
    def entities(self) -> Mapping[str, ToolEntity]:
        """Descriptions of the tools' entities, by key; the same object until the list changes."""
        return self._record.state.tools.entities

    @property
    def to_read(self) -> tuple[str, ...]:
        """Names of the tools whose answers are read regularly."""
        return tuple(name for name in self if self._read[name] > 0)

    @callback
    def note_refused(self) -> bool:
        """Note that some tools get no entity; return whether this is new."""
        before, self._refused = self._refused, True
        return not before

    @callback
    def read_regularly(self, name: str) -> CALLBACK_TYPE:
        """Have a tool read regularly. Returns a function that ends this."""
        self._read[name] += 1
        return lambda: self._read.subtract((name,))

    async def set_list(self, tools: tuple[Tool, ...], left_out: Iterable[str] = ()) -> None:
        """Take a new list, and forget answers and calls of tools that are gone.

        The log names the malformed tools that were `left_out`, each once.
        """
        new = [name for name in dict.fromkeys(left_out) if name not in self._left_out]
        if new and len(self._left_out) < MAX_TOOLS:
            self._left_out.update(new)
            _LOGGER.warning(
                "%d tools of a device are left out, because their entries are malformed or too large: %s",
                len(new),
                one_line(", ".join(new), _MAX_LOGGED),
            )
        answers = dict(self._record.state.answers)
        # Hostile texts take up to a second.
        listed = await self._hass.async_add_executor_job(
            prepare, tools, self._record.state.tools.shapes, answers
        )
        state, names = self._record.state, listed.by_name
        self._record.update(
            tools=listed,
            answers={name: answer for name, answer in state.answers.items() if name in names},
            calls={name: arguments for name, arguments in state.calls.items() if name in names},
        )

    async def set_answer(self, name: str, result: ToolResult) -> None:
        """Store the answer of a tool; members that are not known yet may make entities."""
        answer, listed = parse_answer(result), self._record.state.tools
        mapped, known = listed, listed.shapes.get(name, ())
        if name not in CATALOGUE and shape_of(answer, known) != known:
            mapped = await self._hass.async_add_executor_job(
                prepare, listed.tools, listed.shapes, {name: answer}
            )
        # Otherwise they were listed meanwhile, and the tool may be gone.
        if self._record.state.tools is listed and name in self:
            self._record.update(tools=mapped, answers={**self._record.state.answers, name: answer})

    @callback
    def set_call(self, name: str, arguments: Mapping[str, Any]) -> bool:
        """Store a successful call; return whether an entity's state may depend on it."""
        called = dict(arguments)
        followed = self._record.state.tools.followed
        if name not in followed or not is_bounded(called, _MAX_ARGUMENTS):
            return False
        # The latest call is at the end.
        others = {other: known for other, known in self._record.state.calls.items() if other != name}
        self._record.update(calls={**others, name: called})
        return True

    def last_call(self, names: Iterable[str]) -> Call | None:
        """Return the last call of any of these tools."""
        calls, wanted = self._record.state.calls, frozenset(names)
        latest = next((name for name in reversed(tuple(calls)) if name in wanted), None)
        return None if latest is None else Call(tool=latest, arguments=calls[latest])

    def last_value(self, reading: Reading) -> Any:
        """Return the value last read, or None."""
        if reading.tool == STATUS_TOOL:
            return getattr(self._record.state.status, reading.member or "", None)
        return member(self._record.state.answers.get(reading.tool), reading.member)
