"""The stand-ins share this: the options are checked, and the command behind them is run."""

import os
import sys


def split(argv, with_value, without):
    """(options, words behind them): {name: [value...]}. An option that the real one does not have ends it."""
    options, i = {}, 0
    while i < len(argv) and argv[i].startswith("-"):
        name, equals, value = argv[i].partition("=")
        if name in without:
            value = ""
        elif name in with_value:
            if not equals:
                i += 1
                value = argv[i]
        else:
            sys.exit(f"{os.path.basename(sys.argv[0])}: no option {name}")
        options.setdefault(name, []).append(value)
        i += 1
    return options, argv[i:]


def mounts(specifications):
    """HOST:INSIDE[:MODE]: what is there must be there, and inside the same name, since nothing is mounted."""
    for each in specifications:
        host, inside = (each.split(":") + [each.split(":")[0]])[:2]
        if not os.path.exists(host):
            sys.exit(f"no such directory to mount: {host}")
        if inside != host:
            sys.exit(f"the stand-in mounts nothing: {each}")


def become(command):
    sys.stdout.flush()
    os.execvp(command[0], command)
