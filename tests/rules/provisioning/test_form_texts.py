"""The texts of the forms."""

from custom_components.xiaozhi.forms.pairing_form import listed


def test_many_waiting_devices_are_one_below_the_other() -> None:
    assert listed(["a (00:01)", "b (00:02)"]) == "a (00:01), b (00:02)"
    assert listed([f"a (00:0{number})" for number in range(4)]).count("\n- a (00:0") == 4
