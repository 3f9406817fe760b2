"""docs/performance.md: its first page and the plots say what the tables say, and the tables survive the
writing of others."""

import subprocess
import sys

import blocks

sys.path.insert(0, str(blocks.ROOT / "bench"))

import report  # noqa: E402


def test_first_page_and_plots_are_what_the_figures_make():
    done = subprocess.run([blocks.ROOT / "bench/front.py", "--check"], text=True, check=False,
                          stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr + "run bench/front.py"


def test_parts_that_are_not_measured_again_stay():
    page = (blocks.ROOT / "docs/performance.md").read_text()
    there = page.split(report.BEGIN)[1].split(report.END)[0].strip("\n")
    machine = there.split("\n")[0]
    assert "\n".join(report.document_lines([machine], report.sections(there))) == there
