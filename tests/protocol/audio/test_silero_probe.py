"""The model of speech is tried in another process before it is loaded in this one."""

from pathlib import Path
import sys
from time import monotonic
from types import ModuleType

import pytest

from custom_components.xiaozhi.protocol.audio.silero import PROBE_WORKS, ModelUnavailable, main
from custom_components.xiaozhi.protocol.audio.silero_probe import find_model, probe, probe_key
from tests.silero_wheels import FAILS_TO_RUN, HANGS, ILLEGAL_INSTRUCTION, PACKAGE, WORKS, installed

pytestmark = pytest.mark.real_time

LIMIT = 30.0
FLAGS = "processor : 0\nflags : sse4_2 avx2\nbogomips : 5\n\nprocessor : 1\nflags : sse4_2 avx2\n"


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
    with installed(tmp_path, HANGS):
        begun = monotonic()
        with pytest.raises(ModelUnavailable, match=r"did not end in 0\.3 seconds"):
            await probe(find_model(), 0.3)
    # Its process has ended, too, for which `probe` has waited.
    assert monotonic() - begun < 10


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


def test_a_package_without_a_version_has_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    known = probe_key()
    monkeypatch.setattr(sys, "path", [])
    assert probe_key() != known


def test_the_program_runs_the_model() -> None:
    assert main([]) == PROBE_WORKS


def test_another_version_or_processor_is_another_key(tmp_path: Path) -> None:
    processors = tmp_path / "cpuinfo"
    unknown = probe_key(processors)
    processors.write_text(FLAGS)
    key = probe_key(processors)
    processors.write_text(FLAGS.replace("bogomips : 5", "bogomips : 6").replace("sse4_2 avx2", "avx2 sse4_2"))
    assert probe_key(processors) == key
    processors.write_text(FLAGS.replace(" avx2", ""))
    older = probe_key(processors)
    processors.write_text("Features : asimd crc32\n")
    keys = {key, unknown, older, probe_key(processors)}
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    with installed(wheels, WORKS, "9.0") as wheel:
        keys.add(probe_key(processors))
        wheel.update("9.1")
        keys.add(probe_key(processors))
    assert len(keys) == 6
