"""docs/performance.md: its first page and the plots say what the tables of performance-figures.md say, and the
tables survive the writing of others."""

import re
import subprocess

import blocks


import report


def test_first_page_and_plots_are_what_the_figures_make():
    done = subprocess.run([blocks.ROOT / "bench/front.py", "--check"], text=True, check=False,
                          stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr + "run bench/front.py"


def test_parts_that_are_not_measured_again_stay():
    page = (blocks.ROOT / "docs/performance-figures.md").read_text()
    there = page.split(report.BEGIN)[1].split(report.END)[0].strip("\n")
    machine, parts = report.sections(there)
    assert machine.startswith("Measured on: ")
    assert "\n".join(report.document_lines(machine, parts)) == there


def test_a_part_of_another_machine_names_it():
    machine = {"processor": "another", "cores": 2, "kernel": "6", "libc": "glibc", "python": "3"}
    part = {"part": "scan", "machine": machine, "quick": False, "rows": [], "notes": ["a note"]}
    line = report.describe_machine(part)
    assert report.part_lines(part, "Measured on: this.")[0] == line and "another" in line
    assert line not in report.part_lines(part, line)


# Figures of others, which the comparison names as published.
PUBLISHED = {"7000", "172801", "31278"}
RATE = re.compile(r"(?:images|samples) a second|(?:images|samples)/s")
NUMBER = re.compile(r"(?<![\w.,-])\d[\d,]*(?![\w.-]|%| [KMG]i?B)")


def test_rates_in_the_tour_are_those_of_the_tables():
    page = (blocks.ROOT / "docs/performance-figures.md").read_text()
    tables = set(re.findall(r"(\d+) (?:images|samples|files)/s", page))
    device = re.findall(r"\| (?:at least )?([\d,]+)(?= images/s| \|)", (blocks.ROOT / "docs/gpu.md").read_text())
    tables |= {each.replace(",", "") for each in device}
    found = 0
    for page in ("comparison", "faq", "tuning", "big-files", "imagenet"):
        text = "\n".join(line for _, line in blocks.prose(blocks.ROOT / f"docs/{page}.md"))
        for sentence in re.split(r"(?<=[.;|])\s|\n\n", text):
            if RATE.search(sentence):
                rates = {each.replace(",", "") for each in NUMBER.findall(sentence)}
                large = {rate for rate in rates if int(rate) >= 200} - PUBLISHED
                assert large <= tables, f"{page}: {large - tables} in: {sentence}"
                found += len(large)
    assert found > 10
