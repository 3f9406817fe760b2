"""The first page of docs/performance.md and the plots say what the tables say."""

import subprocess

import blocks


def test_first_page_and_plots_are_what_the_figures_make():
    done = subprocess.run([blocks.ROOT / "bench/front.py", "--check"], text=True, check=False,
                          stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr + "run bench/front.py"
