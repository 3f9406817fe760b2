#!/bin/sh
# slurm.conf names this file, and slurmd runs it as root before a user's first step on a node.
# Makes the user's directory on the node's disk, for `stoker run --tier /nvme/USER`.
set -eu
disk=${STOKER_DISK:-/nvme}
user=$(id -un "$SLURM_JOB_UID")
group=$(id -gn "$SLURM_JOB_UID")
[ -d "$disk/$user" ] || install -d -o "$user" -g "$group" -m 0700 "$disk/$user"
