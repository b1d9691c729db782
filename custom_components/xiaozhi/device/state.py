"""State of a paired device, as frozen snapshots, and the keys of their differences."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime, timedelta
import logging
from typing import Any, Final, Self

from homeassistant.util import dt as dt_util
import voluptuous as vol

from ..protocol.boards import cancels_echo
from ..protocol.checkin import CheckIn, Partition
from ..protocol.conversation.state_table import ConversationState
from ..protocol.device_status import DeviceStatus
from ..protocol.firmware_version import FirmwareVersion
from ..protocol.transport.link import LinkKind
from ..settings import MOMENT
from ..tools.tool_state import NO_TOOLS, MappedTools

_LOGGER = logging.getLogger(__name__)

# Keys that listeners of a device follow, beside the fields of `DeviceState` and the parts of its mappings.
AVAILABLE: Final = "available"
PRESENT: Final = "present"
SETTINGS: Final = "settings"
STATUS_READ: Final = "status_read"
"""The status was read, also where nothing in it has changed."""
RESPONSE: Final = "response"
"""The times of the last turn."""
QUIET: Final = "quiet"
"""`Device.quiet_levels`."""
ATTACHED: Final = "attached"
"""The device has a new link, perhaps in place of an older one."""
HELLO: Final = "hello"
"""The device has opened an audio channel."""
SHOWN: Final = "shown"
"""A text was shown on the screen."""
DETECTORS: Final = "detectors"
"""Availability of speech detectors."""

_MAX_WAKE_WORDS: Final = 8
ENOUGH_SILENT_WAKINGS: Final = 10
"""Number from which a device counts as one that does not report its wake word: nobody only presses a button.
"""


_RECORD: Final[dict[str, Any]] = {
    **dict.fromkeys(("firmware", "board", "chip", "ip", "host", "origin"), vol.Maybe(str)),
    **dict.fromkeys(("session", "font", "lost_pack"), vol.Maybe(str)),
    **dict.fromkeys(("firmware_space", "free_memory"), vol.Maybe(int)),
    "assets": vol.Maybe(vol.All(vol.ExactSequence([int, int]), lambda found: Partition(*found))),
    "link": vol.Maybe(vol.Coerce(LinkKind)),
    "told": vol.Maybe(vol.Coerce(LinkKind)),
    "listens_while_speaking": vol.Maybe(bool),
    **dict.fromkeys(("wake_words", "installed_wake_words"), vol.All([str], vol.Coerce(tuple))),
    "silent_wakings": int,
    "pauses": vol.All([int], vol.Coerce(tuple)),
    "followed": vol.All([str], vol.Coerce(tuple)),
    "extended": bool,
    "answers": dict,
    # Without those that are damaged.
    "calls": vol.All(
        {str: object}, lambda found: {key: call for key, call in found.items() if isinstance(call, dict)}
    ),
    **dict.fromkeys(
        ("volume_to_restore", "brightness_to_restore"),
        vol.Maybe(vol.All(vol.Coerce(tuple), vol.ExactSequence([int, int]))),
    ),
    "last_contact": vol.Maybe(MOMENT),
}
"""The stored form of the fields but for the status and the tools, with the names of version 0.2.0."""
# Resolution of the last contact while the device only answers polls.
_COARSE: Final = timedelta(minutes=15)


def part_key(name: str, part: str) -> str:
    """Return the key of a part of a field: a member of the status, the answer or the last call of a tool."""
    return f"{name}.{part}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceState:
    """The last known state of a device. The first fields are stored."""

    firmware: str | None = None
    board: str | None = None
    """The build variant."""
    chip: str | None = None
    """Such as `esp32s3`; empty if its check-in names none, None before one could be read."""
    firmware_space: int | None = None
    """Largest size of a firmware in bytes."""
    assets: Partition | None = None
    """Where its pack of fonts, faces and speech models is."""
    free_memory: int | None = None
    """Least free bytes since its start, at its last check-in."""
    ip: str | None = None
    """IP address at the last check-in."""
    link: LinkKind | None = None
    """The kind of link that it last used, or that its last check-in reply preferred."""
    preferred_link: LinkKind | None = None
    """The preferred link in the reply to its last check-in; with MQTT, it may use the WebSocket too."""
    host: str | None = None
    """Name or IP address of ours that it last called."""
    origin: str | None = None
    """Scheme, host and port of our web server for it; None before its first check-in."""
    listens_while_speaking: bool | None = None
    """Whether its microphone stays on while it speaks; None before its first conversation."""
    wake_words: tuple[str, ...] = ()
    """The last wake words that it has reported, the latest first."""
    silent_wakings: int = 0
    """How often it has begun to listen by itself without reporting one, if it never has."""
    pauses: tuple[int, ...] = ()
    """How long people have paused in their last turns, as `voice/patience.py` has it."""
    installed_wake_words: tuple[str, ...] = ()
    """Ids of those in the pack that it has fetched last; empty if that is not known."""
    lost_pack: str | None = None
    """Loss of its pack, as `guests/wake_words/pack_recovery.py` has it."""
    font: str | None = None
    """Its font, as its last hello or the pack that it has fetched since names it."""
    extended: bool = False
    """Whether its MCP server is more than that of stock firmware, by its last handshake."""
    tools: MappedTools = NO_TOOLS
    """Its tools with the shapes of their answers: one object until one of them changes."""
    status: DeviceStatus = field(default_factory=DeviceStatus)
    answers: Mapping[str, Any] = field(default_factory=dict)
    """Last answers of its tools, by name."""
    calls: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Arguments of the last calls of setters, by name of the tool, the latest at the end."""
    last_contact: datetime | None = None
    """When it last checked in, connected or talked, or roughly when it last answered."""
    session_id: str | None = None
    """Session id of its last conversation over MQTT, which may still have to be ended."""
    volume_to_restore: tuple[int, int] | None = None
    """Its usual volume and the present one, while that is another for an announcement, or not to disturb."""
    brightness_to_restore: tuple[int, int] | None = None
    """The same of its screen."""
    followed: tuple[str, ...] = ()
    """URIs of its resources whose updates it is to report."""
    owned: Mapping[str, Any] = field(default_factory=dict)
    """Things that its owner has made or set with guests, by key; see `Owned` and `OwnedValue`."""
    microphone: bool = True
    """Whether conversations are held; otherwise each is ended at once, unheard."""

    notified: bool = False
    """Whether its firmware has sent a notification since the gateway started; stock firmware never does."""
    linked: bool = False
    """Whether a command would arrive now."""
    lingers: bool = False
    """Whether it comes and goes all the time: its entities are available, and it counts as not connected."""
    conversation: ConversationState = ConversationState.IDLE

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Read the stored form, with defaults for missing or damaged fields. Raises if it is no record."""
        stored: dict[str, Any] = {}
        for name in _RECORD.keys() & data.keys():
            with suppress(vol.Invalid):
                stored[name] = vol.Schema(_RECORD[name])(data[name])
        try:
            tools = MappedTools.from_dict(data)
        except Exception:
            _LOGGER.exception("The stored tools of a device are unreadable. They are learned from it again")
            tools = NO_TOOLS
        return cls(
            preferred_link=stored.pop("told", None),
            session_id=stored.pop("session", None),
            tools=tools,
            status=DeviceStatus.from_dict(data.get("status")),
            **stored,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the stored form, which can be written as JSON, without the owner's fields."""
        return {
            **{name: getattr(self, name) for name in _RECORD if name not in {"told", "session"}},
            "told": self.preferred_link,
            "session": self.session_id,
            **self.tools.as_dict(),
            "status": asdict(self.status),
            "last_contact": self.last_contact.isoformat() if self.last_contact else None,
        }

    def owned_as_dict(self) -> dict[str, Any]:
        """Return the owner's fields as JSON values."""
        return {name: getattr(self, name) for name in OWNED_FIELDS}

    @property
    def available(self) -> bool:
        """Availability.

        A device on MQTT stays linked. One on WebSocket is linked only during conversations: between them, its
        last state stays valid, and a command fails with an error that says so.
        """
        return self.linked or self.lingers or self.link is not LinkKind.MQTT

    @property
    def present(self) -> bool:
        """Presence, as shown."""
        return self.linked and not self.lingers

    @property
    def can_be_interrupted(self) -> bool:
        """Whether its microphone stays on while it speaks: as in its last conversation, or else by build."""
        if self.listens_while_speaking is not None:
            return self.listens_while_speaking
        return self.board is not None and cancels_echo(self.board)

    @property
    def firmware_version(self) -> FirmwareVersion | None:
        """Version of the firmware, if known."""
        return FirmwareVersion.parse(self.firmware)

    @property
    def answers_unasked(self) -> bool:
        """Whether the device can answer before its hello after its MQTT client has reconnected by itself."""
        version = self.firmware_version
        return version is None or version.notices_reconnection

    @property
    def runs_tools_on_main_task(self) -> bool:
        """Whether a running tool keeps the device from acting on messages."""
        version = self.firmware_version
        return not self.extended and (version is None or not version.runs_tools_aside)

    @property
    def address(self) -> str | None:
        """IP address, if known. Devices on Wi-Fi report it only in their check-in, at every start."""
        return self.status.ip or self.ip

    def after_check_in(self, checkin: CheckIn) -> Self:
        """Return the state with the facts from a check-in."""
        return replace(
            self,
            board=checkin.board or self.board,
            chip=self.chip if checkin.chip_model is None else checkin.chip_model,
            firmware_space=checkin.firmware_space or self.firmware_space,
            assets=checkin.assets or self.assets,
            free_memory=checkin.free_memory or self.free_memory,
            ip=checkin.ip or self.ip,
            host=checkin.host,
        ).after_contact(firmware=checkin.firmware_version)

    def after_reply(self, link: LinkKind, origin: str | None) -> Self:
        """Return the state after a reply that prefers `link`.

        A device that got both links, and uses the other, goes on doing so until the preferred link changes.
        """
        changes = link is LinkKind.WEBSOCKET or self.preferred_link is not link
        return replace(self, link=link if changes else self.link, preferred_link=link, origin=origin)

    def after_contact(self, *, firmware: str | None = None) -> Self:
        """Return the state after a sign of life, with the version of the firmware if reported."""
        known = self.firmware if firmware is None else firmware
        return replace(self, firmware=known, last_contact=dt_util.utcnow())

    @property
    def is_program(self) -> bool:
        """Whether it is a program on a computer or a phone: its check-in names no chip of a device."""
        return self.chip is not None and not self.chip.lower().startswith("esp32")

    def after_silent_waking(self) -> Self:
        """Return the state after the device has begun to listen without a wake word."""
        if self.wake_words or self.silent_wakings >= ENOUGH_SILENT_WAKINGS:
            return self
        return replace(self, silent_wakings=self.silent_wakings + 1)

    def after_wake_word(self, wake_word: str) -> Self:
        """Return the state after the device has heard a wake word."""
        others = (word for word in self.wake_words if word != wake_word)
        return replace(self, wake_words=(wake_word, *others)[:_MAX_WAKE_WORDS])

    def after_status(self, status: DeviceStatus) -> Self:
        """Return the state with a status that the device has reported."""
        now, last_contact = dt_util.utcnow(), self.last_contact
        if last_contact is None or now - last_contact >= _COARSE:
            last_contact = now
        return replace(self, status=status, last_contact=last_contact)


_FIELDS: Final = (*(each.name for each in fields(DeviceState)), AVAILABLE, PRESENT)
OWNED_FIELDS: Final[Mapping[str, vol.Schema]] = {
    "microphone": vol.Schema(bool),
    # Also among the readings, for older versions.
    **{
        name: vol.Schema(_RECORD[name])
        for name in ("installed_wake_words", "pauses", "volume_to_restore", "brightness_to_restore")
    },
}
"""Schemas of the other fields that the owner has set, that were learned, or that are to be restored."""
OWNED: Final = frozenset({"owned", *OWNED_FIELDS})
"""Fields that the owner has set, and that no device reports again."""
_FLEETING: Final = {AVAILABLE, PRESENT, "notified", "linked", "lingers", "conversation"}
STORED: Final = frozenset(_FIELDS) - OWNED - _FLEETING
"""The other stored fields."""


def changed_keys(old: DeviceState, new: DeviceState) -> Iterator[str]:
    """Yield the keys of the differences between two states."""
    for name in _FIELDS:
        before, after = getattr(old, name), getattr(new, name)
        # The order of calls counts: an entity shows the latest of its calls.
        ordered = name == "calls"
        if before != after or (ordered and tuple(before) != tuple(after)):
            yield name
            was, now = _parts(before), _parts(after)
            latest = [*now][-1:] if ordered else []
            changed = (part for part in was.keys() | now.keys() if was.get(part) != now.get(part))
            # What an owner has made or set with a guest has a key of its own.
            yield from (part if name == "owned" else part_key(name, part) for part in {*changed, *latest})


def _parts(value: Any) -> Mapping[str, Any]:
    if isinstance(value, DeviceStatus):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    return value if isinstance(value, Mapping) else {}
