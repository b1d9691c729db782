"""Names and defaults of the XiaoZhi integration."""

from typing import Final

DOMAIN: Final = "xiaozhi"

# The gateway: the one config entry.
GATEWAY_UNIQUE_ID: Final = "gateway"
ENTRY_VERSION: Final = 2
CONF_WEBSOCKET_PORT: Final = "websocket_port"
CONF_ADDRESS: Final = "address"
CONF_LINK: Final = "link"
CONF_MQTT_PORT: Final = "mqtt_port"
CONF_UDP_PORT: Final = "udp_port"
CONF_BROKER: Final = "broker"
CONF_TLS: Final = "tls"
DEFAULT_WEBSOCKET_PORT: Final = 8765
DEFAULT_MQTT_PORT: Final = 1884
DEFAULT_UDP_PORT: Final = 8765
DEFAULT_BROKER_PORT: Final = 1883

# A device: a subentry, whose unique id is its MAC in lower case with colons.
SUBENTRY_DEVICE: Final = "device"
CONF_ANNOUNCEMENT_VOLUME: Final = "announcement_volume"
CONF_ASSISTANT_TOOLS: Final = "assistant_tools"
CONF_BOARD: Final = "board"
CONF_CONVERSATION_STYLE: Final = "conversation_style"
CONF_FOLLOW_UP_WAIT: Final = "follow_up_wait"
CONF_INTERRUPT_BY_SPEAKING: Final = "interrupt_by_speaking"
CONF_MICROPHONE: Final = "microphone"
CONF_SHARE_TRANSCRIPTS: Final = "share_transcripts"
CONF_SHOW_ANNOUNCEMENTS: Final = "show_announcements"
CONF_WAKE_WORD_PIPELINES: Final = "wake_word_pipelines"
STOCK_FIRMWARE_PAGE: Final = "https://github.com/78/xiaozhi-esp32/releases"

EVENT_ANNOUNCEMENT_SKIPPED: Final = "xiaozhi_announcement_skipped"
EVENT_ROOM_PLAYER: Final = "xiaozhi_room_player"
EVENT_TOOL_CALL: Final = "xiaozhi_tool_call"
EVENT_UNANSWERED_WAKE_WORD: Final = "xiaozhi_unanswered_wake_word"

OTA_PATH: Final = "/api/xiaozhi/ota"
FILE_PATH: Final = "/api/xiaozhi/file"
STREAM_PATH: Final = "/api/xiaozhi/stream"
SOUND_PATH: Final = "/api/xiaozhi/sound"
WEBSOCKET_PATH: Final = "/xiaozhi/v1/"

# Characters that fit on a screen: in its status bar, and below it.
MAX_STATUS: Final = 60
MAX_MESSAGE: Final = 500

MANUFACTURER: Final = "XiaoZhi"
