"""Starts $PROGRAM, prints its pid, and ends while the kernel is in the middle of that exec. The old
memory is gone then, and the environment is not laid out yet. Usage: into_exec.py [ARGUMENT...]"""

import os
import sys
import time

ENV_END = 50  # in /proc/PID/stat, counted from 0


def is_in_exec(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return fields[ENV_END - 2] == "0"


child = os.fork()
if child == 0:
    nothing = os.open("/dev/null", os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    os.execv(os.environ["PROGRAM"], ["program", *sys.argv[1:]])
while not is_in_exec(child):
    time.sleep(0.001)
print(child, flush=True)
