"""Other users of the machine, in the place of a test."""

from jobs import YOUNG


class User:
    """Runs programs as a user, in the place of the test."""

    def __init__(self, jobs, number):
        self._jobs, self.number = jobs, number

    def line(self, argv):
        return ["setpriv", f"--reuid={self.number}", f"--regid={self.number}", "--clear-groups",
                *argv]

    def do(self, *argv, env=None, timeout=60):
        return self._jobs.place.run(self.line(argv), env={**YOUNG, **(env or {})}, check=False,
                                    timeout=timeout)

    def sh(self, script, *arguments, **more):
        done = self.do("sh", "-c", script, "sh", *arguments, **more)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def stoker(self, *arguments):
        return self.do(self._jobs.build / "stoker", *arguments)

    def run(self, data, *flags, script='cat "$1/file" "$1/file"'):
        return self.stoker("run", "--path", data, *flags, "--", "sh", "-c", script, "sh", data)

    def preloaded(self, data, script='cat "$1/file" "$1/file"', **env):
        return self.do("sh", "-c", script, "sh", data,
                       env={**self._jobs.preload_env(data), **env})
