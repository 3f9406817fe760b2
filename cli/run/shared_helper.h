/*
 * The shared-tier helper: a process of `stoker run` and `stoker warm` that makes all calls to a
 * shared tier (cli/tiers/shared_tier.h), as the job requests them (cache/run/shared_request.h). A
 * dead server may block the helper for ever, but no other process. Each wait for the helper has a
 * deadline, and in the end the helper is left behind.
 */
#pragma once

#include <stdio.h>

#include "cli/args/request.h"
#include "cli/out/json.h"
#include "cli/run/session.h"

/* Starts the helper if the user has named a shared tier. Call it before the environment is set and
 * before there are threads. An error that only the user can mend ends the command. */
void shared_helper_begin(const struct request *request, struct session *session);
/* Says that there is a helper, or why there is none. */
void shared_helper_announce(const struct request *request);
/* Ends the helper. Without haste, waits for files that are still to be published, as long as that
 * makes progress. */
void shared_helper_end(bool in_haste);

/* Write the outcome: lines of the summary, or nothing without a helper; and the member of
 * --json. */
void shared_helper_print(FILE *out);
void shared_helper_write_json(struct json *json);
/* Says in words what becomes of copies that are not there yet when a run ends. */
const char *shared_helper_fate_of_left(const struct session *session);
