"""Runs a module of CPython's own tests, and reads the verdict on each case."""

import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree

# An interpreter that has its tests beside it.
PYTHON = os.environ.get("STOKER_CPYTHON", "/usr/bin/python3")
RESOURCES = "all,-network,-urlfetch,-largefile,-gui,-audio"  # what -u says
PATIENCE_S = 1500


def ask(expression):
    """Returns the value of an expression in the interpreter."""
    line = [PYTHON, "-c", f"import platform, sysconfig; print({expression})"]
    return subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


class Outcome:
    """How a module went: the verdict on each case, and stoker's summary where there is one."""

    def __init__(self, ran, report, summary=None):
        self.said, self.status = (ran.stdout + ran.stderr)[-4000:], ran.returncode
        assert report.exists(), f"no report: {self.said}"
        self.verdicts = verdicts(report)
        self.summary = json.loads(summary.read_text()) if summary else None


def without_numbers(text):
    """The first line of a reason, without process ids and made-up names of directories."""
    return re.sub(r"\w*\d\w*", "N", text.splitlines()[0] if text else "")


def verdict(case):
    """Returns the verdict on a case: ("completed", ""), ("skipped", why), ("failure", what), ..."""
    for child in case:
        if child.tag not in ("system-out", "system-err"):
            return child.tag, without_numbers(child.get("message") or child.get("type") or "")
    return case.get("result") or case.get("status"), ""


def verdicts(report):
    cases = xml.etree.ElementTree.parse(report).iter("testcase")
    return {case.get("name"): verdict(case) for case in cases}


class Regrtest:
    """Runs modules with all their temporary files in one directory; as root of the place, or as
    another user."""

    def __init__(self, jobs, scratch, user=None):
        self._jobs, self.user = jobs, user
        self.files, self._reports = scratch / "files", scratch / "reports"
        self._become = []
        if user is not None:
            self._become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]

    def _fresh(self, directory):
        """An empty directory, of the same name for each run."""
        if directory.exists():
            shutil.rmtree(directory)
        directory.mkdir()
        directory.chmod(0o777)

    def _line(self, module):
        self._fresh(self.files)
        self._fresh(self._reports)
        return [PYTHON, "-B", "-m", "test", "--tempdir", self.files, "-u", RESOURCES,
                "--junit-xml", self._reports / "report.xml", module]

    def _run(self, line, env=None):
        env = {"TMPDIR": self.files, "STOKER_MIN_AGE": "0.05", **(env or {})}
        return self._jobs.place.run([*self._become, *line], env=env, check=False,
                                    timeout=PATIENCE_S)

    def plain(self, module):
        return Outcome(self._run(self._line(module)), self._reports / "report.xml")

    def shim(self, module, also=(), flags=(), env=None):
        """Under `stoker run`, with the directory of temporary files and those of `also` covered."""
        line, summary = self._line(module), self._reports / "summary.json"
        ran = self._run(self._jobs.command_line(line, path=[self.files, *also],
                                                flags=["--keep", f"--json={summary}", *flags]), env)
        return Outcome(ran, self._reports / "report.xml", summary)

    def warm(self, library):
        """Brings what every run of tests imports into the cache."""
        line = [PYTHON, "-B", "-m", "test", "--list-tests"]
        ran = self._run(self._jobs.command_line(line, path=library, flags=["--keep"]))
        assert ran.returncode == 0, ran.stderr


def differences(plain, shim):
    """Returns the verdicts under the shim that no plain run has: case -> (plain, shim)."""
    found = {}
    for case in set(plain[0].verdicts) | set(shim.verdicts):
        without = {run.verdicts.get(case) for run in plain}
        if shim.verdicts.get(case) not in without:
            found[case] = (without, shim.verdicts.get(case))
    return found
