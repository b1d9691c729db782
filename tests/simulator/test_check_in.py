"""Check-in, flash and pairing."""

import hashlib
import hmac

from simulator import Nvs, SimulatedDevice
from tests.simulator.fake_server import Reply
from tests.simulator.trace import (
    PAIRED,
    PROMPT,
    Stage,
    Step,
    Trace,
    asks,
    crashes,
    device,
    replay,
    replays,
    sees,
    still,
    user,
)

CODE: Reply = {"activation": {"code": "123456", "message": "Add me", "challenge": "riddle"}}
POLL = "POST /ota/activate HTTP/1.1"
HEADERS = ["Host", "Accept-Language", "Activation-Version", "Client-Id", "Content-Type", "Device-Id"]
HEADERS += ["User-Agent", "Content-Length", "Connection"]
NO_TRANSPORT: Reply = {"server_time": {"timestamp": 1}}


def stores(section: str, **values: object) -> Step:
    """Expect these values in the flash; None for one that the reader of its type does not find."""

    async def row(on: Stage) -> None:
        nvs = on.sim.nvs
        for name, value in values.items():
            found = (
                nvs.get_int(section, name, -1) if isinstance(value, int) else nvs.get_string(section, name)
            )
            assert found == value, name

    return row


def old_settings() -> Nvs:
    """The flash of an earlier life."""
    nvs = Nvs()
    nvs.merge("mqtt", {"endpoint": "127.0.0.1:9"})
    nvs.merge("websocket", {"token": "old", "version": 3})
    return nvs


def answer(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()


NO_ANSWERS: dict[str, Reply] = {
    "500": 500,
    "204": 204,
    "a redirect": answer("HTTP/1.1 302 Found\nLocation: /elsewhere\nContent-Length: 0\n\n"),
    "no JSON": answer("HTTP/1.1 200 OK\nContent-Length: 8\n\nnot json"),
    "an array": answer("HTTP/1.1 200 OK\nContent-Length: 2\n\n[]"),
    "half a body": answer("HTTP/1.1 200 OK\nContent-Length: 20\n\n{}"),
    "another protocol": answer("SSH-2.0-OpenSSH\n\n"),
    "nothing": b"",
}
ANSWERS: dict[str, bytes] = {
    "in chunks": answer('HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\n{"web\nb\nsocket":{}}\n0\n\n'),
    "until the end of the connection": answer('HTTP/1.1 200 OK\n\n{"websocket":{}}'),
    "with keys in any case": answer('HTTP/1.0 200 OK\nContent-Length: 16\n\n{"WebSocket":{}}'),
}

CHECK_INS = {
    "the request": Trace(
        section="A.3",
        profile={"language": "de-DE"},
        rows=[
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
        ],
    ),
    **{
        f"the body of {version}": Trace(
            section="I", version=version, rows=[user("boot"), asks(body=lambda body, has=has: has(body))]
        )
        for version, has in {
            "1.6.6": lambda body: isinstance(body["minimum_free_heap_size"], int),
            "2.0.0": lambda body: "display" not in body,
            "2.4.0": lambda body: "display" in body and "manufacturer" not in body["board"],
        }.items()
    },
    **{
        f"a {board} network": Trace(
            section="A.3",
            board=board,
            rows=[user("boot"), asks(body={"board": lambda of, key=key: key in of and "ssid" not in of})],
        )
        for board, key in {"cellular": "csq", "ethernet": "network"}.items()
    },
    "a quote in the network's name breaks the body": Trace(
        section="A.3",
        profile={"ssid": 'Bob"s'},
        rows=[user("boot"), asks(), still(state="idle", link="websocket")],
    ),
    **{
        f"{name} is no answer": Trace(
            section="A.6",
            check_in=(reply, PAIRED),
            rows=[
                user("boot"),
                asks(),
                still(state="activating", status="ERROR"),
                asks(after=10),
                sees(state="idle"),
            ],
        )
        for name, reply in NO_ANSWERS.items()
    },
    **{
        f"an answer {name}": Trace(
            section="A.4", check_in=(reply,), rows=[user("boot"), still(link="websocket")]
        )
        for name, reply in ANSWERS.items()
    },
    "back-off and MQTT from the flash": Trace(
        section="A.6",
        nvs=old_settings(),
        check_in=(503,),
        rows=[
            user("boot"),
            asks(),
            *(asks(after=10 * 2**attempt) for attempt in range(9)),
            sees(link="mqtt", last_error="SERVER_NOT_CONNECTED"),
        ],
    ),
    "a click cuts the wait": Trace(
        section="A.6",
        check_in=(503, 503, 503, PAIRED),
        rows=[user("boot"), asks(), user("click"), asks(), asks(after=1), asks(after=1), sees(state="idle")],
    ),
    **{
        f"{name}: {link}": Trace(section="A.8", check_in=(reply,), rows=[user("boot"), still(link=link)])
        for name, link, reply in (
            ("an empty mqtt wins", "mqtt", {"mqtt": {}, "websocket": {"url": "ws://127.0.0.1:9/"}}),
            ("neither", "mqtt", NO_TRANSPORT),
            ("an error object", "mqtt", {"error": "no such device"}),
            ("a text", "mqtt", {"websocket": "ws://127.0.0.1:9/"}),
        )
    },
    "what is stored": Trace(
        section="A.5",
        nvs=old_settings(),
        check_in=(
            {
                "websocket": {"url": "a", "version": "1", "x": True, "y": None, "z": [1]},
                "mqtt": {"keepalive": 59.9},
            },
        ),
        rows=[
            user("boot"),
            stores("websocket", url="a", token="old", version=-1, x="", y="", z=""),
            stores("mqtt", keepalive=59, endpoint="127.0.0.1:9"),
        ],
    ),
    "another check-in names no version": Trace(
        section="A.5",
        nvs=old_settings(),
        settings={"version": None},
        rows=[user("boot"), user("click"), device(type="hello", version=3), device(type="listen")],
    ),
    **{
        f"crash: {name}": Trace(section="A.5", check_in=(reply,), rows=[crashes(words, user("boot"))])
        for name, words, reply in (
            *(
                (endpoint, "stoi", {"mqtt": {"endpoint": endpoint}})
                for endpoint in ("mqtt://192.168.1.2:1883", "host:")
            ),
            *(
                (version, "stoi", {"firmware": {"version": version, "url": "http://127.0.0.1:9/f.bin"}})
                for version in ("v2.0", "1..2", "latest", "99999999999.1")
            ),
            ("a name of 16 bytes", "15 bytes", {"websocket": {"integration_name": "y"}}),
            ("a value of 4,001 bytes", "longer", {"websocket": {"url": "x" * 4001}}),
            ("a body of 8 KB", "dead-locked", {"websocket": {}, "padding": "x" * 8192}),
        )
    },
    "firmware 1 reads a large body": Trace(
        section="I",
        version="1.9.4",
        check_in=({"websocket": {}, "padding": "x" * 8192},),
        rows=[user("boot"), still(state="idle")],
    ),
    "names and values at the limit": Trace(
        section="A.5",
        check_in=({"websocket": {"fifteen_letters": "x" * 4000}},),
        rows=[user("boot"), stores("websocket", fifteen_letters="x" * 4000)],
    ),
    "the flash is erased": Trace(
        section="A.1",
        rows=[
            user("boot"),
            stores("websocket", token="secret"),
            user("factory_reset"),
            stores("websocket", token=""),
        ],
    ),
}

PAIRINGS = {
    "code, polls, and a fresh check-in": Trace(
        section="A.7",
        check_in=(CODE, 202, 500, 200, PAIRED),
        rows=[
            user("boot"),
            still(pairing_code="123456", system_text="Add me"),
            asks(),
            asks(POLL, names=HEADERS, body=b"{}"),
            asks(POLL, after=3),
            asks(POLL, after=10),
            asks(after=0),
            sees(state="idle", pairing_code=None),
        ],
    ),
    "a poll that cannot connect": Trace(
        section="A.7",
        check_in=(CODE, b"", 200, PAIRED),
        rows=[
            user("boot"),
            asks(),
            asks(POLL),
            asks(POLL, after=10),
            asks(),
            sees(state="idle", check_in_error=""),
        ],
    ),
    "ten rounds": Trace(
        section="A.7",
        check_in=(CODE, *10 * [202], CODE, 200, PAIRED),
        rows=[user("boot"), asks(), *10 * [asks(POLL)], asks(), asks(POLL), asks(), sees(state="idle")],
    ),
    "a code without a challenge": Trace(
        section="A.7",
        check_in=({"activation": {"code": "99", "message": "x"}}, PAIRED),
        rows=[user("boot"), asks(), asks(after=100), sees(state="idle")],
    ),
    "a click leaves one poll for each check-in": Trace(
        section="A.7",
        check_in=(CODE, 202, CODE, 202, PAIRED),
        rows=[
            user("boot"),
            asks(),
            asks(POLL),
            user("click"),
            asks(),
            asks(POLL),
            asks(),
            sees(state="idle"),
        ],
    ),
    **{
        f"{act} leads to idle": Trace(
            section="A.7", check_in=(CODE, 202), rows=[user("boot"), user(act), sees(state="idle")]
        )
        for act in ("wake", "press")
    },
    "a serial number signs the challenge": Trace(
        section="A.7",
        profile={"serial_number": "SN-1", "hmac_key": b"key"},
        check_in=(CODE, 200, PAIRED),
        rows=[
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
        ],
    ),
}


@replays(CHECK_INS)
async def test_check_in(trace: Trace) -> None:
    await replay(trace)


@replays(PAIRINGS)
async def test_pairing(trace: Trace) -> None:
    await replay(trace)


async def test_an_address_of_another_kind_is_not_even_tried() -> None:
    for url, words in (
        ("http://a", "too short"),
        ("ftp://127.0.0.1/ota", "not an http"),
        ("127.0.0.1/ota/x", "not an http"),
    ):
        async with SimulatedDevice(None, url, pace=PROMPT) as sim:
            await sim.boot()
            assert words in sim.check_in_error
