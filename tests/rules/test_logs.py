"""What is written into the log."""

import re

from tests.paths import ROOT

_CALL = re.compile(r"_LOGGER\.\w+\((?:[^()]|\([^()]*\))*\)")


def test_no_log_line_has_a_hardware_address() -> None:
    """At no level: people share logs. The end of it tells two devices apart."""
    lines = [
        call
        for path in (ROOT / "custom_components" / "xiaozhi").rglob("*.py")
        for call in _CALL.findall(path.read_text(encoding="utf-8"))
    ]
    assert len(lines) > 80
    assert not [call for call in lines if re.search(r"\bmac\b", call)]
