"""The user that runs a program. Inside a place, its maker is root."""

import itertools

from jobs import YOUNG, Ran

numbers = itertools.count()


class User:
    def __init__(self, name, number):
        self.name, self.number = name, number
        self.home = f"/dev/shm/stoker-{number}"

    def become(self):
        """Returns the words before a command."""
        if not self.number:
            return []
        return ["setpriv", f"--reuid={self.number}", f"--regid={self.number}", "--clear-groups"]

    def run(self, jobs, argv, path, flags=(), check=True, env=None, **more):
        """Runs argv under `stoker run`, all of it as this user: a Ran."""
        json_path = jobs.scratch / f"{next(numbers)}.json"
        line = [*self.become(), *jobs.command_line(argv, path, flags=[*flags,
                                                                      f"--json={json_path}"])]
        done = jobs.place.run(line, env={**YOUNG, **(env or {})}, check=check, **more)
        return Ran(done, json_path)


ROOT = User("root", 0)
NOBODY = User("nobody", 65534)
USERS = [ROOT, NOBODY]
