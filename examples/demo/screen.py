"""The demo's output: lines that stay, and one line below them that moves on a terminal."""

import sys

WIDTH = 30


class Screen:
    def __init__(self):
        self._moving = sys.stdout.isatty()

    def say(self, text=""):
        """Writes a line that stays."""
        self.clear()
        print(text, flush=True)

    def bar(self, label, done, total, note=""):
        """Moves the progress bar; nothing where there is no terminal."""
        if self._moving:
            filled = WIDTH * min(done, total) // max(total, 1)
            sys.stdout.write("\r\033[K%s [%s%s] %s" % (
                label, "#" * filled, "-" * (WIDTH - filled), note))
            sys.stdout.flush()

    def clear(self):
        if self._moving:
            sys.stdout.write("\r\033[K")
            sys.stdout.flush()
