/*
 * Records of runs, for `stoker report` and later runs: one file each in XDG_STATE_HOME/stoker/runs
 * (cli/os/state_dir.h). A record is written under another name and
 * renamed into place: so each is complete, even if its run was killed. A record that another user
 * owns is not read.
 *
 * The command prints each part of a record as it is. Only the page of `stoker report` reads the
 * JSON, in a browser (cli/report/page.html).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/args/request.h"

/* The newest records are kept, and so are those of the last two days: a job array leaves many at
 * once. */
#define HISTORY_NEWEST  20
#define HISTORY_YOUNG_S (2 * 24 * 3600)
#define HISTORY_MOST    1000 /* records that are kept or listed in all */

enum history_part {
    HISTORY_TITLE,   /* one line, for lists */
    HISTORY_SUMMARY, /* the lines at the end of `stoker run` */
    HISTORY_PLACE,   /* where the command ran (cli/history/run_place.h) */
    HISTORY_JSON,    /* one object: that of --json, the series and the facts of the page */
    HISTORY_PARTS
};

struct history_record {
    char *text[HISTORY_PARTS];
    size_t bytes[HISTORY_PARTS];
};

/* Returns true if the user lets a record of this run be kept (--no-history, STOKER_HISTORY). */
bool history_is_wanted(const struct request *request);

void history_free(struct history_record *record);

/* Returns a unique name for a run that begins now. The caller frees. */
char *history_new_name(void);
/* Writes a record, in place of an older one of that name, and drops the oldest. Returns 0 or
 * -errno: -ENOENT and -ENOTDIR if nothing is to be kept. */
int history_write(const char *name, const struct history_record *record);

/* Names of records, the last written first. Free with history_list_free(). */
struct history_list {
    unsigned count;
    char *names[HISTORY_MOST];
};
/* Lists the records. Returns 0, or -errno with an empty list: -EPERM if another user can change the
 * directory or one on its path. */
int history_list(struct history_list *out);
/* Says why the records were not read, if the error is -EPERM. Returns false for all other errors,
 * and says nothing. */
bool history_say_refused(int error);
void history_list_free(struct history_list *list);
/* Returns one part of a record. Returns NULL if there is no such record, or if another user owns
 * it. The caller frees. */
char *history_read(const char *name, enum history_part part);
