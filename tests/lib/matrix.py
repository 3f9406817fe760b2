"""Rows of the results matrix (docs/compatibility.md)."""

import json
import os


def record(group, name, version, cases, result):
    """Appends a row to the file $STOKER_MATRIX, when that is set."""
    path = os.environ.get("STOKER_MATRIX")
    if path:
        row = {"group": group, "name": name, "version": version, "cases": cases, "result": result}
        with open(path, "a") as file:
            file.write(json.dumps(row) + "\n")
