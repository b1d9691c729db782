"""Pairing rules: codes, tries, and who is waiting."""

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.provisioning.pairing_codes import (
    CODE_SECONDS,
    MAX_PENDING,
    MAX_PENDING_FROM_ADDRESS,
    MAX_TRIES,
    Outcome,
    PairingRegistry,
    PendingDevice,
)

MAC = "94:a9:90:28:a4:5f"
OTHER_MAC = "94:a9:90:28:00:01"
CLIENT = "8a7c3a1e-6f0b-4f0e-9a55-0a9b6f6a2d11"
BOARD = "bread-compact-wifi"


@pytest.fixture
def registry() -> PairingRegistry:
    """Nobody waits."""
    return PairingRegistry()


def check_in(
    registry: PairingRegistry, now: float = 0.0, mac: str = MAC, client: str = CLIENT, remote: str = ""
) -> PendingDevice:
    """Let a device call."""
    return registry.check_in(mac, client, BOARD, remote or mac, now)[0]


def wrong(code: str) -> str:
    """Return a well-formed code that differs."""
    return f"{(int(code) + 1) % 1_000_000:06}"


def test_a_code_that_is_in_use_is_not_given_again() -> None:
    macs: dict[str, str] = {}
    for number in range(10_000):
        mac = f"94:a9:90:28:{number >> 8:02x}:{number & 0xFF:02x}"
        code = check_in(PairingRegistry(b"secret"), mac=mac).code
        if code in macs:
            break
        macs[code] = mac
    registry = PairingRegistry(b"secret")
    assert check_in(registry, mac=macs[code]).code == code
    assert check_in(registry, mac=mac).code != code


def test_neither_code_nor_challenge_is_in_the_text_form(registry: PairingRegistry) -> None:
    """A device that is logged by accident gives nothing away."""
    device = check_in(registry)
    assert device.code not in repr(device)
    assert device.challenge not in repr(device)


@pytest.mark.parametrize("at", [0, CODE_SECONDS - 1])
def test_the_code_stays_for_ten_minutes_at_least(registry: PairingRegistry, at: float) -> None:
    """Calling again does not change what the owner is just typing."""
    first = check_in(registry, at)
    assert check_in(registry, at + CODE_SECONDS).code == first.code
    assert check_in(registry, 2 * CODE_SECONDS).code != first.code


def test_forty_boxes_behind_one_router_are_all_paired(registry: PairingRegistry) -> None:
    """They call again every half minute, while their owner types one code after the other."""
    macs = [f"94:a9:90:28:00:{number:02x}" for number in range(40)]
    for now in (0.0, 30.0):
        shown = {mac: check_in(registry, now, mac=mac, remote="router").code for mac in macs}
    for mac, code in shown.items():
        verdict = registry.verify(code, 40.0)
        assert verdict.device is not None
        assert verdict.device.mac == mac
        registry.remove(mac, CLIENT)


def test_a_device_that_was_displaced_keeps_the_code_that_it_shows(registry: PairingRegistry) -> None:
    """Also after wrong tries at other devices."""
    shown = check_in(registry).code
    for number in range(MAX_PENDING + 50):
        check_in(registry, 1.0, client=f"stranger-{number}", remote=f"{number}")
    assert registry.get(MAC, CLIENT) is None
    assert check_in(registry, 30.0).code == shown


def test_a_stranger_with_the_same_mac_does_not_spoil_the_code_of_the_owner(registry: PairingRegistry) -> None:
    """The code tells which of the two its owner holds; the stranger's is that of another device."""
    real = check_in(registry)
    for number in range(40):
        stranger = check_in(registry, 1.0, client=f"stranger-{number}", remote="stranger")
    assert registry.get(MAC, CLIENT) == real
    assert registry.get(MAC) == real
    assert registry.verify(real.code, 2.0, MAC).device == real
    assert registry.verify(stranger.code, 2.0, MAC).device == stranger
    assert check_in(registry, 3.0).code == real.code


def test_an_address_takes_only_a_few_places_and_none_of_others(registry: PairingRegistry) -> None:
    real = check_in(registry, remote="home")
    for number in range(MAX_PENDING_FROM_ADDRESS + 20):
        mac = f"94:a9:90:28:00:{number:02x}"
        _, dropped = registry.check_in(mac, CLIENT, BOARD, "stranger", 1.0)
        displaced = number - MAX_PENDING_FROM_ADDRESS
        assert dropped == ([f"94:a9:90:28:00:{displaced:02x}"] if displaced >= 0 else [])
    assert len(registry.devices) == 1 + MAX_PENDING_FROM_ADDRESS
    assert registry.get(MAC) == real


def test_when_all_places_are_taken_who_has_the_most_makes_room(registry: PairingRegistry) -> None:
    real = check_in(registry, remote="home")
    for number in range(MAX_PENDING + 20):
        mac = f"94:a9:90:28:{number >> 8:02x}:{number & 0xFF:02x}"
        check_in(registry, 1.0, mac=mac, remote=f"stranger-{number % 6}")
    assert len(registry.devices) == MAX_PENDING
    assert registry.get(MAC) == real


@pytest.mark.parametrize("between", ["", " ", "-"])
@pytest.mark.parametrize("zero", ["0", "０"])
def test_the_right_code_is_accepted_however_it_is_written(
    registry: PairingRegistry, between: str, zero: str
) -> None:
    """People copy digits in groups, and Chinese input methods write wide ones."""
    device = check_in(registry)
    digits = "".join(chr(ord(zero) + int(digit)) for digit in device.code)
    assert registry.verify(f" {digits[:3]}{between}{digits[3:]} ", 1.0, MAC).device == device


def test_the_code_of_another_device_is_wrong_on_this_ones_card(registry: PairingRegistry) -> None:
    """Each card adds its own device only."""
    check_in(registry)
    other = check_in(registry, mac=OTHER_MAC)
    assert registry.verify(other.code, 1.0, MAC).outcome is Outcome.WRONG


def test_a_wrong_try_without_a_mac_counts_for_everybody(registry: PairingRegistry) -> None:
    """Or it would be a way to guess without limit; whoever still has tries keeps its code."""
    first, second = check_in(registry), check_in(registry, mac=OTHER_MAC)
    guess = next(f"{n:06}" for n in range(3) if f"{n:06}" not in {first.code, second.code})
    assert registry.verify(guess, 1.0, MAC).tries_left == MAX_TRIES - 1
    assert [registry.verify(guess, 1.0).tries_left for _ in range(MAX_TRIES - 1)] == [4, 3, 2, 1]
    assert registry.get(MAC) != first
    kept = registry.get(OTHER_MAC)
    assert kept is not None
    assert (kept.code, kept.tries_left) == (second.code, 1)


def test_an_old_code_is_expired_and_costs_nothing(registry: PairingRegistry) -> None:
    """Also the right one: the device will show another at its next check-in."""
    device = check_in(registry)
    assert registry.verify(device.code, 2 * CODE_SECONDS, MAC).outcome is Outcome.EXPIRED
    assert [known.tries_left for known in registry.devices] == [MAX_TRIES]


def test_one_device_too_many_pushes_out_the_one_silent_for_longest(registry: PairingRegistry) -> None:
    """Memory is bounded, and who still calls stays."""
    macs = [f"94:a9:90:28:01:{i:02x}" for i in range(MAX_PENDING)]
    for now, mac in enumerate([*macs, macs[0]]):
        check_in(registry, now / 100, mac=mac)
    assert registry.check_in(MAC, CLIENT, BOARD, MAC, 2.0)[1] == [macs[1]]
    assert registry.check_in(MAC, CLIENT, BOARD, MAC, 3.0)[1] == []
    assert {device.mac for device in registry.devices} == {MAC, *macs} - {macs[1]}


@pytest.mark.parametrize(
    ("board", "label"),
    [
        ("bread-compact-wifi", "bread-compact-wifi (A4:5F)"),
        ("m5stack-core-s3", "M5Stack CoreS3 (A4:5F)"),
        ("", "XiaoZhi (A4:5F)"),
        ("盒子", "XiaoZhi (A4:5F)"),
        ("[x](http://e.vil)<b>", "xhttpe.vilb (A4:5F)"),
        ("a" * 500, f"{'a' * 24}… (A4:5F)"),
        ("waveshare-esp32-s3-touch-amoled-1.8", "ESP32-S3-Touch-AMOLED-1.8 (A4:5F)"),
        ("esp32-p4-wifi6-touch-lcd-4b", "ESP32-P4-WiFi6-Touch-LCD… (A4:5F)"),
        ("m5stack-tab5", "M5Stack Tab5 (A4:5F)"),
        ("waveshare-<b>", "Waveshare B (A4:5F)"),
    ],
)
def test_a_board_name_is_made_harmless_and_readable(
    registry: PairingRegistry, board: str, label: str
) -> None:
    """It comes from anybody on the network, and is shown in forms that know Markdown."""
    device, _ = registry.check_in(MAC, CLIENT, board, MAC, 0.0)
    assert device.label == label


@given(typed=st.text(max_size=200), mac=st.sampled_from([None, MAC, OTHER_MAC]))
def test_whatever_is_typed_gets_an_answer(typed: str, mac: str | None) -> None:
    """Nothing that a person can type raises, and nothing but the code is accepted."""
    registry = PairingRegistry()
    device = check_in(registry)
    verdict = registry.verify(typed, 1.0, mac)
    expected = {Outcome.EXPIRED} if mac == OTHER_MAC else {Outcome.WRONG, Outcome.MALFORMED}
    assert verdict.outcome in expected or device.code in typed
    assert verdict.outcome is not Outcome.MALFORMED or registry.devices == (device,)
