/* The mount table: any text at all, and tables as the kernel writes them. Those must come out as
 * they went in, however short the reads are. */
#include "cache/origin/mounts.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sys.h"
#include "tests/fuzz/fuzz.h"

#define TABLE_BYTES (256u << 10)
#define MOUNTS      32
#define FIELD_BYTES 2048

const char *const fuzz_words[] = {"\\040", "\\",       "\\1",   "\\12", "\\777", "\n", " ",
                                  " - ",   "- ",       "36 35", "98:0", "/",     "/a", "rw",
                                  "ext4",  "shared:1", "\t",    "#",    NULL};

struct mount_text {
    char point[FIELD_BYTES], root[FIELD_BYTES], type[64], source[FIELD_BYTES];
};

static char table[TABLE_BYTES];
static size_t table_bytes;
static size_t longest_read;
static struct mount_text wanted[MOUNTS];
static unsigned wanted_count, seen_count;
static bool exact;

/* ---- the table in the place of the kernel's (see FUZZ_WRAP in tests.mk) ---- */

int __real_stk_sys_openat(int dirfd, const char *path, int flags, mode_t mode);
int __wrap_stk_sys_openat(int dirfd, const char *path, int flags, mode_t mode);
ssize_t __real_stk_sys_read(int fd, void *buffer, size_t bytes);
ssize_t __wrap_stk_sys_read(int fd, void *buffer, size_t bytes);

int __wrap_stk_sys_openat(int dirfd, const char *path, int flags, mode_t mode)
{
    if (strcmp(path, "/proc/self/mountinfo") != 0) {
        return __real_stk_sys_openat(dirfd, path, flags, mode);
    }
    int fd = memfd_create("mountinfo", MFD_CLOEXEC);
    if (fd < 0 || pwrite(fd, table, table_bytes, 0) != (ssize_t)table_bytes) {
        fuzz_fail("no memory for the table");
    }
    return fd;
}

ssize_t __wrap_stk_sys_read(int fd, void *buffer, size_t bytes)
{
    return __real_stk_sys_read(fd, buffer, bytes < longest_read ? bytes : longest_read);
}

/* ---- making tables ---- */

static void add_text(const char *text)
{
    size_t length = strlen(text);
    if (table_bytes + length <= sizeof table) {
        memcpy(table + table_bytes, text, length);
        table_bytes += length;
    }
}

/* As the kernel's mangle(): a few characters as three octal digits. */
static void add_escaped(const char *text)
{
    char one[8];
    for (; *text != '\0'; text++) {
        bool escape = strchr(" \t\n\\#", *text) != NULL;
        snprintf(one, sizeof one, escape ? "\\%03o" : "%c", (unsigned char)*text);
        add_text(one);
    }
}

static void take_field(struct fuzz_input *input, char *out, size_t room, const char *start)
{
    char text[FIELD_BYTES];
    fuzz_take_text(input, text, 1 + fuzz_pick(input, fuzz_pick(input, 8) == 0 ? FIELD_BYTES : 16));
    snprintf(out, room, "%s%.*s", start, (int)(room - 4), text);
}

/* A type holds nothing that would be escaped. */
static void take_type(struct fuzz_input *input, struct mount_text *mount)
{
    static const char *const types[] = {"ext4", "nfs4", "fuse.sshfs", "overlay"};
    strcpy(mount->type, types[fuzz_pick(input, 4)]);
}

static void add_mount(struct fuzz_input *input)
{
    static const char *const optional[] = {" ", " shared:1 ", " shared:1 master:2 ",
                                           " propagate_from:3 unbindable "};
    struct mount_text *mount = &wanted[wanted_count++];
    take_field(input, mount->point, sizeof mount->point, "/");
    take_field(input, mount->root, sizeof mount->root, "/");
    take_field(input, mount->source, sizeof mount->source, "s");
    take_type(input, mount);
    add_text("36 35 98:0 ");
    add_escaped(mount->root);
    add_text(" ");
    add_escaped(mount->point);
    add_text(" rw,noatime");
    add_text(optional[fuzz_pick(input, 4)]);
    add_text("- ");
    add_text(mount->type);
    add_text(" ");
    add_escaped(mount->source);
    add_text(" rw,errors=continue\n");
}

static void make_table(struct fuzz_input *input)
{
    table_bytes = wanted_count = seen_count = 0;
    exact = fuzz_pick(input, 2) != 0;
    longest_read = 1 + fuzz_pick(input, fuzz_pick(input, 2) != 0 ? 64 : 65536);
    if (exact) {
        for (unsigned i = fuzz_pick(input, MOUNTS); i > 0; i--) {
            add_mount(input);
        }
        return;
    }
    table_bytes = (size_t)(input->end - input->at);
    memcpy(table, input->at, table_bytes);
    /* A line longer than the buffer, now and then. */
    if (table_bytes > 0 && table[0] == 'l') {
        memset(table + table_bytes, table[table_bytes - 1], 100000);
        table_bytes += 100000;
    }
}

static void visit(void *context, const struct stk_mount *mount)
{
    (void)context;
    size_t lengths =
        strlen(mount->point) + strlen(mount->root) + strlen(mount->type) + strlen(mount->source);
    if (lengths > TABLE_BYTES) {
        fuzz_fail("a mount longer than the table");
    }
    if (!exact) {
        return;
    }
    const struct mount_text *expected = &wanted[seen_count++];
    if (seen_count > wanted_count || strcmp(mount->point, expected->point) != 0 ||
        strcmp(mount->root, expected->root) != 0 || strcmp(mount->type, expected->type) != 0 ||
        strcmp(mount->source, expected->source) != 0) {
        fuzz_fail("mount %u: \"%s\" \"%s\" \"%s\" \"%s\"", seen_count, mount->point, mount->root,
                  mount->type, mount->source);
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_input input = fuzz_input(data, bytes);
    make_table(&input);
    if (!stk_mounts_visit(visit, NULL)) {
        fuzz_fail("the table cannot be read");
    }
    if (exact && seen_count != wanted_count) {
        fuzz_fail("%u of %u mounts", seen_count, wanted_count);
    }
    return 0;
}
