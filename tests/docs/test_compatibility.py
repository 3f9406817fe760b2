"""The page of results is made of rows that tests recorded; some rows can be made anew."""

import json
import subprocess
import sys

from checkout import ROOT

PAGE = ROOT / "docs/compatibility.md"


def made(path, *rows):
    """The page with these rows, given as (group, name, version, cases, result)."""
    keys = "group", "name", "version", "cases", "result"
    path.write_text("".join(json.dumps(dict(zip(keys, row))) + "\n" for row in rows))
    return subprocess.run([sys.executable, ROOT / "scripts/compatibility.py", path, PAGE], check=True, text=True,
                          capture_output=True).stdout.splitlines()


def test_a_new_row(tmp_path):
    before, row = PAGE.read_text().splitlines(), ("Paths", "a | new subject", "", "cold", "same")
    page = made(tmp_path / "rows", row)
    assert [line for line in page if line not in before] == ["| a \\| new subject | cold | same |"]
    assert [line for line in page if line in before] == before


def test_rows_of_a_subject_that_is_there(tmp_path):
    before = PAGE.read_text().splitlines()
    rows = [("Python loaders", "lmdb.open(lock=True)", "2.0", f"cold: {how}", "same") for how in ("fork", "spawn")]
    page = made(tmp_path / "rows", *rows)
    assert [line for line in page if line not in before] == [
        "| lmdb.open(lock=True) | 2.0 | cold: fork, spawn | same |"]
    assert [line for line in before if line not in page] == [
        line for line in before if line.startswith("| lmdb.open(lock=True) |")]
