"""docs/design: each rule has its four parts, and the places that it names exist."""

import re

import pytest

import blocks

ROOT = blocks.ROOT
DESIGN = ROOT / "docs/design"
PARTS = ["Rule", "Why", "Where", "Test"]
PAGES = [page for page in sorted(DESIGN.glob("*.md")) if page.name != "README.md"]
SOURCES = ("base", "cache", "preload", "decode", "store", "ring", "gpu", "wrappers", "cli")


def rules(page):
    """(title, [(part, its text)]) of each rule, in order."""
    for piece in re.split(r"^### ", page.read_text(), flags=re.MULTILINE)[1:]:
        title, _, body = piece.partition("\n")
        body = re.split(r"^## ", body, flags=re.MULTILINE)[0]
        found = re.findall(r"^- \*\*(\w+):\*\* (.*?)(?=^- |\Z)", body, flags=re.MULTILINE | re.DOTALL)
        yield title, [(part, " ".join(text.split())) for part, text in found]


def places(text):
    """(path, names) of `path`: `name`, `name`; `path`."""
    for piece in text.rstrip(".").split(";"):
        path, *names = re.findall(r"`([^`]+)`", piece)
        yield ROOT / path, names


def is_in(name, path):
    return re.search(rf"\b{re.escape(name)}\b", path.read_text()) is not None


@pytest.mark.parametrize("page", PAGES, ids=blocks.name)
def test_each_rule_has_its_parts(page):
    found = dict(rules(page))
    assert found
    for title, parts in found.items():
        assert [part for part, _ in parts] == PARTS, f"{page.name}: {title}"


@pytest.mark.parametrize("page", PAGES, ids=blocks.name)
def test_places_exist(page):
    missing = []
    for title, parts in rules(page):
        for part, text in parts:
            for path, names in places(text) if part in ("Where", "Test") else ():
                lost = [name for name in names if not (path.exists() and is_in(name, path))]
                if lost or not path.exists():
                    missing.append(f"{title}: {part}: {path.relative_to(ROOT)} {' '.join(lost)}")
    assert not missing, "\n".join(missing)


def test_the_index_has_every_subject():
    linked = {target for _, target in blocks.links(DESIGN / "README.md")}
    assert {page.name for page in PAGES} <= linked


def test_functions_of_the_architecture_exist():
    """Those that are named as ours, in code, and the files."""
    page = ROOT / "docs/architecture.md"
    files = [path for room in SOURCES for path in (ROOT / room).rglob("*")
             if path.suffix in (".c", ".h", ".def", ".py")]
    text = "\n".join(path.read_text() for path in files)
    names = {str(path) for path in files}
    for number, span in blocks.spans(page):
        for name in re.findall(r"\bstk_\w+", span):
            assert re.search(rf"\b{name}\b", text), f"{page.name}:{number}: {name}"
        if re.fullmatch(rf"({'|'.join(SOURCES)})/[\w./]+", span):
            assert (ROOT / span).exists(), f"{page.name}:{number}: {span}"
        elif re.fullmatch(r"[\w/]+\.(c|h|py)", span):
            assert any(name.endswith("/" + span) for name in names), f"{page.name}:{number}: {span}"


def test_private_words_are_few():
    own = (ROOT / "docs/glossary.md").read_text().split("The field's words")[0]
    words = re.findall(r"^\| ([a-z][\w, ]*) \|", own, flags=re.MULTILINE)
    assert 10 < len(words) <= 25, words
