#!/usr/bin/env python3
"""Makes the manual pages of what the command says of itself, by --help and `env --markdown`.

    scripts/manual.py build/stoker docs/man
"""

import pathlib
import re
import subprocess
import sys

OVERVIEW = """\
Stoker feeds a GPU that waits for data. From the second epoch on the files of the data set come from this \
machine's memory, or its local disk, instead of the file system that cannot keep up. The script stays as it is.

A cached file is a complete copy of one version of one file. A run never sees a version that is older \
than its start; what is in doubt is read from the original.

Nothing is sent anywhere: there is no telemetry."""

LIBRARY = """\
A library for LD_PRELOAD. In each process that loads it, plain openings, reads and stats of files below \
STOKER_PATHS are answered from the cache on this node, and fill it; everything else goes to the original. stoker \
run sets the environment for everything that it starts; stoker env prints it.

Programs get the kernel's own descriptors, and see the original's metadata. A failure of the cache is a miss: the \
program then reads the original.

Programs that load no libraries (static ones, those of Go, setuid ones of another user) read the originals. glibc \
2.17 or later, on Linux for x86-64 and arm64."""

FILES = {"/dev/shm/stoker-UID": "the cache and its index",
         "~/.local/state/stoker/tiers": "where caches lie on disks",
         "~/.local/state/stoker/sizes": "how much the last runs have opened, by the paths that --path names",
         "~/.local/state/stoker/runs": "the newest runs, for stoker report"}


def escaped(text):
    """Text in which troff sees no commands."""
    text = text.replace("`", "").replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.M)


def paragraphs(text):
    return "\n.PP\n".join(escaped(" ".join(paragraph.split("\n"))) for paragraph in text.split("\n\n"))


def begin(title, section, version, brief):
    return f'.TH "{title}" {section} "" "{version}" "Stoker"\n.SH NAME\n{escaped(title)} \\- {escaped(brief)}\n'


def option_of(match):
    flag, optional, argument, meaning = match.groups()
    shown = f"\\fR{escaped(optional)}\\fR" if optional else f" \\fI{escaped(argument)}\\fR" if argument else ""
    meaning = re.sub(r"\n +", " ", meaning.strip())
    return f".TP\n.B {escaped(flag)}{shown}\n{escaped(meaning)}.\n"


def page_of_verb(text, version):
    """Its parts are apart by empty lines: the synopsis, paragraphs, options, examples."""
    head, *about, examples = text.rstrip("\n").split("\n\n")
    synopsis, brief = head.split("\n")
    verb, arguments = re.fullmatch(r"stoker (\w+) ?(.*)", synopsis).groups()
    takes = arguments.startswith("[OPTION]...")
    options = about.pop() if takes else ""
    arguments = arguments.removeprefix("[OPTION]...").lstrip()
    page = begin("stoker-" + verb, 1, version, brief)
    page += f".SH SYNOPSIS\n.B stoker {verb}\n" + "[\\fIOPTION\\fR]... " * takes + escaped(arguments)
    page += "\n.SH DESCRIPTION\n" + paragraphs("\n\n".join(about)) + "\n" + ".SH OPTIONS\n" * takes
    rows = re.finditer(r"^  (-[-a-z]+)(\[\S+\])?(?: (\S+))?((?:\n? {2,}(?!-)\S.*)+)", options, re.M)
    page += "".join(map(option_of, rows))
    commands = "".join(escaped(line.removeprefix("  $ ")) + "\n" for line in examples.split("\n"))
    return page + f".SH EXAMPLES\n.nf\n{commands}.fi\n.SH SEE ALSO\n.BR stoker (1),\n.BR libstoker.so (7)\n"


def page_of_all(verbs, version):
    page = begin("stoker", 1, version, "serve a data set's files from a cache on this node")
    page += (".SH SYNOPSIS\n.B stoker run\n[\\fIOPTION\\fR]... \\-\\- \\fICOMMAND\\fR...\n.br\n.B stoker\n"
             "\\fIVERB\\fR [\\fIOPTION\\fR]... [\\fIPATH\\fR]...\n.SH DESCRIPTION\n")
    page += paragraphs(OVERVIEW) + "\n.SH COMMANDS\n"
    page += "".join(f".TP\n.BR stoker\\-{verb} (1)\n{escaped(brief)}\n" for verb, brief in verbs)
    page += ".SH EXIT STATUS\nThat of the command that is run; 2 where what is asked cannot be done.\n.SH FILES\n"
    page += "".join(f".TP\n.I {escaped(path)}\n{meaning}\n" for path, meaning in FILES.items())
    return page + ".SH SEE ALSO\n.BR libstoker.so (7)\n"


def variable_of(match):
    name, argument, otherwise, meaning = match.groups()
    default = f" Default: {escaped(otherwise)}." if otherwise else ""
    return f".TP\n.B {name}\\fR=\\fI{escaped(argument)}\\fR\n{escaped(meaning)}{default}\n"


def page_of_library(options, version):
    page = begin("libstoker.so", 7, version, "the library that serves files from the cache")
    page += (".SH SYNOPSIS\n.B LD_PRELOAD=\\fIPATH\\fB/libstoker.so STOKER_PATHS=\\fIDIR\\fR \\fICOMMAND\\fR...\n"
             f".SH DESCRIPTION\n{paragraphs(LIBRARY)}\n.SH ENVIRONMENT\n")
    rows = re.finditer(r"^## (\w+)\n\n`\w+=(.*?)`.*, default (?:none|`(.*)`)\n\n(.*)$", options, re.M)
    page += "".join(map(variable_of, rows))
    return page + ".SH SEE ALSO\n.BR stoker (1),\n.BR stoker\\-env (1),\n.BR ld.so (8)\n"


def main(stoker, out):
    def ask(*words):
        return subprocess.run([stoker, *words], check=True, text=True, capture_output=True).stdout

    version = ask("--version").strip()
    verbs = re.findall(r"^  stoker (\w+) {2,}(.*)$", ask("--help"), re.M)
    pages = {f"stoker-{verb}.1": page_of_verb(ask(verb, "--help"), version) for verb, _ in verbs}
    pages["stoker.1"] = page_of_all(verbs, version)
    pages["libstoker.so.7"] = page_of_library(ask("env", "--markdown"), version)
    pathlib.Path(out).mkdir(parents=True, exist_ok=True)
    for name, page in pages.items():
        (pathlib.Path(out) / name).write_text(page)


if __name__ == "__main__":
    main(*sys.argv[1:])
