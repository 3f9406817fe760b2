"""`python -m stoker`: the command, where its script is not on PATH or names a Python that has moved."""

from ._command import main

if __name__ == "__main__":
    main()
