#!/usr/bin/env python3
"""Asks everything about each file, and prints the answers as JSON. Usage: ask.py FILE..."""

import hashlib
import json
import os
import sys


def answer(ask):
    try:
        return ask()
    except OSError as error:
        return f"errno {error.errno}"


def shown(stat):
    return [stat.st_ino, stat.st_mode, stat.st_size, stat.st_mtime_ns, stat.st_nlink]


def content(path):
    """By blocks, as far as it goes, and how it ends."""
    fd = os.open(path, os.O_RDONLY)
    try:
        digest, size, block = hashlib.md5(), 0, None
        while block != b"":
            block = answer(lambda: os.read(fd, 65536))
            if isinstance(block, str):
                return [size, digest.hexdigest(), block]
            digest.update(block)
            size += len(block)
        return [size, digest.hexdigest(), "end"]
    finally:
        os.close(fd)


def descriptor(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        return shown(os.fstat(fd))
    finally:
        os.close(fd)


def stream(path):
    with open(path, "rb") as file:
        return hashlib.md5(file.read()).hexdigest()


QUESTIONS = {
    "stat": lambda path: shown(os.stat(path)),
    "lstat": lambda path: shown(os.lstat(path)),
    "access": lambda path: os.access(path, os.R_OK),
    "content": content,
    "fstat": descriptor,
    "stream": stream,
    "again": content,
}

print(json.dumps({f"{name} {os.path.basename(path)}": answer(lambda: question(path))
                  for path in sys.argv[1:] for name, question in QUESTIONS.items()}))
