"""Each name in the documents exists: options, variables, make's targets, pages, headings."""

import re
import subprocess
import sys

import pytest

import blocks

ROOT = blocks.ROOT
COMMAND = re.compile(r"^ *(?:\$ )?(stoker [a-z]+\b|make [a-z]|python3? \S+\.py|srun |docker )")
# Not run as a whole, since it builds and tests everything in every way.
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = pytest.mark.parametrize("page", blocks.pages(), ids=blocks.name)


@pytest.fixture(scope="session")
def options(build):
    """{verb: its options}, as the command says."""
    def ask(*words):
        return subprocess.run([build / "stoker", "help", *words], text=True, check=True,
                              stdout=subprocess.PIPE).stdout
    verbs = re.findall(r"^  stoker ([a-z]+) ", ask(), re.MULTILINE)
    return {verb: set(re.findall(r"^  (--[a-z-]+)", ask(verb), re.MULTILINE)) for verb in verbs}


@pytest.fixture(scope="session")
def variables(build):
    text = subprocess.run([build / "stoker", "env", "--markdown"], text=True, check=True,
                          stdout=subprocess.PIPE).stdout
    return set(re.findall(r"^## (STOKER_\w+)", text, re.MULTILINE))


@pytest.fixture(scope="session")
def targets():
    text = "".join(path.read_text() for path in [ROOT / "Makefile", *ROOT.glob("*/*.mk"),
                                                 *ROOT.glob("*/*/*.mk")])
    return set(re.findall(r"^([a-z][a-z0-9-]*):", text, re.MULTILINE))


def code(page):
    """(where, text) of all that is shell, in blocks and in lines."""
    for block in blocks.blocks(page):
        if block.language in ("sh", "console", "sbatch", "yaml", "text"):
            yield str(block), block.text
    for number, text in blocks.spans(page):
        yield f"{page.name}:{number}", text


def unknown_options(words, options):
    """Returns the options of one simple command that `stoker VERB` does not know. COMMAND's own
    come behind a --."""
    while words and words[0] in ("$", "srun", "exec", "trap", "'"):
        words = words[1:]
    if len(words) < 2 or words[0] != "stoker" or not re.fullmatch("[a-z]+", words[1]):
        return []
    if words[1] in ("help",):
        return []
    if words[1] not in options:
        return [words[1]]
    ours = words[2:words.index("--")] if "--" in words else words[2:]
    named = [re.match(r"--[a-z-]+", word) for word in ours]
    return [found[0] for found in named if found and found[0] not in options[words[1]]]


@PAGES
def test_options(page, options):
    for where, text in code(page):
        for words in blocks.commands(text):
            assert not unknown_options(words, options), f"{where}: {' '.join(words)}"


def test_an_option_that_is_none_is_found(options):
    for text in ("stoker run --pathh /data -- python train.py", "$ stoker warmup /data",
                 'eval "$(stoker env --warm)"', "srun stoker run --jobss 3 -- true"):
        assert any(unknown_options(words, options) for words in blocks.commands(text)), text
    assert not any(unknown_options(words, options) for words in blocks.commands(
        "stoker run --warm=first --path /data -- torchrun --standalone train.py"))


@PAGES
def test_variables(page, variables):
    for number, line in enumerate(page.read_text().splitlines(), 1):
        for name in re.findall(r"\bSTOKER_[A-Z_]+\b", line):
            assert name in variables, f"{page.name}:{number}: {name}"


@PAGES
def test_targets_of_make(page, targets):
    check_targets(code(page), targets)


def test_targets_of_contributing(targets):
    lines = [(f"{CONTRIBUTING.name}:{number}", line) for number, line in blocks.indented(CONTRIBUTING)]
    assert lines
    check_targets([*lines, *code(CONTRIBUTING)], targets)


def check_targets(pieces, targets):
    for where, text in pieces:
        for words in blocks.commands(text):
            if words[0] == "make" and len(words) > 1 and re.fullmatch("[a-z][a-z0-9-]*", words[1]):
                assert words[1] in targets, f"{where}: {' '.join(words)}"


@PAGES
def test_links(page):
    for number, target in blocks.links(page):
        if not re.match("[a-z]+:", target):
            name, _, anchor = target.partition("#")
            path = page.parent / name if name else page
            assert path.exists(), f"{page.name}:{number}: {target}"
            assert not anchor or anchor in blocks.anchors(path), f"{page.name}:{number}: {target}"


def imported(page):
    """Returns the imports of a page's Python that are neither Python's own nor Stoker's."""
    code = "\n".join(block.text for block in blocks.blocks(page) if block.language in ("python", "sh"))
    found = set(re.findall(r"^ *(?:from|import) (\w+)", code, re.MULTILINE))
    return found - set(sys.stdlib_module_names) - {"stoker"}


@PAGES
def test_what_a_page_imports_it_says_how_to_get(page):
    said = {word for _, text in blocks.spans(page) if text.startswith("pip install ") for word in text.split()}
    assert imported(page) <= said, f"{page.name}: pip install {' '.join(imported(page) - said)}"


def test_imports_of_a_page_are_found():
    assert imported(ROOT / "docs/big-files.md") == {"h5py", "lmdb"}


@PAGES
def test_commands_stand_in_blocks_that_are_run(page):
    if page.name not in blocks.PICTURES:
        for number, line in blocks.indented(page):
            raise AssertionError(f"{page.name}:{number}: without a fence: {line}")
    for number, line in blocks.indented(page):
        assert not COMMAND.match(line), f"{page.name}:{number}: a command without a fence: {line}"
    for block in blocks.blocks(page):
        if block.language == "text":
            for line in block.text.splitlines():
                assert not COMMAND.match(line), f"{block}: a command that nobody runs: {line}"


def test_the_index_has_every_page():
    index = ROOT / "docs/README.md"
    linked = {target.partition("#")[0] for _, target in blocks.links(index)}
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert pages <= linked, pages - linked
    assert "docs/README.md" in {target for _, target in blocks.links(ROOT / "README.md")}
