/*
 * What runs leave behind, for `stoker report` and whoever else looks back: one file each in
 * XDG_STATE_HOME/stoker/runs (cli/state.h), the newest of which are kept. A record is written
 * aside and renamed into place, so each is whole, also that of a run that was killed. A file
 * of another user's is not read.
 *
 * A record holds what it is asked for ready to be printed: so nothing has to be read back and
 * understood, and each shows what its own version of Stoker had to say.
 */
#ifndef STK_CLI_HISTORY_H
#define STK_CLI_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

#define HISTORY_MOST 20 /* records that are kept */

enum history_part {
    HISTORY_TITLE,   /* one line, for lists */
    HISTORY_SUMMARY, /* the lines at the end of `stoker run` */
    HISTORY_JSON,    /* one object: that of --json, and how it came to that */
    HISTORY_PAGE,    /* HTML */
    HISTORY_PARTS
};

struct history_record {
    char *text[HISTORY_PARTS];
    size_t bytes[HISTORY_PARTS];
};

void history_free(struct history_record *record);

/* The name of a run that begins now: no other has it. The caller frees. */
char *history_new_name(void);
/* Puts a record there, in the place of an older one of that name, and drops the oldest. 0 or
 * -errno: -ENOENT and -ENOTDIR where nothing is to be remembered. */
int history_write(const char *name, const struct history_record *record);

/* The names of what is there, the one that was written last first; to be freed with it. */
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
/* One part of a record; NULL: there is no such record, or it is none of ours. The caller frees. */
char *history_read(const char *name, enum history_part part);

#endif
