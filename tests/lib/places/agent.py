"""A process in an isolated place that follows orders: opens, looks, changes files.

    with agents.shim(path=root) as shim, agents.plain() as plain:
        shim.rename(one, other)             # os.rename, in the process under the library
        assert shim.see(path) == plain.see(path)

A call that fails raises OSError. see() returns everything there is to see of a path: content, stat,
errno of each way to open it. Its part from the cache stands apart, in `served`. So the result can
be compared with that of a process without the library.
"""

import contextlib
import itertools
import json
import marshal
import os
import pathlib
import select
import sys

PROGRAM = pathlib.Path(__file__).resolve().parent / "agent_program.py"
ANSWER_S = 60  # an agent that says nothing for so long hangs
WAYS = ("open", "nofollow", "directory")  # to open a path


class Sight:
    """An agent's look at a path. Two looks are equal if a program could not distinguish them."""

    def __init__(self, said):
        self.served = {way: len(said[way]) == 3 and said[way][2] for way in WAYS}
        self.said = {key: value[:2] if key in WAYS and len(value) == 3 else value
                     for key, value in said.items()}

    def __eq__(self, other):
        return self.said == other.said

    def __getitem__(self, key):
        return self.said[key]

    @property
    def content(self):
        """("file", size, digest), ("directory", names) or ("errno", number) of the plain open."""
        opened = self.said["open"]
        return opened if opened[0] == "errno" else opened[0]

    def __repr__(self):
        return "\n".join(f"{key}: {value}" for key, value in self.said.items())


class Agent:
    def __init__(self, process):
        self.process = process
        self._hear()

    def _hear(self):
        stdout = self.process.stdout  # holds nothing back, since an agent says one line at a time
        if not select.select([stdout], [], [], ANSWER_S)[0]:
            self.process.kill()
        line = stdout.readline()
        if not line:
            raise AssertionError(f"the agent has ended: {self.process.communicate()[1]}")
        kind, value = marshal.loads(bytes.fromhex(line))
        if kind == "errno":
            raise OSError(value, os.strerror(value))
        return value

    def ask(self, name, *arguments):
        """Makes a call: a function of the program, or of os."""
        arguments = tuple(os.fsencode(one) if isinstance(one, os.PathLike) else one
                          for one in arguments)
        self.process.stdin.write(marshal.dumps((name, arguments)).hex() + "\n")
        self.process.stdin.flush()
        return self._hear()

    def __getattr__(self, name):
        return lambda *arguments: self.ask(name, *arguments)

    def see(self, path, at=None, asking_first=False):
        path = os.fsencode(path) if not isinstance(path, bytes) else path
        return Sight(self.ask("look", path, at, asking_first))

    def see_all(self, paths):
        """A Sight for each path."""
        return {path: Sight(said) for path, said in
                zip(paths, self.ask("look_all", [os.fsencode(path) for path in paths]))}

    def errno_of(self, name, *arguments):
        """The errno of a call, or 0."""
        try:
            self.ask(name, *arguments)
            return 0
        except OSError as error:
            return error.errno


class Agents:
    """Makes agents in a place: without the library, under `stoker run`, with LD_PRELOAD alone."""

    def __init__(self, jobs, scratch, user=None):
        self.jobs, self._scratch, self._user = jobs, scratch, user
        self._numbers = itertools.count()

    def _become(self):
        if self._user is None:
            return []
        return ["setpriv", f"--reuid={self._user}", f"--regid={self._user}", "--clear-groups"]

    def line(self):
        return [sys.executable, "-S", "-E", "-B", PROGRAM]

    @contextlib.contextmanager
    def start(self, line, env=None):
        with self.jobs.started([*self._become(), *line], env) as process:
            yield Agent(process)

    def plain(self, wrapper=()):
        """An agent without the library."""
        return self.start([*wrapper, *self.line()])

    def preloaded(self, path, env=None, wrapper=()):
        """One with LD_PRELOAD alone. A shell between it and the tests, which run in Python as
        well: else they would be one run."""
        env = {**self.jobs.preload_env(path), **(env or {})}
        return self.start(["sh", "-c", '"$@"; exit $?', "sh", *wrapper, *self.line()], env)

    @contextlib.contextmanager
    def shim(self, path, flags=("--keep",), env=None, wrapper=(), **more):
        """An agent under `stoker run`; afterwards agent.summary holds the numbers of --json."""
        summary = self._scratch / f"agent-{next(self._numbers)}.json"
        line = self.jobs.command_line(self.line(), path, flags=[*flags, f"--json={summary}"],
                                      **more)
        with self.start([*wrapper, *line], env) as agent:
            yield agent
            agent.process.stdin.close()
            agent.process.wait(ANSWER_S)
            agent.process.stdin = None
            agent.summary = json.loads(summary.read_text()) if summary.exists() else None


class Child:
    """Makes each call in a forked child of an agent."""

    def __init__(self, agent):
        self._agent = agent

    def __getattr__(self, name):
        def call(*arguments):
            arguments = [os.fsencode(one) if isinstance(one, os.PathLike) else one
                         for one in arguments]
            return self._agent.in_child(name, *arguments)
        return call
