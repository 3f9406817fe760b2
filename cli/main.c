/* The `stoker` command: its verbs and its help. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/say.h"
#include "cli/verbs.h"

#define VERSION "0.1.0"

static const struct verb {
    const char *name;
    int (*run)(char **arguments);
} verbs[] = {
    {"run", verb_run}, {"warm", verb_warm},     {"ls", verb_ls},         {"clear", verb_clear},
    {"env", verb_env}, {"verify", verb_verify}, {"doctor", verb_doctor},
};

static const char help[] =
    "Stoker " VERSION ": the second epoch at local speed, without changing the script.\n"
    "\n"
    "  stoker run [--path P]... [--tier DIR[:SIZE]]... [--fresh run|open|never] [--keep]\n"
    "             [--samples SIZE] [--no-decode] [--no-torchvision] [--no-batches]\n"
    "             [--warm[=first]] [--json FILE]\n"
    "             -- COMMAND...\n"
    "      runs COMMAND with the files below P served from a cache on this node, filled as they\n"
    "      are first read. Without --path: the directories among COMMAND's arguments.\n"
    "      --tier   where the cache lies, and its budget (default: /dev/shm, computed); given "
    "more\n"
    "               than once: the first that has room is filled, as in --tier /dev/shm:60G\n"
    "               --tier /nvme/me:500G\n"
    "      --fresh  ask the origin whether a file changed once in a run, at each open, or never\n"
    "      --keep   keep a cache in memory when the last run ends\n"
    "      --samples  keep so much of the tier for decoded samples (default: what the files "
    "leave;\n"
    "                 0: none; DIR[:SIZE]: in a directory of your own)\n"
    "      --no-decode  leave the decoding of JPEGs in Python to Pillow\n"
    "      --no-torchvision  leave torchvision's functions as they are\n"
    "      --no-batches  leave the batches of torch's DataLoader as they are\n"
    "      --warm   fill ahead what lies at the covered paths, beside COMMAND (--jobs as below)\n"
    "      --warm=first  and have the first open of a big file wait until that is whole: maps of "
    "it,\n"
    "                 as of HDF5, LMDB and Arrow, are then served from the first on\n"
    "      --json   write the summary to FILE, for programs\n"
    "  stoker warm [--path P]... [--tier DIR[:SIZE]]... [--jobs N] [--share I/N] [--dry-run]\n"
    "              [--samples[=SIZE]] PATH...\n"
    "      fills the cache ahead with what lies at PATH, and keeps it (`stoker clear` ends that).\n"
    "      Started again, it goes on where it was. --path (or STOKER_PATHS): what the job will\n"
    "      cover, where PATH is a part of that\n"
    "      --jobs     so many files at a time (default: as many as suit the origin)\n"
    "      --share    only this node's part, I of N, such as 1/4 on the first of four\n"
    "      --samples  decode JPEGs ahead, too, and keep them as `stoker run` does\n"
    "      --dry-run  say what would be filled, and fill nothing\n"
    "  stoker env [--path P]... [--tier DIR[:SIZE]]... [--fresh ...]\n"
    "             [--samples DIR[:SIZE]]\n"
    "      prints exports that do the same in a job script: eval \"$(stoker env --path P)\"\n"
    "      Decoded images are kept only with --samples DIR:SIZE; nobody watches the memory, or\n"
    "      finishes big files. `stoker env --end` says what was served, as `stoker run` does\n"
    "  stoker ls [--tier DIR]\n"
    "      shows what is cached and which runs live\n"
    "  stoker clear [--tier DIR] [PATH] [--dead]\n"
    "      removes the cache, or what it holds of PATH, or what killed runs left; with --tier "
    "only\n"
    "      from there\n"
    "  stoker verify [--tier DIR] [--sample N|P%] [--json FILE] [PATH...]\n"
    "      compares what is cached (of PATH) with its origins, byte for byte, and drops what "
    "differs.\n"
    "      Also beside a job, to which its reads yield. Status 0: nothing differed; 1: something "
    "did,\n"
    "      and was dropped; 2: it could not be looked at\n"
    "      --sample  only so many copies, or such a part of all, by chance\n"
    "      --json    write what was found to FILE, for programs\n"
    "  stoker doctor [--json] [PATH...] [-- COMMAND...]\n"
    "      looks at what helps or hinders on this machine, at the data set's mount and at "
    "COMMAND's\n"
    "      program, and says what mends it. Status 1: something is to be mended\n";

static bool is_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

int main(int count, char **arguments)
{
    if (count < 2) {
        fputs(help, stderr);
        return STK_EXIT_USAGE;
    }
    if (is_help(arguments[1]) || strcmp(arguments[1], "help") == 0) {
        fputs(help, stdout);
        return 0;
    }
    if (strcmp(arguments[1], "--version") == 0) {
        puts("stoker " VERSION);
        return 0;
    }
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(arguments[1], verbs[i].name) == 0) {
            if (count > 2 && is_help(arguments[2])) {
                fputs(help, stdout);
                return 0;
            }
            return verbs[i].run(arguments + 2);
        }
    }
    die("unknown verb %s: see `stoker --help`", arguments[1]);
}
