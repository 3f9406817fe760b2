"""Nodes of a cluster, on one machine: each has a /dev/shm and a boot of its own."""

from jobs import Jobs


class Node:
    """A machine: a /dev/shm and a boot of its own, with the same servers mounted."""

    def __init__(self, place, build, scratch, number):
        self.place = place
        own = scratch / f"node{number}"
        own.mkdir()
        (own / "boot").write_text(f"00000000-0000-0000-0000-{number:012}\n")
        place.run(["mount", "--bind", own / "boot", "/proc/sys/kernel/random/boot_id"])
        self.jobs = Jobs(place, build, own)
