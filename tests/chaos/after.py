"""Checks the state when all is over. A new run finds a budget that adds up, no drafts, whole
entries, and is served what there is now."""

import json
import subprocess

from place import HOME

PATIENCE_S = 90


def check(place, next_run):
    """Returns what is wrong."""
    wrong = []
    for volume in place.volumes:
        run = next_run()
        place.play("begin", volume.number, run=run)
        wrong += check_volume(place, volume, run)
    return wrong


def check_volume(place, volume, run):
    summary = place.scratch / "summary-after.json"
    look = f"{place.build}/tests/cache/kills/accounts {HOME}"
    read = " ".join(map(str, place.player("session", volume.number, run=run, seconds=3, readers=2,
                                          seed=run, library=1, fresh="run")))
    line = place.stoker("sh", "-c", f"{look}; find {HOME}/fill -type f | wc -l; {read}; {look}",
                        flags=["--keep", f"--json={summary}"])
    done = subprocess.run(volume.command(line, place.env()), stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S,
                          check=False)
    lines = done.stdout.splitlines()
    if done.returncode != 0 or len(lines) < 3:
        return [f"the run afterwards ended with {done.returncode}: {lines} {done.stderr}"]
    wrong = lines[2:-1]  # what its readers said
    for when, accounts in ("at the start", json.loads(lines[0])), ("at the end",
                                                                   json.loads(lines[-1])):
        if accounts["used"] != accounts["there"]:
            wrong.append(f"the budget is off {when} of the run afterwards: {accounts}")
    if lines[1] != "0":
        wrong.append(f"{lines[1]} drafts are left")
    counts = json.loads(summary.read_text())
    # The catalogue keeps a record of each version. After half an hour of changes these alone may
    # fill a small tier, and a full tier takes nothing more.
    refused = counts["bypassed"].get("budget", 0) + counts["bypassed"].get("catalogue", 0)
    if counts["hits"] == 0 and refused == 0:
        wrong.append(f"the run afterwards is served nothing: {counts}")
    return wrong
