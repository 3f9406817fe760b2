/*
 * Removes entries of versions that are known to be old. When the catalogue learns of a new version,
 * it drops the one before. But a tier on a disk outlives its catalogue, and nothing lists the old
 * versions in it. So when room is short, a thread searches the tier beside the job, and removes
 * entries whose file has another version in this run.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* Removes such entries whenever files were refused for want of room. Returns when `*ended` is not 0
 * and its waiters are woken. The caller holds `at_work`, which is free while the thread waits.
 * Takes the run from the environment. For one thread. */
void superseded_watch(_Atomic uint32_t *ended, pthread_mutex_t *at_work);
