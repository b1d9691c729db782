"""Check-in, flash and pairing."""

import hashlib
import hmac

from simulator import Nvs
from tests.simulator.servers import Reply
from tests.simulator.trace import (
    PAIRED,
    Stage,
    asks,
    crashes,
    replays,
    sees,
    step,
    still,
    trace,
    user,
)

CODE: Reply = {"activation": {"code": "123456", "message": "Add me", "challenge": "riddle"}}
POLL = "POST /ota/activate HTTP/1.1"
HEADERS = ["Host", "Accept-Language", "Activation-Version", "Client-Id", "Content-Type", "Device-Id"]
HEADERS += ["User-Agent", "Content-Length", "Connection"]


@step
async def stores(on: Stage, section: str, **values: object) -> None:
    """Expect these values in the flash; None for one that the reader of its type does not find."""
    nvs = on.sim.nvs
    for name, value in values.items():
        found = nvs.get_int(section, name, -1) if isinstance(value, int) else nvs.get_string(section, name)
        assert found == value, name


def old_settings() -> Nvs:
    """The flash of an earlier life."""
    nvs = Nvs()
    nvs.merge("mqtt", {"endpoint": "127.0.0.1:9"})
    nvs.merge("websocket", {"token": "old", "version": 3})
    return nvs


NO_ANSWERS: dict[str, Reply] = {
    "500": b'HTTP/1.1 500 X\r\nContent-Length: 16\r\n\r\n{"websocket":{}}',
    "a redirect": b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
    "no JSON": b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nnot json",
    "half a body": b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{}",
    "nothing": b"",
}
CRASHES: list[tuple[str, str, Reply]] = [
    ("a scheme before an endpoint", "stoi", {"mqtt": {"endpoint": "mqtt://192.168.1.2:1883"}}),
    *(
        (version, "stoi", {"firmware": {"version": version, "url": "http://127.0.0.1:9/f.bin"}})
        for version in ("1..2", "99999999999.1")
    ),
    ("a name of 16 bytes", "15 bytes", {"websocket": {"integration_name": "y"}}),
    ("a value of 4,001 bytes", "longer", {"websocket": {"url": "x" * 4001}}),
    ("a body of 8 KB", "dead-locked", {"websocket": {}, "padding": "x" * 8192}),
]
CHECK_INS = {
    "the request": trace(
        "A.3",
        user("boot"),
        asks(
            names=HEADERS,
            headers={
                "Accept-Language": "de-DE",
                "Activation-Version": "1",
                "Device-Id": "24:6f:28:aa:bb:01",
                "User-Agent": "waveshare-esp32-s3-touch-amoled-1.8/2.4.2",
                "Connection": "close",
            },
            body={
                "version": 2,
                "minimum_free_heap_size": "8318916",
                "display": {"monochrome": False, "width": 368, "height": 448},
                "board": {"ssid": "Home", "manufacturer": ""},
                "ota": {"label": "ota_0"},
            },
        ),
        profile={"language": "de-DE"},
    ),
    **{
        f"{name} is no answer": trace(
            "A.6",
            user("boot"),
            asks(),
            still(state="activating", status="ERROR"),
            asks(after=10),
            sees(state="idle"),
            check_in=(reply, PAIRED),
        )
        for name, reply in NO_ANSWERS.items()
    },
    "back-off and MQTT from the flash": trace(
        "A.6",
        user("boot"),
        asks(),
        *(asks(after=10 * 2**attempt) for attempt in range(9)),
        sees(link="mqtt", last_error="SERVER_NOT_CONNECTED"),
        nvs=old_settings(),
        check_in=(503,),
    ),
    "what is stored": trace(
        "A.5",
        user("boot"),
        stores("websocket", url="a", token="old", version=-1, x="", y="", z=""),
        stores("mqtt", keepalive=59, endpoint="127.0.0.1:9"),
        nvs=old_settings(),
        check_in=(
            {
                "websocket": {"url": "a", "version": "1", "x": True, "y": None, "z": [1]},
                "mqtt": {"keepalive": 59.9},
            },
        ),
    ),
    **{
        f"crash: {name}": trace("A.5", crashes(words, user("boot")), check_in=(reply,))
        for name, words, reply in CRASHES
    },
}

PAIRINGS = {
    "code, polls, and a fresh check-in": trace(
        "A.7",
        user("boot"),
        still(pairing_code="123456", system_text="Add me"),
        asks(),
        asks(POLL, names=HEADERS, body={}),
        asks(POLL, after=3),
        asks(POLL, after=10),
        asks(after=0),
        sees(state="idle", pairing_code=None),
        check_in=(CODE, 202, 500, 200, PAIRED),
    ),
    "a serial number signs the challenge": trace(
        "A.7",
        user("boot"),
        asks(headers={"Activation-Version": "2", "Serial-Number": "SN-1"}),
        asks(
            POLL,
            body={
                "algorithm": "hmac-sha256",
                "serial_number": "SN-1",
                "challenge": "riddle",
                "hmac": hmac.new(b"key", b"riddle", hashlib.sha256).hexdigest(),
            },
        ),
        asks(),
        sees(state="idle"),
        profile={"serial_number": "SN-1", "hmac_key": b"key"},
        check_in=(CODE, 200, PAIRED),
    ),
}


test_check_in = replays(CHECK_INS | PAIRINGS)
