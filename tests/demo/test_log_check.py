"""The check of the demo sees what Home Assistant complains of us, and nothing else."""

from demo.__main__ import complaints_of_us

_LOG = """\
2026-11-23 05:00:00.000 WARNING (SyncWorker_0) [homeassistant.loader] We found a custom integration \
xiaozhi which has not been tested by Home Assistant. This component might cause stability problems
2026-11-23 05:00:01.000 INFO (MainThread) [custom_components.xiaozhi.gateway] Connected
2026-11-23 05:00:02.000 WARNING (MainThread) [homeassistant.components.http] Something else
2026-11-23 05:00:03.000 WARNING (MainThread) [homeassistant.helpers.frame] Detected that custom \
integration 'xiaozhi' calls async_get_chat_session without a context
2026-11-23 05:00:04.000 ERROR (MainThread) [custom_components.xiaozhi.device] A fault
"""


def test_warnings_and_errors_that_name_us_are_found() -> None:
    assert [line.rpartition("] ")[2][:8] for line in complaints_of_us(_LOG)] == ["Detected", "A fault"]
