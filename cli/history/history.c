#include "cli/history/history.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/options.h"
#include "base/sys.h"
#include "cli/os/descriptors.h"
#include "cli/os/state_dir.h"
#include "cli/out/say.h"

#define DIRECTORY  "runs"
#define MAGIC      "stoker-record 3"
#define MOST_BYTES (64u << 20) /* far above the usual size */
#define MOST_FILES 1100        /* in the directory, that are looked at */

/* ---- names ---- */

/* Returns true if the name is a word that is safe in shells and file names. */
static bool is_name(const char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    return *text != '\0' && *text != '.' && *text != '-' && text[strspn(text, letters)] == '\0' &&
           strlen(text) < NAME_MAX;
}

char *history_new_name(void)
{
    char when[32] = "", host[64] = "";
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local) != NULL) {
        strftime(when, sizeof when, "%Y%m%d-%H%M%S", &local);
    }
    gethostname(host, sizeof host - 1);
    host[strcspn(host, ".")] = '\0';
    char *name = must_format("%s-%s-%d", when, host, getpid());
    if (!is_name(name)) {
        free(name);
        name = must_format("%s-%d", when, getpid());
    }
    return name;
}

/* ---- what is there ---- */

struct record_file {
    char name[NAME_MAX + 1]; /* of the file */
    struct timespec at;
};

/* Compares for sorting: the newest first. */
static int compare(const void *left, const void *right)
{
    const struct record_file *a = left, *b = right;
    if (a->at.tv_sec != b->at.tv_sec) {
        return a->at.tv_sec < b->at.tv_sec ? 1 : -1;
    }
    if (a->at.tv_nsec != b->at.tv_nsec) {
        return a->at.tv_nsec < b->at.tv_nsec ? 1 : -1;
    }
    return strcmp(b->name, a->name);
}

static bool look_at(int directory, const char *name, struct record_file *out)
{
    struct stat stat_;
    bool ours = (is_name(name) || (*name == '.' && is_name(name + 1))) &&
                fstatat(directory, name, &stat_, AT_SYMLINK_NOFOLLOW) == 0 &&
                S_ISREG(stat_.st_mode) && stat_.st_uid == geteuid();
    if (ours) {
        strcpy(out->name, name);
        out->at = stat_.st_mtim;
    }
    return ours;
}

/* Returns records and drafts, sorted by age. The caller frees. */
static struct record_file *look(int directory, unsigned *count)
{
    struct record_file *found = must_allocate(MOST_FILES * sizeof *found);
    OWNED_DIR DIR *files = directory_open(directory);
    struct dirent *entry;
    *count = 0;
    while (files != NULL && *count < MOST_FILES && (entry = readdir(files)) != NULL) {
        *count += look_at(directory, entry->d_name, &found[*count]);
    }
    qsort(found, *count, sizeof *found, compare);
    return found;
}

/* Removes old records, and drafts that killed writers have left. */
static void drop_oldest(int directory)
{
    unsigned count, kept = 0;
    time_t young = time(NULL) - HISTORY_YOUNG_S;
    OWNED struct record_file *found = look(directory, &count);
    for (unsigned i = 0; i < count; i++) {
        bool old = kept >= HISTORY_NEWEST && found[i].at.tv_sec < young;
        if (old || kept >= HISTORY_MOST) {
            unlinkat(directory, found[i].name, 0);
        }
        kept += found[i].name[0] != '.';
    }
}

int history_list(struct history_list *out)
{
    unsigned count = 0;
    STK_OWNED_FD int directory = state_open(DIRECTORY, false);
    OWNED struct record_file *found = directory >= 0 ? look(directory, &count) : NULL;
    out->count = 0;
    for (unsigned i = 0; i < count && out->count < HISTORY_MOST; i++) {
        if (found[i].name[0] != '.') {
            out->names[out->count++] = must_copy(found[i].name);
        }
    }
    return directory >= 0 ? 0 : directory;
}

bool history_say_refused(int error)
{
    if (error == -EPERM) {
        say("records of runs are neither kept nor looked for: %s", state_reason(error));
    }
    return error == -EPERM;
}

void history_list_free(struct history_list *list)
{
    for (unsigned i = 0; i < list->count; i++) {
        free(list->names[i]);
    }
    list->count = 0;
}

/* ---- writing ---- */

bool history_is_wanted(const struct request *request)
{
    return !request->no_history && !stk_option_is(STK_OPTION_HISTORY, "off");
}

void history_free(struct history_record *record)
{
    for (int part = 0; part < HISTORY_PARTS; part++) {
        free(record->text[part]);
        record->text[part] = NULL;
    }
}

/* Joins the parts of a record to one text. Returns NULL if there is no memory. The caller frees. */
static char *join_parts(const struct history_record *record, size_t *bytes)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, bytes);
    if (out == NULL) {
        return NULL;
    }
    fputs(MAGIC, out);
    for (int part = 0; part < HISTORY_PARTS; part++) {
        fprintf(out, " %zu", record->bytes[part]);
    }
    fputc('\n', out);
    for (int part = 0; part < HISTORY_PARTS; part++) {
        fwrite(record->text[part], 1, record->bytes[part], out);
    }
    bool whole = !ferror(out);
    if (fclose(out) == 0 && whole) {
        return text;
    }
    free(text);
    return NULL;
}

int history_write(const char *name, const struct history_record *record)
{
    size_t bytes = 0;
    STK_OWNED_FD int directory = state_open(DIRECTORY, true);
    if (directory < 0) {
        return directory;
    }
    OWNED char *text = join_parts(record, &bytes);
    int error = text != NULL ? state_put(directory, name, text, bytes) : -ENOMEM;
    if (error == 0) {
        drop_oldest(directory);
    }
    return error;
}

/* ---- reading ---- */

/* Finds the place of a part. Returns false if the file is not a record, or is cut off. */
static bool find_part(FILE *file, enum history_part wanted, long *at, size_t *bytes)
{
    char line[256];
    unsigned long long sum = 0;
    if (fgets(line, sizeof line, file) == NULL || strncmp(line, MAGIC " ", sizeof MAGIC) != 0) {
        return false;
    }
    const char *text = line + sizeof MAGIC - 1;
    for (int part = 0; part < HISTORY_PARTS; part++) {
        char *end;
        unsigned long long length = strtoull(text, &end, 10);
        if (end == text || length > MOST_BYTES) {
            return false;
        }
        if (part == (int)wanted) {
            *at = (long)(strlen(line) + sum);
            *bytes = (size_t)length;
        }
        sum += length;
        text = end;
    }
    return *text == '\n';
}

static char *read_part(FILE *file, enum history_part wanted)
{
    long at = 0;
    size_t bytes = 0;
    if (!find_part(file, wanted, &at, &bytes) || fseek(file, at, SEEK_SET) != 0) {
        return NULL;
    }
    char *text = must_allocate(bytes + 1);
    if (fread(text, 1, bytes, file) != bytes) {
        free(text);
        return NULL;
    }
    return text;
}

char *history_read(const char *name, enum history_part part)
{
    STK_OWNED_FD int directory = is_name(name) ? state_open(DIRECTORY, false) : -1;
    if (directory < 0) {
        return NULL;
    }
    int fd = state_open_file(directory, name);
    OWNED_FILE FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    return file != NULL ? read_part(file, part) : NULL;
}
