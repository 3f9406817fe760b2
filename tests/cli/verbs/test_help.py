"""The command's own documentation: one screen, the manual pages, completion."""

import re
import shutil
import subprocess

import pytest

VERBS = ["run", "warm", "env", "ls", "top", "last", "clear", "verify", "doctor", "report"]


def flags_of(text):
    """Those that a verb's help lists."""
    return re.findall(r"^  (--[a-z-]+)", text, re.M)


@pytest.fixture
def help_of(jobs):
    def ask(verb):
        done = jobs.stoker(verb, "--help")
        assert done.returncode == 0 and done.stderr == ""
        return done.stdout
    return ask


def test_the_first_screen_fits(jobs):
    text = jobs.stoker("--help").stdout
    assert len(text.splitlines()) <= 24
    assert max(map(len, text.splitlines())) < 80
    assert re.findall(r"^  stoker (\w+)  +\w", text, re.M) == VERBS
    assert "No telemetry" in text


def test_each_verb_has_help_that_fits(jobs, help_of):
    for verb in VERBS:
        text = help_of(verb)
        options = ["[OPTION]..."] if flags_of(text) else []
        assert text.split()[:2 + len(options)] == ["stoker", verb, *options]
        assert max(map(len, text.splitlines())) < 80, verb
        assert jobs.stoker("help", verb).stdout == text
    assert jobs.stoker("help", "nonsense").returncode == 2


def test_a_mistyped_topic_is_guessed(jobs):
    for typed, meant in (("rnu", "run"), ("enviroment", "environment")):
        done = jobs.stoker("help", typed)
        assert done.returncode == 2 and done.stderr == f"stoker: no help on {typed}: did you mean `stoker help {meant}`?\n"


def test_a_flag_without_a_verb(jobs):
    done = jobs.stoker("--path", "/data", "--", "true")
    assert done.returncode == 2
    assert done.stderr == "stoker: a verb stands before --path, as in `stoker run --path`: see `stoker --help`\n"


def test_the_variables_lie_in_files_as_well(jobs):
    assert {"~/.config/stoker.conf", "/etc/stoker.conf."} <= set(jobs.stoker("help", "environment").stdout.split())


def test_every_verb_is_listed(repository):
    table = (repository / "cli/main.c").read_text().split("verbs[] = {")[1].split("};")[0]
    assert set(re.findall(r'\{"(\w+)"', table)) == {*VERBS, "help"}


def test_help_behind_what_is_written_already(jobs, help_of, scratch):
    """But not what a command's own --help is, nor an option's value."""
    for words in (["run", "--path", scratch, "--help"], ["run", "--keep", "-h", "--", "true"],
                  ["warm", scratch, "--decoded", "--help"], ["doctor", "--json", scratch, "--help"]):
        done = jobs.stoker(*words)
        assert (done.returncode, done.stdout) == (0, help_of(words[0])), words
    for words in (["run", "--path", scratch, "--", "cat", "--help"], ["run", "--path", scratch, "cat", "--help"]):
        assert "Usage: cat" in jobs.stoker(*words).stdout
    assert "cat can be served" in jobs.stoker("doctor", "--", "cat", "--help").stdout
    assert "--help: No such file" in jobs.stoker("run", "--path", "--help", "--", "true").stderr
    assert jobs.stoker("help", "--help").stdout == jobs.stoker("--help").stdout


def test_flags_that_are_listed_are_taken(jobs, help_of):
    for verb in VERBS:
        for flag in flags_of(help_of(verb)):
            if flag in ("--markdown", "--end"):  # alone
                continue
            done = jobs.stoker(verb, flag, "--nonsense")
            said = done.stderr
            assert "nknown option " + flag not in said and "unexpected: " + flag not in said, said


def test_flags_that_are_taken_are_listed(repository, help_of):
    listed = {flag for verb in VERBS for flag in flags_of(help_of(verb))}
    takers = r'(?:strcmp\([^,;]*, |(?:take_value|value_of)\(&?\w+, )"(--[a-z][a-z-]*)'
    for path in (repository / "cli").rglob("*.c"):
        if path.name not in ("main.c", "help.c", "completion.c"):
            taken = set(re.findall(takers, path.read_text()))
            assert taken - {"--samples"} <= listed, path.name  # its older spelling


def pages(repository):
    return sorted((repository / "docs/man").iterdir())


def test_the_pages_are_what_the_command_says(jobs, repository, build, tmp_path):
    """make manual writes them anew."""
    names = {f"stoker-{verb}.1" for verb in VERBS} | {"stoker.1", "libstoker.so.7"}
    assert {page.name for page in pages(repository)} == names
    subprocess.run([repository / "scripts/manual.py", build / "stoker", tmp_path], check=True)
    assert {page.name for page in tmp_path.iterdir()} == names
    for page in pages(repository):
        assert (tmp_path / page.name).read_text() == page.read_text(), page.name
    assert jobs.stoker("help", "--completion").stdout == (repository / "docs/completion.bash").read_text()
    for shell in ("bash", "zsh", "fish"):
        assert (repository / f"docs/completion.{shell}").read_text() == \
            jobs.stoker("help", "--completion", shell).stdout
    assert jobs.stoker("help", "--completion", "tcsh").returncode == 2


def test_the_pages_can_be_read(jobs, repository, help_of):
    if shutil.which("man") is None or shutil.which("groff") is None:
        pytest.skip("no man")
    for page in pages(repository):
        done = subprocess.run(["man", "--warnings", "-E", "ascii", "-l", page], text=True,
                              capture_output=True, env={"PATH": "/usr/bin:/bin", "MANWIDTH": "79",
                                                        "MAN_KEEP_FORMATTING": "", "PAGER": "cat"})
        assert done.returncode == 0 and done.stderr == "", done.stderr
        verb = page.stem.partition("-")[2]
        for flag in flags_of(help_of(verb)) if verb else ["STOKER_PATHS"][:page.suffix == ".7"]:
            assert re.search(rf"^ +{flag}\b", done.stdout, re.M), (page.name, flag)


def test_the_library_s_page_names_every_variable(jobs, repository):
    page = (repository / "docs/man/libstoker.so.7").read_text()
    options = (repository / "docs/environment.md").read_text()
    for name in re.findall(r"^## (\w+)$", options, re.M):
        assert f"\n.B {name}\\fR" in page


COMPLETE = """
. "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_stoker
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize("words, wanted", [
    (["stoker", ""], {*VERBS, "help", "--help", "--version"}),
    (["stoker", "ru"], {"run"}),
    (["stoker", "help", "r"], {"run", "report"}),
    (["stoker", "run", "--no-"], {"--no-decode", "--no-torchvision", "--no-batches",
                                        "--no-history"}),
    (["stoker", "run", "--wa"], {"--warm", "--warm=first"}),
    (["stoker", "run", "--fresh", ""], {"run", "open", "never"}),
    (["stoker", "clear", "--d"], {"--dead"}),
    (["stoker", "run", "--path", "/us"], {"/usr"}),
    (["stoker", "run", "--path", "/usr", "--", "ls", "/us"], {"/usr"}),
    (["stoker", "doctor", "--json", "/us"], {"/usr"}),
])
def test_completion(repository, words, wanted):
    done = subprocess.run(["bash", "--norc", "-c", COMPLETE, "bash", repository / "docs/completion.bash",
                           *words], text=True, capture_output=True)
    assert done.stderr == "" and set(done.stdout.split()) == wanted


def test_completion_of_a_command(repository):
    line = ["stoker", "run", "--", "moun"]
    done = subprocess.run(["bash", "--norc", "-c", COMPLETE, "bash", repository / "docs/completion.bash",
                           *line], text=True, capture_output=True)
    assert "mount" in done.stdout.split()
