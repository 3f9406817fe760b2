"""A rule for the tests of all folders: none may hang. After the limit a test fails, and prints which
processes it had started and where each of these waits."""

import os
import pathlib
import signal
import sys

import pytest

import hang

_HERE = pathlib.Path(__file__).resolve().parent
# pytest puts this directory there; its folders' names would be found as packages (`import cuda`). The other
# directories are those of pyproject.toml.
sys.path[:] = [path for path in sys.path if path != str(_HERE)]
sys.path.insert(0, str(_HERE.parent / os.environ.get("STOKER_BUILD", "build") / "python"))

# Far beyond what any takes. All of a folder may take long: make test-all.
_LIMIT_S = 3600 if os.environ.get("STOKER_ALL") == "1" else 400
_AGAIN_S = 20  # what cleans up after a test that hangs may hang as well


def _fail_after(limit_s):
    def fail(_signal, _frame):
        print(f"still running after {limit_s:.0f} s, with:", file=sys.stderr)
        hang.show(os.getpid(), sys.stderr)
        pytest.fail(f"hangs: still running after {limit_s:.0f} s")
    return fail


def pytest_configure(config):
    config.addinivalue_line("markers", "torch: uses torch, torchvision, numpy or PIL; "
                            "`make test-newest` repeats these with the newest")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop():
    """Removes the options of scripts/test.sh for this run, and its workers, from the environment of
    started processes."""
    os.environ.pop("PYTEST_ADDOPTS", None)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Set-up and tear-down are in the limit. A test may use the alarm itself: it hangs at its own risk
    then, and the limit of its part ends it (scripts/test.sh)."""
    limit_s = hang.patience(_LIMIT_S)
    before = signal.signal(signal.SIGALRM, _fail_after(limit_s))
    signal.setitimer(signal.ITIMER_REAL, limit_s, _AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item, call):
    """Skips a test whose machine lacks something that the test needs, whichever part of the test found out."""
    if call.excinfo is not None and getattr(call.excinfo.value, "skips", False):
        try:
            pytest.skip(str(call.excinfo.value))
        except pytest.skip.Exception:
            call.excinfo = pytest.ExceptionInfo.from_current()
