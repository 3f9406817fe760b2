/* The command line of slowfs. See options.h. */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "control.h"

static const char usage[] =
    "usage: slowfs [options] SOURCE MOUNTPOINT\n"
    "Shows SOURCE at MOUNTPOINT, each operation as late as over a network, and counts them.\n"
    "\n"
    "  --latency-ms N       delay before each operation, in milliseconds (0)\n"
    "  --mbytes-per-s N     how much data all reads get together, in 10^6 bytes; 0: no limit (0)\n"
    "  --control FILE       counters, and the latency to change; layout in control.h\n"
    "  --name NAME          what the table of mounts calls it, such as server:/data (SOURCE)\n"
    "  --attr-timeout S     seconds for which the kernel may keep attributes (1.0)\n"
    "  --entry-timeout S    the same for names (1.0)\n"
    "  --threads N          requests at once (128)\n"
    "  --readonly           refuse to change SOURCE\n"
    "  --allow-other        let other users in, too\n"
    "  --direct-io          past the kernel's cache: a short read is the program's short read\n"
    "  --exit-with-stdin    unmount and exit when standard input ends\n"
    "  --daemon             go to the background once mounted\n"
    "  --list-counters      print the names of the counters, in order, and exit\n"
    "  --help               this\n"
    "Unmount with `fusermount3 -u MOUNTPOINT`, or end slowfs with TERM or INT.\n";

enum option_key {
    KEY_LATENCY = 256,
    KEY_MBYTES_PER_S,
    KEY_CONTROL,
    KEY_NAME,
    KEY_ATTR_TIMEOUT,
    KEY_ENTRY_TIMEOUT,
    KEY_THREADS,
    KEY_READONLY,
    KEY_ALLOW_OTHER,
    KEY_DIRECT_IO,
    KEY_EXIT_WITH_STDIN,
    KEY_DAEMON,
    KEY_LIST_COUNTERS,
    KEY_HELP
};

static const struct option long_options[] = {
    {"latency-ms", required_argument, NULL, KEY_LATENCY},
    {"mbytes-per-s", required_argument, NULL, KEY_MBYTES_PER_S},
    {"control", required_argument, NULL, KEY_CONTROL},
    {"name", required_argument, NULL, KEY_NAME},
    {"attr-timeout", required_argument, NULL, KEY_ATTR_TIMEOUT},
    {"entry-timeout", required_argument, NULL, KEY_ENTRY_TIMEOUT},
    {"threads", required_argument, NULL, KEY_THREADS},
    {"readonly", no_argument, NULL, KEY_READONLY},
    {"allow-other", no_argument, NULL, KEY_ALLOW_OTHER},
    {"direct-io", no_argument, NULL, KEY_DIRECT_IO},
    {"exit-with-stdin", no_argument, NULL, KEY_EXIT_WITH_STDIN},
    {"daemon", no_argument, NULL, KEY_DAEMON},
    {"list-counters", no_argument, NULL, KEY_LIST_COUNTERS},
    {"help", no_argument, NULL, KEY_HELP},
    {NULL, 0, NULL, 0},
};

static _Noreturn void wrong_usage(void)
{
    fputs(usage, stderr);
    exit(2);
}

static _Noreturn void list_counters(void)
{
    for (int i = 0; i < SLOW_COUNTER_COUNT; i++) {
        puts(slow_control_name((enum slow_counter)i));
    }
    exit(0);
}

/* A number from 0 to `most`. */
static double take_number(const char *text, double most)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end != '\0' || !(number >= 0 && number <= most)) {
        fprintf(stderr, "slowfs: not a number from 0 to %.0f: %s\n", most, text);
        wrong_usage();
    }
    return number;
}

static void take_option(int key, struct slow_options *options)
{
    switch (key) {
    case KEY_LATENCY:
        options->latency_ns = (uint64_t)(take_number(optarg, 1e7) * 1e6);
        break;
    case KEY_MBYTES_PER_S:
        options->bytes_per_s = (uint64_t)(take_number(optarg, 1e6) * 1e6);
        break;
    case KEY_CONTROL:
        options->control = optarg;
        break;
    case KEY_NAME:
        options->name = optarg;
        break;
    case KEY_ATTR_TIMEOUT:
        options->attr_timeout = take_number(optarg, 1e9);
        break;
    case KEY_ENTRY_TIMEOUT:
        options->entry_timeout = take_number(optarg, 1e9);
        break;
    case KEY_THREADS:
        options->threads = (unsigned)take_number(optarg, 4096);
        break;
    case KEY_READONLY:
        options->readonly = true;
        break;
    case KEY_ALLOW_OTHER:
        options->allow_other = true;
        break;
    case KEY_DIRECT_IO:
        options->direct_io = true;
        break;
    case KEY_EXIT_WITH_STDIN:
        options->exit_with_stdin = true;
        break;
    case KEY_DAEMON:
        options->daemon = true;
        break;
    case KEY_LIST_COUNTERS:
        list_counters();
    case KEY_HELP:
        fputs(usage, stdout);
        exit(0);
    default:
        wrong_usage();
    }
}

void slow_options_read(int argc, char **argv, struct slow_options *options)
{
    *options = (struct slow_options){.attr_timeout = 1.0, .entry_timeout = 1.0, .threads = 128};
    int key;
    while ((key = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        take_option(key, options);
    }
    if (argc - optind != 2 || options->threads == 0) {
        wrong_usage();
    }
    options->source = argv[optind];
    options->mountpoint = argv[optind + 1];
}
