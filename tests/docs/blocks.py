"""The parts of the documents: fenced blocks, code within lines, headings and links.

A block's language decides its use. Words behind the language: file=NAME: it is written and not run.
may=STATUS: a status other than 0 that is no error. says=WORDS,WORDS (with _ for blanks): its output
has these. norun=REASON (all the rest of the line): it is only read.
"""

import dataclasses
import pathlib
import re

from checkout import ROOT

# In these it is pictures that are indented, and no commands.
PICTURES = {"architecture.md", "compatibility.md"}


@dataclasses.dataclass
class Block:
    page: pathlib.Path
    line: int
    language: str
    info: dict
    text: str

    def __str__(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/design").glob("*.md"))]


def name(page):
    return str(page.relative_to(ROOT).with_suffix(""))


def _info(words):
    before, found, reason = words.partition("norun=")
    info = dict(word.split("=", 1) for word in before.split())
    return {**info, "norun": reason.strip()} if found else info


def blocks(page):
    """All fenced blocks of a page, in order."""
    out, open_block = [], None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = re.match(r"( *)```(\w*) *(.*)", line)
        if fence and open_block is None:
            open_block = Block(page, number, fence[2], _info(fence[3]), "")
            margin = len(fence[1])
        elif fence:
            out.append(open_block)
            open_block = None
        elif open_block:
            open_block.text += line[margin:] + "\n"
    assert open_block is None, f"{open_block}: not closed"
    return out


def prose(page):
    """(number, line) of all that stands in no block."""
    inside = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            yield number, line


def indented(page):
    """(number, line) of what Markdown takes for code because of its margin."""
    before = ""
    for number, line in prose(page):
        if line.startswith("    ") and (not before.strip() or before.startswith("    ")):
            yield number, line
        before = line


def spans(page):
    """(number, text) of code within lines."""
    for number, line in prose(page):
        for text in re.findall(r"`([^`]+)`", line):
            yield number, text


def commands(text):
    """The simple commands of a piece of shell, as lists of words."""
    text = re.sub(r"\\\n", " ", text)
    text = re.sub(r"(^|\s)#.*", r"\1", text, flags=re.MULTILINE)
    for piece in re.split(r"[;|&\n()`\"]+", text):
        words = piece.split()
        if words:
            yield words


def anchors(page):
    """Returns the names by which links mean the headings."""
    found = set()
    for _, line in prose(page):
        if line.startswith("#"):
            name = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-")
            while name in found:
                name = re.sub(r"-\d+$", "", name) + "-%d" % (
                    int((re.search(r"-(\d+)$", name) or [0, 0])[1]) + 1)
            found.add(name)
    return found


def links(page):
    for number, line in prose(page):
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            yield number, target
