#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "cli/help/help.h"

/* Puts text so that troff sees no commands in it. */
static void put_escaped(const char *text)
{
    bool starts = true;
    for (; *text != '\0'; text++) {
        if (starts && (*text == '.' || *text == '\'')) {
            fputs("\\&", stdout);
        }
        if (*text == '\\') {
            fputs("\\e", stdout);
        } else if (*text == '-') {
            fputs("\\-", stdout);
        } else if (*text != '`') {
            putchar(*text);
        }
        starts = *text == '\n';
    }
}

static void put_paragraphs(const char *all)
{
    const char *text = all;
    while (*text != '\0') {
        char paragraph[2048];
        int length = (int)strcspn(text, "\n");
        snprintf(paragraph, sizeof paragraph, "%.*s", length, text);
        fputs(text != all ? ".PP\n" : "",
              stdout); /* not before the first paragraph, since a section begins with one */
        put_escaped(paragraph);
        putchar('\n');
        text += length + (text[length] == '\n');
    }
}

static void begin_page(const char *title, int section, const char *brief)
{
    printf(".TH \"%s\" %d \"\" \"stoker " STK_VERSION "\" \"Stoker\"\n.SH NAME\n", title, section);
    put_escaped(title);
    printf(" \\- ");
    put_escaped(brief);
    printf("\n");
}

static void put_option(const struct help_option *option)
{
    printf(".TP\n.B ");
    put_escaped(option->flag);
    if (*option->argument != '\0') {
        printf("%s", *option->argument == '[' ? "\\fR" : " \\fI");
        put_escaped(option->argument);
        printf("\\fR");
    }
    printf("\n");
    put_escaped(option->meaning);
    printf(".\n");
}

static void put_examples(const struct help_verb *verb)
{
    printf(".SH EXAMPLES\n.nf\n");
    for (const char *const *example = verb->examples; *example != NULL; example++) {
        put_escaped(*example);
        putchar('\n');
    }
    printf(".fi\n");
}

static void put_verb(const struct help_verb *verb)
{
    char title[64];
    snprintf(title, sizeof title, "stoker-%s", verb->name);
    begin_page(title, 1, verb->brief);
    bool takes = verb->options[0].flag != NULL;
    printf(".SH SYNOPSIS\n.B stoker %s\n%s", verb->name, takes ? "[\\fIOPTION\\fR]... " : "");
    put_escaped(verb->synopsis);
    printf("\n.SH DESCRIPTION\n");
    put_paragraphs(verb->about);
    fputs(takes ? ".SH OPTIONS\n" : "", stdout);
    for (const struct help_option *option = verb->options; option->flag != NULL; option++) {
        put_option(option);
    }
    put_examples(verb);
    printf(".SH SEE ALSO\n.BR stoker (1),\n.BR libstoker.so (7)\n");
}

static void put_overview(void)
{
    begin_page("stoker", 1, "serve a data set's files from a cache on this node");
    printf(".SH SYNOPSIS\n.B stoker run\n[\\fIOPTION\\fR]... \\-\\- \\fICOMMAND\\fR...\n.br\n"
           ".B stoker\n\\fIVERB\\fR [\\fIOPTION\\fR]... [\\fIPATH\\fR]...\n.SH DESCRIPTION\n");
    put_paragraphs(
        "Stoker feeds a GPU that waits for data. From the second epoch on the files of the data "
        "set come from this machine's memory, or its local disk, instead of the file system that "
        "cannot keep up. The script stays as it is.\n"
        "A cached file is a complete copy of one version of one file. A run never sees a "
        "version that is older than its start; what is in doubt is read from the original.\n"
        "Nothing is sent anywhere: there is no telemetry.\n");
    printf(".SH COMMANDS\n");
    for (unsigned i = 0; i < help_verb_count; i++) {
        printf(".TP\n.BR stoker\\-%s (1)\n", help_verbs[i].name);
        put_escaped(help_verbs[i].brief);
        printf("\n");
    }
    printf(
        ".SH EXIT STATUS\nThat of the command that is run; 2 where what is asked cannot be done.\n"
        ".SH FILES\n.TP\n.I /dev/shm/stoker\\-UID\nthe cache and its index\n.TP\n"
        ".I ~/.local/state/stoker/tiers\nwhere caches lie on disks\n.TP\n"
        ".I ~/.local/state/stoker/sizes\nhow much the last runs have opened, by covered "
        "paths\n.TP\n"
        ".I ~/.local/state/stoker/runs\nthe newest runs, for stoker report\n"
        ".SH SEE ALSO\n.BR libstoker.so (7)\n");
}

static void put_variables(void)
{
    printf(".SH ENVIRONMENT\n");
    for (int i = 0; i < STK_OPTION_COUNT; i++) {
        const struct stk_option_row *row = &stk_option_table[i];
        printf(".TP\n.B %s\\fR=\\fI", row->variable);
        put_escaped(row->argument);
        printf("\\fR\n");
        put_escaped(row->meaning);
        if (*row->otherwise != '\0') {
            printf(" Default: ");
            put_escaped(row->otherwise);
            printf(".");
        }
        printf("\n");
    }
}

static void put_library(void)
{
    begin_page("libstoker.so", 7, "the library that serves files from the cache");
    printf(".SH SYNOPSIS\n.B LD_PRELOAD=\\fIPATH\\fB/libstoker.so STOKER_PATHS=\\fIDIR\\fR "
           "\\fICOMMAND\\fR...\n.SH DESCRIPTION\n");
    put_paragraphs(
        "A library for LD_PRELOAD. In each process that loads it, plain openings, reads and stats "
        "of files below STOKER_PATHS are answered from the cache on this node, and fill it; "
        "everything else goes to the original. stoker run sets the environment for everything "
        "that it starts; stoker env prints it.\n"
        "Programs get the kernel's own descriptors, and see the original's metadata. A failure of "
        "the cache is a miss: the program then reads the original.\n"
        "Programs that load no libraries (static ones, those of Go, setuid ones of another user) "
        "read the originals. glibc 2.17 or later, on Linux for x86-64 and arm64.\n");
    put_variables();
    printf(".SH SEE ALSO\n.BR stoker (1),\n.BR stoker\\-env (1),\n.BR ld.so (8)\n");
}

bool manual_page(const char *name)
{
    const struct help_verb *verb = strncmp(name, "stoker-", 7) == 0 ? help_find(name + 7) : NULL;
    if (verb != NULL) {
        put_verb(verb);
    } else if (strcmp(name, "stoker") == 0) {
        put_overview();
    } else if (strcmp(name, "libstoker.so") == 0) {
        put_library();
    } else {
        return false;
    }
    return true;
}
