/* Holds the rows of the table, and parses the values. */
#include "base/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/rank.h"
#include "base/text.h"

const struct stk_option_row stk_option_table[STK_OPTION_COUNT] = {
    [STK_OPTION_PATHS] =
        {"STOKER_PATHS", "--path", "PATH[:PATH]...", "",
         "The directories (or single files) to serve from the cache. In the variable they are "
         "separated by colons; a colon or a backslash within a path is written behind a backslash. "
         "The flag is given once for each path. Without any, nothing is cached; `stoker run` then "
         "serves the directories named among the command's arguments."},
    [STK_OPTION_TIERS] =
        {"STOKER_TIERS", "--tier", "DIR[:SIZE][,DIR[:SIZE]]...", "/dev/shm",
         "The directories that hold the cache, on local file systems, and their budgets: a "
         "number with K, M, G or T. The first that has room is filled, such as /dev/shm:60G "
         "before /nvme/me:500G; a file is served from where it lies, and is not moved. The flag "
         "takes a list or is given once for each; eight at most. Without SIZE the budget is what "
         "the file system, the machine's free memory and the control group leave, less a reserve "
         "for the job itself: the larger of 8 GiB and 20%, at most half. 60 MiB or an eighth of "
         "/dev/shm stay free, whatever SIZE says. If /dev/shm has less than 256 MiB, as in "
         "Docker, and no directory is named, `stoker run` takes SLURM_TMPDIR or TMPDIR, if that "
         "is on a local disk, or runs the command uncached. For `stoker run` and `stoker warm` "
         "one of them may be a directory on another file system, which several nodes share, or "
         "one of a group (STOKER_SHARE). Written as shared:DIR, it is left out when its mount is "
         "missing, and never taken for a directory of this node's disk. Files that are copied "
         "into the local ones are put there, too, or come from there. SIZE is then how much all "
         "nodes of this user together put there (default: until a tenth of it is free, or half "
         "if it is in memory). The command runs without a tier that this node cannot use (no "
         "room, no right to write, a server that is gone). A SIZE above what there is becomes "
         "smaller. One line says so in either case."},
    [STK_OPTION_REQUIRE] =
        {"STOKER_REQUIRE_CACHE", "--require-cache", "on|off", "off",
         "on: a command does not start (status 2) if this node cannot give the cache that was "
         "asked for. That is so if a tier has no room or its server is gone, if a budget is "
         "above what there is, or if the index of the cache has no place. off: one line says so, "
         "and "
         "the command runs with what there is, or uncached. The flag takes no value and says "
         "on."},
    [STK_OPTION_FRESH] =
        {"STOKER_FRESH", "--fresh", "run|open|never", "run",
         "When a file's identity is asked of storage again: once in each run (a run never sees "
         "a version older than its start), at every open, or never."},
    [STK_OPTION_SHARE] =
        {"STOKER_SHARE", "--share", "GROUP", "",
         "The group whose members use one shared tier together, in `stoker run` and `stoker "
         "warm`, on a node or on several. `install -d -g GROUP -m 3770 DIR` makes a directory "
         "for it, on a local disk or on another file system, and `--tier DIR` names it. A file "
         "that one member's job has put there is copied to the local tiers of the other members, "
         "if they can open the original. Root shares nothing."},
    [STK_OPTION_MIN_AGE] =
        {"STOKER_MIN_AGE", NULL, "SECONDS", "2",
         "Files that changed (mtime, ctime) less than this ago are not cached, since a program may "
         "still be writing them. A decoded image is found again without reading its file from "
         "a minute on, or from this age on if it is below the default."},
    [STK_OPTION_FILES] =
        {"STOKER_FILES", NULL, "on|off", "on",
         "on: files and listings of directories are cached. off: only decoded images are; "
         "files are left to storage and the kernel's page cache. `stoker run --auto` sets "
         "it where a copy would gain nothing."},
    [STK_OPTION_MAX_FILE] =
        {"STOKER_MAX_FILE", NULL, "SIZE", "8M",
         "Files above this size are not copied as a whole when they are opened, but block by block "
         "as they are read; until the last block is there they are counted as not cached (large)."},
    [STK_OPTION_WHOLE] =
        {"STOKER_WHOLE", NULL, "SIZE", "64M",
         "If a file that is cached by blocks is no larger than this, its missing blocks are "
         "copied when it is mapped or read as a stream (fopen, fdopen), for which blocks are "
         "no use. Larger files are then read from storage, until their last block is there."},
    [STK_OPTION_LISTINGS] =
        {"STOKER_LISTINGS", NULL, "auto|mtime|off", "auto",
         "When a directory's listing from an earlier run is believed. auto: if the directory's "
         "mtime and ctime are still the same, on file systems that keep these (local disks, "
         "NFS, Lustre, CephFS). On others, such as most of FUSE and mounts of object stores, a "
         "directory is listed anew once in each run. mtime: by the times on all of them. off: "
         "directories are not cached."},
    [STK_OPTION_BLOCK] =
        {"STOKER_BLOCK", NULL, "SIZE", "1M",
         "How much of a file above STOKER_MAX_FILE is copied at once when some of it is read: from "
         "64K to 64M, a multiple of 4K. 0: such files are read from storage."},
    [STK_OPTION_READAHEAD] =
        {"STOKER_READAHEAD", NULL, "SIZE", "8M",
         "How far ahead of a program such a file is copied, at most, where it is read from front "
         "to back."},
    [STK_OPTION_COMPLETE] =
        {"STOKER_COMPLETE", NULL, "on|off", "on",
         "on: `stoker run` reads the rest of such a file once the job has begun to read or map "
         "it. It does so in the background, at a lower priority, and slowly while the job "
         "itself reads from storage. A file that is whole is served to maps and streams, too."},
    [STK_OPTION_AHEAD] =
        {"STOKER_AHEAD", NULL, "on|off", "on",
         "on: `stoker run` reads files before they are wanted, in the order in which torch's "
         "DataLoader is going to ask for them. It learns the order from the sampler, whose draws "
         "stay what they are, and the files from the data set's list of paths "
         "(docs/reading-ahead.md). It lists directories ahead of a scan, too."},
    [STK_OPTION_DECODE] =
        {"STOKER_DECODE", "--no-decode", "on|off", "on",
         "on: the Pythons under `stoker run` decode JPEGs for Pillow, with the same pixels. "
         "The flag takes no value and says off. Without the command: `stoker env` prints the "
         "PYTHONPATH that does the same; or import Image from the package `stoker`."},
    [STK_OPTION_TORCHVISION] =
        {"STOKER_TORCHVISION", "--no-torchvision", "on|off", "on",
         "on: torchvision's to_tensor, normalize, RandomResizedCrop and Compose are replaced "
         "by ones that give the same bits and draws, where JPEGs are decoded for Pillow. The "
         "flag takes no value and says off."},
    [STK_OPTION_BATCHES] =
        {"STOKER_BATCHES", "--no-batches", "on|off", "on",
         "on: under `stoker run` the batches of torch's DataLoader go from its workers to the "
         "main process through memory that is used again, and not in a new file in /dev/shm "
         "for each tensor (docs/batches.md). The flag takes no value and says off. Without the "
         "command nothing is replaced, unless this and PYTHONPATH are set as `stoker env` "
         "prints them."},
    [STK_OPTION_SAMPLES] =
        {"STOKER_DECODED", "--decoded", "DIR[:SIZE]", "",
         "Where decoded copies of images and what `stoker.cached` functions return are kept, and "
         "how much of them: a directory of your own on a local file system, which is made if it is "
         "missing. On a disk it may be larger than memory. Without a size, a quarter of what is "
         "free there. The directory stays when programs end: remove it when it is not wanted any "
         "more. 0: nothing is kept. Unset, `stoker run` keeps decoded copies in the tier, beside "
         "the files and for as long as these, in what they leave of its budget. Where that is not "
         "enough, a file of a tier in memory whose decoded copy is kept makes room for others, "
         "unless its bytes were read as well: such an image is then cached once. `--decoded SIZE` "
         "sets so much of the tier's budget aside for decoded copies. Without the command nothing "
         "is kept when it is unset. The flag was `--samples` before, which still works."},
    [STK_OPTION_OLDER_SAMPLES] = {"STOKER_SAMPLES", NULL, "DIR[:SIZE]", "",
                                  "The older name of STOKER_DECODED, for where that is unset."},
    [STK_OPTION_HISTORY] =
        {"STOKER_HISTORY", "--no-history", "on|off", "on",
         "on: `stoker run` leaves a record of the run for `stoker report`, with the words of "
         "its command: some 100 KB in ~/.local/state/stoker/runs, which no other user can "
         "read. The newest 20 are kept, and those of the last two days. Beside them it notes how "
         "much was opened of the files below --path, by which the next run knows what will fit. "
         "In ~/.local/state/stoker/samples (up to 64 MiB) it notes the names of the files that "
         "samples of a data set without a list have opened, by which the next run reads ahead. The "
         "flag takes no value and says off: then nothing is kept of the run."},
    [STK_OPTION_SIMD] =
        {"STOKER_SIMD", NULL, "c|avx2|vnni|avx512|neon", "",
         "Which of the decoder's inner loops are used, for tests and comparisons: all give the "
         "same bytes. Unset, or where the processor has not what it names, the best that it has."},
    [STK_OPTION_ENTROPY] =
        {"STOKER_ENTROPY", NULL, "own|libjpeg", "own",
         "The reader of the Huffman codes of JPEGs, for tests and comparisons. own: the "
         "decoder's own parser, which leaves unknown files to libjpeg-turbo. libjpeg: "
         "libjpeg-turbo for all of them."},
    [STK_OPTION_CURSORS] =
        {"STOKER_CURSORS", NULL, "1|2|3|4", "",
         "In how many places of a JPEG the decoder's own parser reads at the same time, for tests "
         "and comparisons. Unset, as many as are fastest."},
    [STK_OPTION_RUN] =
        {"STOKER_RUN", NULL, "NAME", "",
         "Set by `stoker run` for everything that it starts: the name of the run, by which its "
         "processes find its start and its counters. Not for setting by hand."},
    [STK_OPTION_ORDERS] =
        {"STOKER_ORDERS", NULL, "NAME", "",
         "Set by `stoker run` for everything that it starts: where loaders send the order in which "
         "they are going to open files. Not for setting by hand."},
    [STK_OPTION_OUTER_PATHS] =
        {"STOKER_OUTER_PATHS", NULL, "PATH[:PATH]...", "",
         "Set by a `stoker run` that was begun inside another: the paths that the runs around "
         "it serve. Its processes report changes there to those runs. Not for setting by hand."},
    [STK_OPTION_OUTER_RUNS] = {"STOKER_OUTER_RUNS", NULL, "NAME[:NAME]...", "",
                               "The names of these runs. Not for setting by hand."},
};

const char *stk_option_value(enum stk_option option)
{
    const char *value = getenv(stk_option_table[option].variable);
    return value != NULL && *value != '\0' ? value : NULL;
}

static const char *value_of(enum stk_option option)
{
    const char *value = stk_option_value(option);
    return value != NULL ? value : stk_option_table[option].otherwise;
}

bool stk_option_is(enum stk_option option, const char *value)
{
    return strcmp(value_of(option), value) == 0;
}

/* ---- forms of values ---- */

bool stk_option_split_place(const char *value, unsigned long *length, int64_t *bytes)
{
    const char *colon = strrchr(value, ':');
    *length = colon != NULL ? (unsigned long)(colon - value) : strlen(value);
    *bytes = -1;
    return colon == NULL || stk_text_parse_size(colon + 1, bytes) == 0;
}

/* Sets `out` to which of the names, which bars separate, the value is. */
static bool parse_choice(const char *names, const char *value, int64_t *out)
{
    size_t length = strlen(value);
    for (*out = 0; *names != '\0'; ++*out) {
        size_t end = strcspn(names, "|");
        if (end == length && strncmp(names, value, end) == 0) {
            return true;
        }
        names += end + (names[end] == '|');
    }
    return false;
}

static bool parse_seconds(const char *argument, const char *value, int64_t *out)
{
    (void)argument;
    return stk_text_parse_seconds(value, out) == 0;
}

static bool parse_size(const char *argument, const char *value, int64_t *out)
{
    (void)argument;
    return stk_text_parse_size(value, out) == 0;
}

static bool parse_directory(const char *argument, const char *value, int64_t *out)
{
    (void)argument;
    unsigned long length;
    return stk_option_split_place(value, &length, out);
}

/* The forms that are checked, by how the table writes them. Settings of the decoder are not: there
 * an unknown one counts as unset. */
static const struct form {
    const char *argument;
    bool (*parse)(const char *argument, const char *value, int64_t *out);
    const char *complaint;
} forms[] = {
    {"on|off", parse_choice, "write on or off"},
    {"run|open|never", parse_choice, "write run, open or never"},
    {"auto|mtime|off", parse_choice, "write auto, mtime or off"},
    {"SECONDS", parse_seconds, "write seconds, such as 2 or 0.05"},
    {"SIZE", parse_size, "write a size, such as 64M"},
    {"DIR[:SIZE]", parse_directory, "write DIR or DIR:SIZE, such as /mnt/nvme/decoded:200G"},
};

static const struct form *form_of(enum stk_option option)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (strcmp(forms[i].argument, stk_option_table[option].argument) == 0) {
            return &forms[i];
        }
    }
    return NULL;
}

static bool is_block(int64_t bytes)
{
    return bytes == 0 ||
           (bytes >= STK_LEAST_BLOCK_BYTES && bytes <= STK_MOST_BLOCK_BYTES && bytes % 4096 == 0);
}

const char *stk_option_complaint(enum stk_option option, const char *value)
{
    int64_t number;
    const struct form *form = form_of(option);
    bool block = option == STK_OPTION_BLOCK;
    if (form == NULL ||
        (form->parse(form->argument, value, &number) && (!block || is_block(number)))) {
        return NULL;
    }
    return block ? "write a size from 64K to 64M, a multiple of 4K, or 0" : form->complaint;
}

/* ---- the environment ---- */

/* Returns the value, or the default if the value is not understood. */
static int64_t number_of(enum stk_option option)
{
    int64_t number = 0;
    const struct form *form = form_of(option);
    const char *value = value_of(option);
    bool good = stk_option_complaint(option, value) == NULL;
    form->parse(form->argument, good ? value : stk_option_table[option].otherwise, &number);
    return number;
}

void stk_options_read(struct stk_options *out)
{
    out->paths = value_of(STK_OPTION_PATHS);
    stk_text_copy(out->tiers, sizeof out->tiers, value_of(STK_OPTION_TIERS));
    stk_text_copy(out->run, sizeof out->run, value_of(STK_OPTION_RUN));
    out->outer_paths = value_of(STK_OPTION_OUTER_PATHS);
    stk_text_copy(out->outer_runs, sizeof out->outer_runs, value_of(STK_OPTION_OUTER_RUNS));
    out->fresh = (enum stk_fresh)number_of(STK_OPTION_FRESH);
    out->min_age_ns = number_of(STK_OPTION_MIN_AGE);
    out->max_file_bytes = number_of(STK_OPTION_MAX_FILE);
    out->whole_bytes = number_of(STK_OPTION_WHOLE);
    out->block_bytes = number_of(STK_OPTION_BLOCK);
    out->readahead_bytes = number_of(STK_OPTION_READAHEAD);
    out->leaves_files = stk_option_is(STK_OPTION_FILES, "off");
    out->listings =
        out->leaves_files ? STK_LISTINGS_OFF : (enum stk_listings)number_of(STK_OPTION_LISTINGS);
    out->reads_ahead = !stk_option_is(STK_OPTION_AHEAD, "off");
    out->completes = !stk_option_is(STK_OPTION_COMPLETE, "off");
    out->rank = stk_rank_own();
}

bool stk_options_next_path(const char **list, char *out, unsigned long bytes)
{
    while (**list != '\0') {
        struct stk_text path = stk_text_in(out, bytes);
        for (; **list != '\0' && **list != ':'; (*list)++) {
            if (**list == '\\' && (*list)[1] != '\0') {
                (*list)++;
            }
            stk_text_add_char(&path, **list);
        }
        *list += **list == ':';
        if (path.used > 0 && !path.cut) {
            return true;
        }
    }
    return false;
}
