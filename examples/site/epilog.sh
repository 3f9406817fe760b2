#!/bin/sh
# slurm.conf names this file, and slurmd runs it as root after a job has left a node.
# Removes what killed runs have left in memory; and the whole cache in memory when no job of the user's is left there.
disk=${STOKER_DISK:-/nvme}
user=$(id -un "$SLURM_JOB_UID") || exit 0
as_user="setpriv --reuid=$SLURM_JOB_UID --regid=$(id -g "$user") --init-groups env HOME=/nonexistent"
$as_user stoker clear --dead >/dev/null
jobs=$(squeue -h -w "$(hostname -s)" -u "$user" -t running -o %A) || exit 0
[ -n "$jobs" ] || $as_user stoker clear --tier /dev/shm >/dev/null
# A disk that is nearly full: what the user's jobs have cached there goes, too.
used=$(df --output=pcent "$disk" | tail -n 1 | tr -dc 0-9)
[ "${used:-0}" -lt 90 ] || $as_user stoker clear --tier "$disk/$user" >/dev/null
exit 0
