"""The command of a pip-installed package: the program that lies in bin/."""

import os
import sys


def main():
    program = os.path.join(os.path.dirname(__file__), "bin", "stoker")
    os.execv(program, ["stoker", *sys.argv[1:]])
