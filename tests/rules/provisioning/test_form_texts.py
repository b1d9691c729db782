"""The texts of the forms."""

from custom_components.xiaozhi.forms.pairing_form import listed
from tests.integration.provisioning.forms import texts


def test_every_field_is_described() -> None:
    steps = [*texts("config")["step"].items(), *texts("config_subentries")["device"]["step"].items()]
    assert steps
    for name, step in steps:
        assert step["title"], name
        for part in (step, *step.get("sections", {}).values()):
            assert part.get("data", {}).keys() == part.get("data_description", {}).keys(), name
            assert all(part.get("data_description", {}).values()), name


def test_many_waiting_devices_are_one_below_the_other() -> None:
    assert listed(["a (00:01)", "b (00:02)"]) == "a (00:01), b (00:02)"
    assert listed([f"a (00:0{number})" for number in range(4)]).count("\n- a (00:0") == 4
