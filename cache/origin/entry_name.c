#include "cache/origin/entry_name.h"

#include <string.h>

#include "base/text.h"

size_t stk_entry_tree(char *out, size_t bytes, const char *home, const struct stk_root *root)
{
    struct stk_text tree = stk_text_in(out, bytes);
    stk_text_add(&tree, home);
    stk_text_add(&tree, STK_ENTRY_TREE);
    stk_text_add_bytes(&tree, root->name, root->name_length);
    stk_text_add_char(&tree, '/');
    return tree.cut ? 0 : tree.used;
}

/* Adds the path of an entry below its root's directory. */
static bool add_entry(struct stk_text *path, const char *below, uint64_t name)
{
    const char *leaf = stk_path_leaf(below);
    stk_text_add_bytes(path, below, (size_t)(leaf - below));
    stk_text_add_hex(path, name, STK_ENTRY_DIGITS);
    stk_text_add_bytes(path, ";", 1);
    stk_text_add(path, leaf);
    return !path->cut;
}

bool stk_entry_path_in(char out[STK_PATH_BYTES], const char *tree, size_t tree_length,
                       const char *below, uint64_t name)
{
    struct stk_text path = {.start = out, .used = 0, .room = STK_PATH_BYTES, .cut = false};
    stk_text_add_bytes(&path, tree, tree_length);
    return add_entry(&path, below, name);
}

bool stk_entry_path(char out[STK_PATH_BYTES], const char *home, const struct stk_root *root,
                    const char *below, uint64_t name)
{
    size_t length = stk_entry_tree(out, STK_PATH_BYTES, home, root);
    struct stk_text path = {.start = out, .used = length, .room = STK_PATH_BYTES, .cut = false};
    return length > 0 && add_entry(&path, below, name);
}

bool stk_entry_path_below_tree(char *out, size_t bytes, const struct stk_root *root,
                               const char *below, uint64_t name)
{
    char path[STK_PATH_BYTES];
    return stk_entry_path(path, "", root, below, name) &&
           stk_text_copy(out, bytes, path + sizeof STK_ENTRY_TREE - 1);
}

bool stk_entry_parse(const char *path, const char *home, struct stk_entry_parts *out)
{
    size_t home_length = strlen(home);
    const char *leaf = stk_path_leaf(path);
    const char *digits = leaf;
    if (strncmp(path, home, home_length) != 0 ||
        strncmp(path + home_length, STK_ENTRY_TREE, sizeof STK_ENTRY_TREE - 1) != 0 ||
        !stk_text_take_hex(&digits, STK_ENTRY_DIGITS, &out->name) || *digits != ';') {
        return false;
    }
    const char *in_tree = path + home_length + sizeof STK_ENTRY_TREE - 1;
    if (memchr(in_tree, '/', (size_t)(leaf - in_tree)) == NULL) {
        return false;
    }
    struct stk_text file = stk_text_in(out->file, sizeof out->file);
    stk_text_add_bytes(&file, in_tree, (size_t)(leaf - in_tree));
    stk_text_add(&file, digits + 1);
    out->listing = digits[1] == '\0';
    return !file.cut;
}

bool stk_entry_looks_like(const char *name, const struct stat *stat)
{
    return S_ISREG(stat->st_mode) && strlen(name) > STK_ENTRY_DIGITS &&
           name[STK_ENTRY_DIGITS] == ';';
}

bool stk_entry_looks_like_file(const char *name, const struct stat *stat)
{
    return stk_entry_looks_like(name, stat) && name[STK_ENTRY_DIGITS + 1] != '\0';
}
