"""A process that answers each line of its input with one line."""

from jobs import read_line


class Asked:
    def __init__(self, process):
        self._process = process

    def ask(self, line):
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self.answer()

    def answer(self):
        return read_line(self._process)
