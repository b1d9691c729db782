"""The model of speech is tried in another process before it is loaded in this one."""

from pathlib import Path
import sys
from types import ModuleType

import pytest

from custom_components.xiaozhi.protocol.audio.silero import PROBE_WORKS, ModelUnavailable, main
from custom_components.xiaozhi.protocol.audio.silero_probe import find_model, probe
from tests.silero_wheels import FAILS_TO_RUN, HANGS, ILLEGAL_INSTRUCTION, PACKAGE, WORKS, installed

pytestmark = pytest.mark.real_time

LIMIT = 100.0


async def test_the_real_model_works_here() -> None:
    await probe(find_model(), LIMIT)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (ILLEGAL_INSTRUCTION, "an illegal instruction"),
        (FAILS_TO_RUN, "signal 6"),
        ("raise ImportError", "exit status 1"),
        ("os._exit(0)", "exit status 0"),
    ],
    ids=["illegal instruction", "dies when it runs", "cannot be imported", "ends"],
)
async def test_a_model_that_ends_its_process_ends_another_one(tmp_path: Path, code: str, why: str) -> None:
    with installed(tmp_path, code) as wheel:
        with pytest.raises(ModelUnavailable, match=why):
            await probe(find_model(), LIMIT)
        assert wheel.loaded_by() == ["another"]


async def test_a_model_that_hangs_is_ended(tmp_path: Path) -> None:
    """`probe` waits for that; by itself it would take ten minutes."""
    with (
        installed(tmp_path, HANGS),
        pytest.raises(ModelUnavailable, match=r"did not end in 0\.3 seconds"),
    ):
        await probe(find_model(), 0.3)


@pytest.mark.parametrize("program", ["", None, "/nowhere/python", "/etc/passwd", "/bin/true", "/bin/false"])
async def test_a_strange_python_is_no_reason_to_load_it(
    monkeypatch: pytest.MonkeyPatch, program: str | None
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    with pytest.raises(ModelUnavailable):
        await probe("/nowhere", LIMIT)


def test_to_find_the_package_does_not_load_it(tmp_path: Path) -> None:
    with installed(tmp_path, WORKS) as wheel:
        assert find_model() == wheel.folder
        assert wheel.loaded_by() == []


@pytest.mark.parametrize("module", [None, ModuleType(PACKAGE)], ids=["blocked", "made up"])
def test_a_package_that_is_not_there_is_not_found(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType | None
) -> None:
    monkeypatch.setitem(sys.modules, PACKAGE, module)
    with pytest.raises(ModelUnavailable, match="not installed"):
        find_model()


def test_the_program_runs_the_model() -> None:
    assert main([]) == PROBE_WORKS
