/*
 * Entries of versions that are known to be old. The catalogue drops the version before when it gets
 * to know another one; but a tier on a disk outlives its catalogue, and what it held then nobody
 * knows. If room is wanting, the tier is looked through beside the job, and what was found to have
 * another version in this run goes.
 */
#ifndef STK_CLI_SUPERSEDED_H
#define STK_CLI_SUPERSEDED_H

#include <stdatomic.h>
#include <stdint.h>

/* Removes such entries whenever files have been refused for want of room, until `*ended` is not 0
 * and those who wait for it are woken. Takes the run from the environment; for one thread. */
void superseded_watch(_Atomic uint32_t *ended);

#endif
