/*
 * Removes entries of versions that are known to be old. When the catalogue learns of a new version,
 * it drops the one before. But a tier on a disk outlives its catalogue, and nothing lists the old
 * versions in it. So when room is short, a process searches the tier beside the job, and removes
 * entries whose file has another version in this run. It is a process of its own, since it asks the
 * origin, which may never answer.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "cache/run/run.h"

/* Has such entries removed whenever files were refused in this run for want of room. Returns when
 * `*ended` is not 0 and its waiters are woken. The caller holds `at_work`, which is free while the
 * thread waits. Takes the cache from the environment. For one thread. */
void superseded_watch(const struct stk_run *run, _Atomic uint32_t *ended, pthread_mutex_t *at_work);
