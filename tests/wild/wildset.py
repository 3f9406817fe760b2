"""The files that command lines are run on: of every kind that a tool minds."""

import gzip
import hashlib
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tarfile
import time
import wave
import zipfile

from jobs import AGE

YEAR_2000 = 950_000_000
GIT = {"GIT_AUTHOR_NAME": "Wild", "GIT_AUTHOR_EMAIL": "wild@example.org",
       "GIT_COMMITTER_NAME": "Wild", "GIT_COMMITTER_EMAIL": "wild@example.org",
       "GIT_AUTHOR_DATE": "2000-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2000-01-01T00:00:00Z",
       "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent", "PATH": os.environ["PATH"]}


def some_bytes(name, size=60000):
    return hashlib.shake_128(name.encode()).digest(size)


def some_text(top):
    top.joinpath("text.txt").write_text("".join(f"line {n:04}\n".replace(" 0", " ")
                                                for n in range(2000)))
    top.joinpath("with space").write_text("line 1 of another file\n" * 500)
    top.joinpath("script.sh").write_text("echo from the script\nvalue=5\n")
    top.joinpath("Makefile").write_text("one.txt: $(D)/text.txt\n\tcp $(D)/text.txt one.txt\n")
    top.joinpath("source.c").write_text('#include "header.h"\nint answer(void)\n{\n'
                                        "    return ANSWER;\n}\n")
    top.joinpath("header.h").write_text("#define ANSWER 42\n")


def some_tree(top):
    deep = top / "sub/deep"
    deep.mkdir(parents=True)
    deep.joinpath("three.bin").write_bytes(some_bytes("three"))
    for number in range(3):
        top.joinpath(f"sub/{number}.txt").write_text(f"line {number}\nline 7\n" * 100)
    top.joinpath("bytes.bin").write_bytes(some_bytes("bytes"))
    top.joinpath("empty").write_bytes(b"")
    top.joinpath("link").symlink_to("text.txt")


def some_archives(top):
    with tarfile.open(top / "archive.tar", "w") as archive:
        archive.add(top / "sub", "sub")
    packed = gzip.compress(top.joinpath("archive.tar").read_bytes(), mtime=0)
    top.joinpath("archive.tar.gz").write_bytes(packed)
    with zipfile.ZipFile(top / "archive.zip", "w") as archive:
        archive.write(top / "text.txt", "text.txt")


def some_media(top):
    with wave.open(str(top / "sound.wav"), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(some_bytes("sound"))
    # A plain PPM under the name of a photograph: every tool looks inside.
    top.joinpath("photo.jpg").write_bytes(b"P6 100 100 255\n" + some_bytes("photo", 30000))


def a_database(top):
    base = sqlite3.connect(top / "base.db")
    base.execute("create table samples (n integer)")
    base.executemany("insert into samples values (?)", [(n,) for n in range(1000)])
    base.commit()
    base.close()


def a_repository(top):
    where = top / "repository"
    where.mkdir()

    def git(*arguments):
        subprocess.run(["git", "-C", where, *arguments], env=GIT, check=True)

    git("init", "-q", "-b", "main")
    for number in range(3):
        shutil.copy(top / f"sub/{number}.txt", where / "text.txt")
        git("add", "text.txt")
        git("commit", "-q", "-m", f"change {number}")
    git("gc", "-q")
    shutil.copy(top / "text.txt", where / "new.txt")
    git("add", "new.txt")
    git("commit", "-q", "-m", "loose objects")


def an_object(top):
    if shutil.which("gcc"):
        subprocess.run(["gcc", "-c", "source.c", "-o", "object.o"], cwd=top, check=True)


def settle(top, owner):
    """Gives the files to their owner alone, long unchanged, and makes one that may not be read."""
    top.joinpath("closed").write_text("secret\n")
    for one in [top, *top.rglob("*")]:
        os.chown(one, owner, owner, follow_symlinks=False)
        if ".git" not in one.parts:  # whose index knows its files' times
            os.utime(one, (YEAR_2000, YEAR_2000), follow_symlinks=False)
    top.joinpath("closed").chmod(0)
    os.sync()  # so that st_blocks stays what it is
    time.sleep(AGE)  # or the first to read them would find them too young to be cached


def make(top, owner):
    top = pathlib.Path(top)
    top.mkdir()
    for part in some_text, some_tree, some_archives, some_media, a_database, an_object:
        part(top)
    if shutil.which("git"):
        a_repository(top)
    settle(top, owner)
