/* Folding and matching of paths against a model that takes them apart into components. */
#include "base/path.h"

#include <string.h>

#include "tests/fuzz/fuzz.h"

#define COMPONENTS 4096

const char *const fuzz_words[] = {"/",  "//", "/./", "/../", "..", ".",   "...", "a",
                                  "bb", "/a", "/bb", "/a/",  "/.", "a.b", "/.a", NULL};

struct model {
    const char *start[COMPONENTS];
    size_t length[COMPONENTS], count;
    bool parent;    /* one of them is ".." */
    bool directory; /* something, and then a slash or a dot */
};

static void take_apart(const char *path, struct model *out)
{
    out->count = 0;
    out->parent = out->directory = false;
    for (const char *at = path;; at++) {
        size_t length = strcspn(at, "/");
        bool nothing = length == 0 || (length == 1 && at[0] == '.');
        if (!nothing) {
            out->start[out->count] = at;
            out->length[out->count++] = length;
            out->parent |= length == 2 && at[0] == '.' && at[1] == '.';
        }
        at += length;
        if (*at == '\0') {
            out->directory = nothing && out->count > 0;
            return;
        }
    }
}

/* The components joined by single slashes; their length. */
static size_t join(const struct model *model, size_t from, char *out)
{
    size_t used = 0;
    for (size_t i = from; i < model->count; i++) {
        if (i > from) {
            out[used++] = '/';
        }
        memcpy(out + used, model->start[i], model->length[i]);
        used += model->length[i];
    }
    out[used] = '\0';
    return used;
}

static void check_fold(const char *path, size_t room)
{
    static struct model model;
    char folded[STK_PATH_BYTES], wanted[STK_PATH_BYTES];
    take_apart(path, &model);
    size_t length = join(&model, 0, wanted);
    bool good = model.count > 0 && !model.parent && !model.directory;
    long got = stk_path_fold(path, folded, room);
    if (got < 0) {
        if (good && length + 2 <= room) {
            fuzz_fail("fold refuses \"%s\" with room for %zu", path, room);
        }
        return;
    }
    if (!good || (size_t)got != length || length + 1 > room || strcmp(folded, wanted) != 0) {
        fuzz_fail("fold makes \"%.*s\" of \"%s\"", (int)got, folded, path);
    }
}

static bool begins_with(const struct model *path, const struct model *root)
{
    for (size_t i = 0; i < root->count; i++) {
        if (i >= path->count || path->length[i] != root->length[i] ||
            memcmp(path->start[i], root->start[i], root->length[i]) != 0) {
            return false;
        }
    }
    return true;
}

static void check_below(const char *path, const char *root_path)
{
    static struct model model, root, rest;
    char folded[STK_PATH_BYTES + 1], wanted[STK_PATH_BYTES], got[STK_PATH_BYTES];
    take_apart(root_path, &root);
    folded[0] = '/';
    join(&root, 0, folded + 1);
    if (root.count == 0) {
        return;
    }
    take_apart(path, &model);
    const char *below = stk_path_below(path, folded);
    bool is_below = path[0] == '/' && begins_with(&model, &root);
    if ((below != NULL) != is_below) {
        fuzz_fail("\"%s\" is %sbelow \"%s\"", path, is_below ? "" : "not ", folded);
    }
    if (below == NULL) {
        return;
    }
    take_apart(below, &rest);
    join(&rest, 0, got);
    join(&model, root.count, wanted);
    if (strcmp(got, wanted) != 0 || below[0] == '/') {
        fuzz_fail("what is left of \"%s\" below \"%s\" is \"%s\"", path, folded, below);
    }
}

static void check_leaf(const char *path)
{
    const char *leaf = stk_path_leaf(path);
    if (strchr(leaf, '/') != NULL || (leaf != path && leaf[-1] != '/') ||
        strlen(leaf) > strlen(path)) {
        fuzz_fail("the leaf of \"%s\" is \"%s\"", path, leaf);
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

/* A root, at the same time the start of some paths; then a path. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char root[STK_PATH_BYTES], path[STK_PATH_BYTES] = "", behind[STK_PATH_BYTES];
    struct fuzz_input input = fuzz_input(data, bytes);
    uint32_t shape = fuzz_pick(&input, 4);
    size_t room = 1 + fuzz_pick(&input, shape == 0 ? 64 : STK_PATH_BYTES);
    fuzz_take_text(&input, root, 1 + fuzz_pick(&input, 32));
    fuzz_take_text(&input, behind, sizeof behind - 64);
    if (shape > 1) {
        strcat(strcpy(path, shape == 2 ? "/" : ""), root);
    }
    strcat(path, behind);
    check_fold(path, room);
    check_fold(path, STK_PATH_BYTES);
    check_below(path, root);
    check_leaf(path);
    return 0;
}
