/* cache/origin/root.c */
#include "tests/unit/unit.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "cache/origin/root.h"

static struct stk_roots roots;

static void spell(const char *paths)
{
    memset(&roots, 0, sizeof roots);
    stk_roots_spell(&roots, paths);
}

static void resolve(const char *paths)
{
    spell(paths);
    stk_roots_resolve(&roots);
}

/* The prefix of the root that matches and what is left, as "prefix|rest". */
static const char *match(const char *path)
{
    static char out[2 * STK_PATH_BYTES];
    const char *rest;
    const struct stk_root *root = stk_roots_match(&roots, path, &rest);
    snprintf(out, sizeof out, "%s|%s", root != NULL ? root->prefix : "", root != NULL ? rest : "");
    return out;
}

START_TEST(spells)
{
    spell("/a:/b//c/./d/:relative:/x/../y:/:://e/:/with\\:colon");
    ck_assert_uint_eq(roots.count, 4);
    ck_assert_str_eq(roots.roots[0].prefix, "/a");
    ck_assert_str_eq(roots.roots[1].prefix, "/b/c/d");
    ck_assert_str_eq(roots.roots[2].prefix, "/e");
    ck_assert_str_eq(roots.roots[3].prefix, "/with:colon");
    ck_assert_str_eq(match("/a/x"), "/a|x");
    ck_assert_str_eq(match("/ab"), "|");
    ck_assert_str_eq(match("/b/c"), "|");
    ck_assert_str_eq(match("/b/c/d//e"), "/b/c/d|e");
    ck_assert_str_eq(match("/y"), "|");
}
END_TEST

START_TEST(innermost_wins)
{
    spell("/a:/a/b/c:/a/b");
    ck_assert_str_eq(match("/a/x"), "/a|x");
    ck_assert_str_eq(match("/a/b/x"), "/a/b|x");
    ck_assert_str_eq(match("/a/./b//c/x"), "/a/b/c|x");
    ck_assert_str_eq(match("/a/bc"), "/a|bc");
}
END_TEST

START_TEST(too_many)
{
    static char list[64 * 8], path[16];
    for (int i = 0; i < 64; i++) {
        snprintf(path, sizeof path, "/r%02d:", i);
        strcat(list, path);
    }
    spell(list);
    ck_assert_uint_eq(roots.count, STK_ROOTS);
    ck_assert_str_eq(match("/r31/x"), "/r31|x");
    ck_assert_str_eq(match("/r32/x"), "|");
}
END_TEST

START_TEST(resolves_a_directory)
{
    const char *data = unit_directory("data");
    resolve(data);
    ck_assert_uint_eq(roots.count, 1);
    const struct stk_root *root = &roots.roots[0];
    ck_assert(root->usable);
    ck_assert(root->inode_counts);
    ck_assert_uint_eq(root->dev, unit_stat(data).st_dev);
    ck_assert_uint_eq(root->ino, unit_stat(data).st_ino);
    ck_assert_str_eq(root->canonical, data);
    ck_assert_int_eq(strncmp(root->name, "data-", 5), 0);
    ck_assert_uint_eq(strlen(root->name), 5 + 16);
    ck_assert_ptr_eq(stk_roots_by_name(&roots, root->name, strlen(root->name)), root);
    ck_assert_ptr_null(stk_roots_by_name(&roots, root->name, strlen(root->name) - 1));
    ck_assert_ptr_null(stk_roots_by_name(&roots, "data", 4));
    uint64_t key = root->key;
    resolve(data);
    ck_assert_uint_eq(roots.roots[0].key, key);
}
END_TEST

START_TEST(not_there)
{
    resolve(unit_path("none"));
    ck_assert_uint_eq(roots.count, 1);
    ck_assert(!roots.roots[0].usable);
    ck_assert_ptr_null(stk_roots_by_name(&roots, "", 0));
}
END_TEST

START_TEST(symlinked_root)
{
    char by_link[STK_ROOT_NAME_BYTES];
    unit_directory("real");
    ck_assert_int_eq(symlink("real", unit_path("link")), 0);
    resolve(unit_path("link"));
    ck_assert_str_eq(roots.roots[0].prefix, unit_path("link"));
    ck_assert_str_eq(roots.roots[0].canonical, unit_path("real"));
    strcpy(by_link, roots.roots[0].name);
    uint64_t key = roots.roots[0].key;
    resolve(unit_path("real"));
    ck_assert_str_eq(roots.roots[0].name, by_link);
    ck_assert_uint_eq(roots.roots[0].key, key);
}
END_TEST

START_TEST(a_single_file)
{
    unit_directory("data");
    unit_write_text(unit_path("data/one.h5"), "x");
    resolve(unit_path("data/one.h5"));
    ck_assert(roots.roots[0].usable);
    ck_assert_str_eq(roots.roots[0].prefix, unit_path("data"));
    ck_assert_str_eq(roots.roots[0].only, "one.h5");
    const char *rest;
    ck_assert_ptr_nonnull(stk_roots_match(&roots, unit_path("data/one.h5"), &rest));
    ck_assert_str_eq(rest, "one.h5");
    ck_assert_ptr_null(stk_roots_match(&roots, unit_path("data/one.h50"), &rest));
    ck_assert_ptr_null(stk_roots_match(&roots, unit_path("data/two.h5"), &rest));
    ck_assert_ptr_null(stk_roots_match(&roots, unit_path("data"), &rest));
}
END_TEST

/* A file and its directory, both asked for: the directory covers its other files still. */
START_TEST(a_file_beside_its_directory)
{
    char list[8192];
    unit_directory("data");
    unit_write_text(unit_path("data/one.h5"), "x");
    snprintf(list, sizeof list, "%s:%s", unit_path("data/one.h5"), unit_path("data"));
    resolve(list);
    const char *rest;
    ck_assert_ptr_nonnull(stk_roots_match(&roots, unit_path("data/one.h5"), &rest));
    const struct stk_root *root = stk_roots_match(&roots, unit_path("data/two.h5"), &rest);
    ck_assert_ptr_nonnull(root);
    ck_assert_ptr_null(root->only);
}
END_TEST

START_TEST(a_mount_below_is_its_own_root)
{
    UNIT_NEEDS_PRIVATE();
    unit_directory("data");
    unit_directory("data/inner");
    const char *point = unit_directory("data/inner/mount");
    unit_mount_tmpfs(point, NULL);
    unit_mount_tmpfs(unit_directory("beside"), NULL);
    resolve(unit_path("data"));
    ck_assert_uint_eq(roots.count, 2);
    const struct stk_root *inner = &roots.roots[1];
    ck_assert(inner->usable);
    ck_assert_str_eq(inner->prefix, point);
    ck_assert_uint_ne(inner->dev, roots.roots[0].dev);
    ck_assert_uint_ne(inner->key, roots.roots[0].key);
    ck_assert_str_ne(inner->name, roots.roots[0].name);
    const char *rest;
    ck_assert_ptr_eq(stk_roots_match(&roots, unit_path("data/inner/mount/x"), &rest), inner);
    ck_assert_ptr_eq(stk_roots_match(&roots, unit_path("data/inner/x"), &rest), &roots.roots[0]);
}
END_TEST

START_TEST(a_mount_below_a_linked_root)
{
    UNIT_NEEDS_PRIVATE();
    unit_directory("data");
    unit_mount_tmpfs(unit_directory("data/mount"), NULL);
    ck_assert_int_eq(symlink("data", unit_path("link")), 0);
    resolve(unit_path("link"));
    const char *rest;
    const struct stk_root *linked = stk_roots_match(&roots, unit_path("link/mount/x"), &rest);
    const struct stk_root *real = stk_roots_match(&roots, unit_path("data/mount/x"), &rest);
    ck_assert_str_eq(linked->prefix, unit_path("link/mount"));
    ck_assert_str_eq(linked->canonical, unit_path("data/mount"));
    ck_assert_str_eq(real->prefix, unit_path("data/mount"));
    ck_assert_uint_eq(real->key, linked->key);
    ck_assert_uint_ne(real->key, roots.roots[0].key);
}
END_TEST

START_TEST(a_linked_root_is_known_by_its_real_path)
{
    unit_directory("data");
    ck_assert_int_eq(symlink("data", unit_path("link")), 0);
    resolve(unit_path("link"));
    const char *rest;
    const struct stk_root *linked = stk_roots_match(&roots, unit_path("link/x"), &rest);
    const struct stk_root *real = stk_roots_match(&roots, unit_path("data/x"), &rest);
    ck_assert_ptr_ne(real, NULL);
    ck_assert_uint_eq(real->key, linked->key);
    ck_assert_str_eq(real->name, linked->name);
}
END_TEST

START_TEST(names_differ_by_what_is_mounted)
{
    UNIT_NEEDS_PRIVATE();
    char first[STK_ROOT_NAME_BYTES];
    const char *data = unit_directory("data");
    resolve(data);
    strcpy(first, roots.roots[0].name);
    ck_assert_int_eq(mount("another-source", data, "tmpfs", 0, NULL), 0);
    resolve(data);
    ck_assert_str_ne(roots.roots[0].name, first);
    ck_assert_int_eq(strncmp(roots.roots[0].name, "data-", 5), 0);
    ck_assert_int_eq(umount(data), 0);
    resolve(data);
    ck_assert_str_eq(roots.roots[0].name, first);
}
END_TEST

START_TEST(names_differ_by_the_directory_that_is_mounted)
{
    UNIT_NEEDS_PRIVATE();
    char first[STK_ROOT_NAME_BYTES];
    const char *data = unit_directory("data");
    unit_directory("volume1");
    unit_directory("volume2");
    ck_assert_int_eq(mount(unit_path("volume1"), data, NULL, MS_BIND, NULL), 0);
    resolve(data);
    strcpy(first, roots.roots[0].name);
    uint64_t key = roots.roots[0].key;
    ck_assert_int_eq(umount(data), 0);
    ck_assert_int_eq(mount(unit_path("volume2"), data, NULL, MS_BIND, NULL), 0);
    resolve(data);
    ck_assert_str_ne(roots.roots[0].name, first);
    ck_assert_uint_ne(roots.roots[0].key, key);
}
END_TEST

static int other_key(void *context)
{
    if (unshare(CLONE_NEWNS) != 0) {
        return 2;
    }
    resolve(unit_path("data"));
    return roots.roots[0].usable && roots.roots[0].key != *(uint64_t *)context ? 0 : 1;
}

START_TEST(another_view_has_another_key)
{
    UNIT_NEEDS_PRIVATE();
    resolve(unit_directory("data"));
    uint64_t key = roots.roots[0].key;
    ck_assert_int_eq(unit_in_child(other_key, &key), 0);
}
END_TEST

START_TEST(long_names_are_cut)
{
    char name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    resolve(unit_directory(name));
    ck_assert(roots.roots[0].usable);
    ck_assert_uint_lt(strlen(roots.roots[0].name), STK_ROOT_NAME_BYTES);
    ck_assert_ptr_nonnull(strchr(roots.roots[0].name, '-'));
}
END_TEST

Suite *suite_root(void)
{
    Suite *suite = suite_create("root");
    TCase *spelling = unit_case(suite, "root_spell");
    tcase_add_test(spelling, spells);
    tcase_add_test(spelling, innermost_wins);
    tcase_add_test(spelling, too_many);
    TCase *what = unit_case(suite, "root_resolve");
    tcase_add_test(what, resolves_a_directory);
    tcase_add_test(what, not_there);
    tcase_add_test(what, symlinked_root);
    tcase_add_test(what, a_linked_root_is_known_by_its_real_path);
    tcase_add_test(what, a_single_file);
    tcase_add_test(what, a_file_beside_its_directory);
    tcase_add_test(what, long_names_are_cut);
    TCase *mounts = unit_case(suite, "root_mounts");
    tcase_add_test(mounts, a_mount_below_is_its_own_root);
    tcase_add_test(mounts, a_mount_below_a_linked_root);
    tcase_add_test(mounts, names_differ_by_what_is_mounted);
    tcase_add_test(mounts, names_differ_by_the_directory_that_is_mounted);
    tcase_add_test(mounts, another_view_has_another_key);
    return suite;
}
