#include "cli/help/help.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"

/* Options that several verbs have, to be put between braces. */
#define JSON "--json", "FILE", "write what was found and done to FILE, for programs"
#define TIER                                                                                       \
    "--tier", "DIR[:SIZE]",                                                                        \
        "where the cache lies, and its budget (default: /dev/shm, computed of what is free). "     \
        "Given more than once, the first that has room is filled: --tier /dev/shm:60G "            \
        "--tier /nvme/me:500G. One on a file system that is not local, such as /ceph/me:10T, "     \
        "is shared with other nodes"
#define SHARE                                                                                      \
    "--share", "GROUP",                                                                            \
        "have this group's members use one --tier together: its directory has mode 3770 and "      \
        "that group, and what one has put there is copied to the others' caches"
#define REQUIRE                                                                                    \
    "--require-cache", "",                                                                         \
        "do not start if this node cannot give the cache that is asked for: no room, a "           \
        "server that is gone, a size above what there is (default: say so, and go on with "        \
        "what there is)"
#define FRESH                                                                                      \
    "--fresh", "run|open|never",                                                                   \
        "ask the file system of the data set whether a file has changed: once in a run (the "      \
        "default), at each open, or never"
#define SAMPLES                                                                                    \
    "--decoded", "SIZE|DIR[:SIZE]|0",                                                              \
        "keep so much of the tier for decoded copies (default: what the files leave; 0: "          \
        "none), or "                                                                               \
        "keep them in a directory of your own"
#define NO_DECODE      "--no-decode", "", "leave the decoding of JPEGs in Python to Pillow"
#define NO_TORCHVISION "--no-torchvision", "", "leave torchvision's functions as they are"
#define NO_BATCHES     "--no-batches", "", "leave the batches of torch's DataLoader as they are"
#define NO_HISTORY     "--no-history", "", "leave no record of the run for stoker report"
#define TIER_ONLY      "--tier", "DIR", "only what lies in this tier"

const struct help_verb help_verbs[] = {
    {.name = "run",
     .brief = "run a command, its data set served from a cache on this node",
     .synopsis = "-- COMMAND...",
     .about =
         "Runs COMMAND with the files below DIR served from a cache on this node, which fills as "
         "they are first read. Everything that COMMAND starts is served, too. At the end it says "
         "what it did, and ends as COMMAND ended. A cache in memory goes with the last run that "
         "uses it; one on a disk stays.\n",
     .options = {{"--path", "DIR",
                  "serve the files below DIR, or this single file; once for each. Without it: the "
                  "directories among COMMAND's arguments"},
                 {TIER},
                 {REQUIRE},
                 {"--auto", "",
                  "where the data set lies on a fast local disk and fits in the free memory, leave "
                  "its files to the kernel's page cache, and keep decoded images alone"},
                 {SHARE},
                 {FRESH},
                 {"--keep", "", "keep a cache in memory when the last run ends"},
                 {SAMPLES},
                 {NO_DECODE},
                 {NO_TORCHVISION},
                 {NO_BATCHES},
                 {"--warm", "[=first]",
                  "fill ahead what lies below DIR, beside COMMAND; with =first, the "
                  "first open of a big file waits until that is whole: maps of it, as of HDF5, "
                  "LMDB and Arrow, are then served from the first on"},
                 {"--jobs", "N", "with --warm: so many files at a time"},
                 {NO_HISTORY},
                 {"--quiet", "", "say nothing at the start, and one line at the end"},
                 {"--verbose", "", "say all at the end, however many lines it takes"},
                 {JSON}},
     .examples = {"stoker run --path /data/imagenet -- python train.py",
                  "stoker run --tier /nvme/me:500G --path /data -- torchrun train.py",
                  "srun stoker run --path /data -- python train.py"}},
    {.name = "warm",
     .brief = "fill the cache ahead, before a job or beside it",
     .synopsis = "PATH...",
     .about = "Fills the cache with what lies at PATH, and keeps it (stoker clear ends that). "
              "Started again, it goes on where it was.\n",
     .options = {{"--path", "DIR",
                  "what the job's --path will be (or STOKER_PATHS), where PATH is a part of that"},
                 {TIER},
                 {REQUIRE},
                 {SHARE},
                 {FRESH},
                 {"--jobs", "N", "so many files at a time (default: as many as suit the storage)"},
                 {"-f", "LIST",
                  "fill the paths in this file, one on each line (- is standard input)"},
                 {"--shard", "I/N", "only this node's part, such as 1/4 on the first of four"},
                 {"--decoded", "[=SIZE]",
                  "decode JPEGs ahead, too, and keep them as stoker run does"},
                 {"--dry-run", "", "say what would be filled, and fill nothing"},
                 {"--keep", "", "accepted as for stoker run; what is filled is kept anyway"}},
     .examples = {"stoker warm /data/imagenet",
                  "stoker warm --path /data --shard 1/4 /data/imagenet/train"}},
    {.name = "env",
     .brief = "print variables that do the same in a job script",
     .synopsis = "",
     .about = "Prints exports that have the files served in a job script, without stoker run "
              "around it. The cache stays when the job ends. No command then watches the memory or "
              "finishes big files, and decoded images are kept only with --decoded DIR:SIZE.\n",
     .options = {{"--path", "DIR", "serve the files below DIR, or this single file; once for each"},
                 {TIER},
                 {REQUIRE},
                 {FRESH},
                 {"--decoded", "DIR[:SIZE]|0", "keep decoded copies in a directory of your own"},
                 {"--end", "", "say what was served, and record it, as stoker run does"},
                 {"--markdown", "", "print the table of all variables instead"}},
     .examples = {"eval \"$(stoker env --path /data)\"; python train.py; stoker env --end"}},
    {.name = "ls",
     .brief = "show what is cached, where, and which runs live",
     .synopsis = "",
     .about = "Shows for each tier what it holds of which directory, and how much of its budget is "
              "used; and decoded copies in directories of your own.\n",
     .options = {{TIER_ONLY}},
     .examples = {"stoker ls"}},
    {.name = "top",
     .brief = "show what the runs do, live",
     .synopsis = "",
     .about = "Shows of each run of this user how much is served from the cache, how fast, how "
              "long opens wait for storage, images, batches and epochs; and how full each tier "
              "is. It only looks. On a terminal it goes on until q is typed; elsewhere it looks "
              "once.\n"
              "\"waiting\" counts the processes that waited for storage at a time, on the "
              "average; a loader's waiting is the part of the time in which the job had no "
              "batch.\n",
     .options = {{"--once", "", "look once, for half a second, and print it"},
                 {"--json", "", "the same as JSON, with the names of stoker run's --json"},
                 {"--prometheus", "",
                  "print counters in Prometheus's text format, for the textfile collector of an "
                  "exporter"}},
     .examples = {"stoker top", "stoker top --once --json",
                  "stoker top --prometheus > stoker.prom.new && mv stoker.prom.new stoker.prom"}},
    {.name = "last",
     .brief = "show how the last run went",
     .synopsis = "",
     .about =
         "Prints the summary of the last run that has ended: of this terminal if there is one, "
         "else of this directory, else of this user. Of a run that was killed it says what it "
         "had come to some time before. "
         "stoker report has more of it, and earlier runs.\n"
         "The status is 1 when there is none.\n",
     .options = {{"--all", "", "list the runs that have a record, the newest first"}},
     .examples = {"stoker last", "stoker last --all"}},
    {.name = "clear",
     .brief = "remove the cache, or what it holds of a path",
     .synopsis = "[PATH]",
     .about =
         "Removes the cache, or what it holds of PATH, and says how much went. Without --tier, "
         "decoded copies in directories of your own go, too. What runs use stays.\n",
     .options = {{TIER_ONLY}, {"--dead", "", "only what killed runs have left"}},
     .examples = {"stoker clear", "stoker clear /data/imagenet", "stoker clear --tier /nvme/me"}},
    {.name = "verify",
     .brief = "compare what is cached with the originals",
     .synopsis = "[PATH...]",
     .about =
         "Compares what is cached (of PATH) with its originals, byte for byte, and drops what "
         "differs. Copies are those of files, and of what directories hold. It may run beside a "
         "job, to which its reads yield.\n"
         "The status is 0 when nothing differed, 1 when something did and was dropped, and 2 "
         "when it could not be looked at.\n",
     .options = {{TIER_ONLY},
                 {"--sample", "N|P%", "only so many copies, or such a part of all, by chance"},
                 {JSON}},
     .examples = {"stoker verify --sample 1% /data/imagenet"}},
    {.name = "doctor",
     .brief = "look at what helps or hinders on this machine",
     .synopsis = "[PATH...] [-- COMMAND...]",
     .about =
         "Looks at memory, limits, the mount of the data set at PATH, libraries, Python, what "
         "of it is hooked, and COMMAND's program. Each finding is a line: ok, advice, or a "
         "warning, with the command that changes it. Ten opens are timed at PATH and in a "
         "tier, and so it says how long those of a first epoch will wait. Nothing is changed.\n"
         "The status is 1 when something is to be mended.\n",
     .options = {{"--json", "", "print the findings as JSON"}},
     .examples = {"stoker doctor /data/imagenet", "stoker doctor -- python train.py"}},
    {.name = "report",
     .brief = "a page with plots of what a run did, and what to change",
     .synopsis = "[RUN]",
     .about = "Writes one HTML page about RUN (without a name: the run that stoker last means): "
              "throughput and hit rate "
              "over time, epochs compared, where the time went, how long storage took, what was "
              "not cached and why, and what to change next. The page needs no network and nothing "
              "else beside it.\n"
              "stoker run records a run in ~/.local/state/stoker/runs while it goes on and at its "
              "end, so one that was killed has a report, too. The newest 20 are kept, and those of "
              "two days.\n",
     .options = {{"-o", "FILE",
                  "write to FILE (- is standard output); else to "
                  "stoker-report-RUN.html here"},
                 {"--json", "",
                  "print all figures instead, those of stoker run --json and how they "
                  "grew"},
                 {"--list", "", "show which runs there are (--all does the same)"}},
     .examples = {"stoker report", "stoker report --list",
                  "stoker report -o last.html 20261123-091500-node7-4711"}},
};
const unsigned help_verb_count = sizeof help_verbs / sizeof *help_verbs;

bool help_is_flag(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

static bool takes_value(const struct help_verb *verb, const char *flag)
{
    const struct help_option *option = verb->options;
    while (option->flag != NULL && strcmp(option->flag, flag) != 0) {
        option++;
    }
    return option->flag != NULL && *option->argument != '\0' && *option->argument != '[';
}

/* Returns true where the user's command begins: at "--", or, for a verb without other arguments, at
 * the first word that is no flag. */
static bool begins_command(const struct help_verb *verb, const char *argument)
{
    return strcmp(argument, "--") == 0 ||
           (*argument != '-' && strncmp(verb->synopsis, "--", 2) == 0);
}

bool help_is_asked(const struct help_verb *verb, char **arguments)
{
    while (*arguments != NULL && !help_is_flag(*arguments) && !begins_command(verb, *arguments)) {
        arguments += takes_value(verb, *arguments) && arguments[1] != NULL ? 2 : 1;
    }
    return *arguments != NULL && help_is_flag(*arguments);
}

const struct help_verb *help_find(const char *verb)
{
    for (unsigned i = 0; i < help_verb_count; i++) {
        if (strcmp(help_verbs[i].name, verb) == 0) {
            return &help_verbs[i];
        }
    }
    return NULL;
}

/* ---- on a terminal ---- */

enum { WIDTH = 79 };

/* Puts a word into the line, or into the next one if there is no room. */
static void put_word(const char *word, int length, int indent, int *column)
{
    bool first = *column <= indent;
    if (!first && *column + 1 + length > WIDTH) {
        printf("\n%*s", indent, "");
        *column = indent;
        first = true;
    }
    *column += printf("%s%.*s", first ? "" : " ", length, word);
}

/* Puts paragraphs, with an empty line between them. The first one continues at this column. */
static void put_text(const char *text, int indent, int column)
{
    if (column < indent) {
        printf("%*s", indent - column, "");
        column = indent;
    }
    while (*text != '\0') {
        int length = (int)strcspn(text, " \n");
        put_word(text, length, indent, &column);
        text += length;
        if (*text == '\n' && text[1] != '\0') {
            printf("\n\n%*s", indent, "");
            column = indent;
        }
        text += *text != '\0';
    }
    putchar('\n');
}

static void put_option(const struct help_option *option)
{
    bool joined = *option->argument == '[' || *option->argument == '\0';
    int column = printf("  %s%s%s", option->flag, joined ? "" : " ", option->argument);
    enum { BEHIND = 22 };
    if (column >= BEHIND) {
        putchar('\n');
        column = 0;
    }
    put_text(option->meaning, BEHIND, column);
}

void help_verb(const struct help_verb *verb)
{
    printf("stoker %s%s%s%s\n%s\n\n", verb->name,
           verb->options[0].flag != NULL ? " [OPTION]..." : "", *verb->synopsis != '\0' ? " " : "",
           verb->synopsis, verb->brief);
    put_text(verb->about, 0, 0);
    putchar('\n');
    for (const struct help_option *option = verb->options; option->flag != NULL; option++) {
        put_option(option);
    }
    if (verb->options[0].flag != NULL) {
        putchar('\n');
    }
    for (const char *const *example = verb->examples; *example != NULL; example++) {
        printf("  $ %s\n", *example);
    }
}

void help_environment(void)
{
    put_text("Set in the environment, or as NAME=VALUE, one a line, in ~/.config/stoker.conf or "
             "/etc/stoker.conf. A flag goes before the environment, that before the user's file, "
             "and that before the machine's.\n",
             0, 0);
    putchar('\n');
    for (int i = 0; i < STK_OPTION_COUNT; i++) {
        const struct stk_option_row *row = &stk_option_table[i];
        printf("%s=%s\n", row->variable, row->argument);
        if (row->flag != NULL || *row->otherwise != '\0') {
            printf("    %s%s%s%s%s\n", row->flag != NULL ? "flag " : "",
                   row->flag != NULL ? row->flag : "",
                   row->flag != NULL && *row->otherwise != '\0' ? ", " : "",
                   *row->otherwise != '\0' ? "default " : "", row->otherwise);
        }
        put_text(row->meaning, 4, 0);
    }
}

void help_overview(FILE *out)
{
    fputs("Stoker " STK_VERSION ": the second epoch at local speed, without changing the script.\n"
          "\n"
          "  stoker run --path /data/imagenet -- python train.py\n"
          "\n"
          "runs the command with the data set's files served from a cache on this node,\n"
          "filled as they are first read. The commands:\n"
          "\n",
          out);
    for (unsigned i = 0; i < help_verb_count; i++) {
        fprintf(out, "  stoker %-8s %s\n", help_verbs[i].name, help_verbs[i].brief);
    }
    fputs("\n"
          "stoker COMMAND --help says more of each, and so does man stoker-COMMAND.\n"
          "stoker help environment lists the variables.\n"
          "No telemetry: nothing is sent anywhere.\n",
          out);
}
