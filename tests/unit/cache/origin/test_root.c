/* cache/origin/root.c */
#include "tests/unit/unit.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "cache/origin/root.h"

static struct stk_roots roots;

static bool is_same(struct stk_hash128 a, struct stk_hash128 b)
{
    return a.low == b.low && a.high == b.high;
}

/* Returns a root's path on its volume. */
static const char *behind_volume(const struct stk_root *root)
{
    return root->name + strcspn(root->name, "@") + strlen("@0123456789abcdef");
}

/* Returns where the directory "data" lies on the scratch volume, which may be mounted anywhere. */
static const char *data_on_volume(void)
{
    return strrchr(unit_path("data"), '/');
}

/* Returns a path below a root as a tier's tree spells it. */
static const char *in_tree(const struct stk_root *root, const char *more)
{
    static char out[2 * STK_PATH_BYTES];
    snprintf(out, sizeof out, "%s%s", root->name, more);
    return out;
}

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
    ck_assert_int_eq(strncmp(root->name, "tmpfs@", 6), 0);
    ck_assert_str_eq(behind_volume(root), data_on_volume());
    ck_assert_uint_eq(strlen(root->name), root->name_length);
    ck_assert_ptr_eq(stk_roots_by_name(&roots, in_tree(root, "")), root);
    ck_assert_ptr_eq(stk_roots_by_name(&roots, in_tree(root, "/a/x")), root);
    ck_assert_str_eq(stk_root_below(root, in_tree(root, "/a/x")), "a/x");
    ck_assert_ptr_null(stk_roots_by_name(&roots, in_tree(root, "2/x")));
    ck_assert_ptr_null(stk_roots_by_name(&roots, "data"));
    struct stk_hash128 key = root->key;
    resolve(data);
    ck_assert(is_same(roots.roots[0].key, key));
}
END_TEST

/* ---- one file, one name ---- */

/* Returns the key of a file below a root. */
static struct stk_hash128 key_below(const struct stk_root *root, const char *below)
{
    return stk_hash_path(below, strlen(below), root->key);
}

START_TEST(nested_roots_share_names_and_keys)
{
    char list[8192];
    unit_directory("data");
    unit_directory("data/train");
    snprintf(list, sizeof list, "%s:%s", unit_path("data"), unit_path("data/train"));
    resolve(list);
    const struct stk_root *outer = &roots.roots[0], *inner = &roots.roots[1];
    ck_assert_str_eq(inner->name, in_tree(outer, "/train"));
    ck_assert(is_same(key_below(outer, "train/x"), key_below(inner, "x")));
    ck_assert(!is_same(outer->key, inner->key));
    ck_assert_ptr_eq(stk_roots_by_name(&roots, in_tree(outer, "/train/x")), inner);
    ck_assert_ptr_eq(stk_roots_by_name(&roots, in_tree(outer, "/trains/x")), outer);
}
END_TEST

START_TEST(a_file_beside_its_directory_has_one_name)
{
    char list[8192];
    unit_directory("data");
    unit_directory("data/sub");
    unit_write_text(unit_path("data/sub/one.h5"), "x");
    snprintf(list, sizeof list, "%s:%s", unit_path("data"), unit_path("data/sub/one.h5"));
    resolve(list);
    const struct stk_root *outer = &roots.roots[0], *file = &roots.roots[1];
    ck_assert_ptr_eq(stk_roots_by_name(&roots, in_tree(outer, "/sub/one.h5")), file);
    ck_assert_ptr_eq(stk_roots_by_name(&roots, in_tree(outer, "/sub/two.h5")), outer);
    ck_assert(is_same(key_below(outer, "sub/one.h5"), key_below(file, "one.h5")));
}
END_TEST

START_TEST(a_bind_mount_has_the_name_and_a_key_of_its_own)
{
    UNIT_NEEDS_PRIVATE();
    char name[STK_PATH_BYTES];
    unit_directory("data");
    unit_directory("data/train");
    resolve(unit_path("data/train"));
    strcpy(name, roots.roots[0].name);
    struct stk_hash128 key = roots.roots[0].key;
    const char *bound = unit_directory("bound");
    ck_assert_int_eq(mount(unit_path("data"), bound, NULL, MS_BIND, NULL), 0);
    resolve(unit_path("bound/train"));
    ck_assert_str_eq(roots.roots[0].name, name);
    ck_assert(!is_same(roots.roots[0].key, key)); /* it may show other rights and owners */
}
END_TEST

/* An entry's path must lead back to one origin: the second mount's files have other names. */
START_TEST(two_mounts_of_one_directory_in_one_process)
{
    UNIT_NEEDS_PRIVATE();
    char list[8192], name[STK_PATH_BYTES];
    unit_directory("data");
    unit_directory("data/train");
    resolve(unit_path("data"));
    strcpy(name, roots.roots[0].name);
    const char *bound = unit_directory("bound");
    ck_assert_int_eq(mount(unit_path("data/train"), bound, NULL, MS_BIND, NULL), 0);
    snprintf(list, sizeof list, "%s:%s", unit_path("data"), bound);
    resolve(list);
    ck_assert_str_eq(roots.roots[0].name, name);
    ck_assert_int_ne(strncmp(roots.roots[1].name, name, strlen("tmpfs@0123456789abcdef")), 0);
    ck_assert_str_eq(behind_volume(&roots.roots[1]) + strlen(data_on_volume()), "/train");
    snprintf(list, sizeof list, "%s:%s", unit_directory("data/val"), bound);
    resolve(list);
    ck_assert_int_eq(strncmp(roots.roots[1].name, name, strlen(name)), 0); /* no file in common */
}
END_TEST

/* Their files may have equal paths, inode numbers and times. */
START_TEST(two_volumes_of_one_source)
{
    UNIT_NEEDS_PRIVATE();
    char name[STK_PATH_BYTES];
    unit_mount_tmpfs(unit_directory("one"), NULL);
    unit_mount_tmpfs(unit_directory("two"), NULL);
    resolve(unit_path("one"));
    strcpy(name, roots.roots[0].name);
    ck_assert_str_eq(behind_volume(&roots.roots[0]), "");
    resolve(unit_path("two"));
    ck_assert_str_ne(roots.roots[0].name, name);
    ck_assert_str_eq(behind_volume(&roots.roots[0]), "");
}
END_TEST

/* A file that a mount hides is another one than the file that the mount shows there. */
START_TEST(a_mount_over_a_directory)
{
    UNIT_NEEDS_PRIVATE();
    char list[8192];
    unit_directory("data");
    unit_directory("data/sub");
    const char *bound = unit_directory("bound");
    ck_assert_int_eq(mount(unit_path("data"), bound, NULL, MS_BIND, NULL), 0);
    unit_mount_tmpfs(unit_path("data/sub"), NULL);
    snprintf(list, sizeof list, "%s:%s", unit_path("data"), bound);
    resolve(list);
    const char *rest;
    const struct stk_root *shown = stk_roots_match(&roots, unit_path("data/sub/x"), &rest);
    const struct stk_root *hidden = stk_roots_match(&roots, unit_path("bound/sub/x"), &rest);
    ck_assert_str_eq(behind_volume(shown), "");
    ck_assert_str_eq(rest, "sub/x");
    ck_assert(!is_same(key_below(hidden, "sub/x"), key_below(shown, "x")));
}
END_TEST

/* Its root directory is in no table that it can read: it shares nothing. */
static int alone(void *context)
{
    const struct stk_root *root = &roots.roots[0];
    const char *slash = strchr(context, '/');
    if (chroot(unit_path("data")) != 0 || chdir("/") != 0) {
        return 2;
    }
    resolve(slash);
    return root->usable && strcmp(root->name, context) == 0 ? 1 : 0;
}

START_TEST(behind_a_changed_root_directory)
{
    UNIT_NEEDS_PRIVATE();
    char name[STK_PATH_BYTES];
    unit_directory("data");
    resolve(unit_path("data"));
    strcpy(name, roots.roots[0].name);
    strcat(name, "/proc");
    ck_assert_int_eq(unit_in_child(alone, name), 0);
}
END_TEST

START_TEST(not_there)
{
    resolve(unit_path("none"));
    ck_assert_uint_eq(roots.count, 1);
    ck_assert(!roots.roots[0].usable);
    ck_assert_ptr_null(stk_roots_by_name(&roots, ""));
}
END_TEST

START_TEST(symlinked_root)
{
    char by_link[STK_PATH_BYTES];
    unit_directory("real");
    ck_assert_int_eq(symlink("real", unit_path("link")), 0);
    resolve(unit_path("link"));
    ck_assert_str_eq(roots.roots[0].prefix, unit_path("link"));
    ck_assert_str_eq(roots.roots[0].canonical, unit_path("real"));
    strcpy(by_link, roots.roots[0].name);
    struct stk_hash128 key = roots.roots[0].key;
    resolve(unit_path("real"));
    ck_assert_str_eq(roots.roots[0].name, by_link);
    ck_assert(is_same(roots.roots[0].key, key));
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
    ck_assert(!is_same(inner->key, roots.roots[0].key));
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
    ck_assert(is_same(real->key, linked->key));
    ck_assert(!is_same(real->key, roots.roots[0].key));
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
    ck_assert(is_same(real->key, linked->key));
    ck_assert_str_eq(real->name, linked->name);
}
END_TEST

START_TEST(names_differ_by_what_is_mounted)
{
    UNIT_NEEDS_PRIVATE();
    char first[STK_PATH_BYTES];
    const char *data = unit_directory("data");
    resolve(data);
    strcpy(first, roots.roots[0].name);
    ck_assert_int_eq(mount("another-source", data, "tmpfs", 0, NULL), 0);
    resolve(data);
    ck_assert_str_ne(roots.roots[0].name, first);
    ck_assert_int_eq(umount(data), 0);
    resolve(data);
    ck_assert_str_eq(roots.roots[0].name, first);
}
END_TEST

START_TEST(names_differ_by_the_directory_that_is_mounted)
{
    UNIT_NEEDS_PRIVATE();
    char first[STK_PATH_BYTES];
    const char *data = unit_directory("data");
    unit_directory("volume1");
    unit_directory("volume2");
    ck_assert_int_eq(mount(unit_path("volume1"), data, NULL, MS_BIND, NULL), 0);
    resolve(data);
    strcpy(first, roots.roots[0].name);
    struct stk_hash128 key = roots.roots[0].key;
    ck_assert_int_eq(umount(data), 0);
    ck_assert_int_eq(mount(unit_path("volume2"), data, NULL, MS_BIND, NULL), 0);
    resolve(data);
    ck_assert_str_ne(roots.roots[0].name, first);
    ck_assert(!is_same(roots.roots[0].key, key));
}
END_TEST

static int other_key(void *context)
{
    if (unshare(CLONE_NEWNS) != 0) {
        return 2;
    }
    resolve(unit_path("data"));
    return roots.roots[0].usable && !is_same(roots.roots[0].key, *(struct stk_hash128 *)context)
               ? 0
               : 1;
}

START_TEST(another_view_has_another_key)
{
    UNIT_NEEDS_PRIVATE();
    resolve(unit_directory("data"));
    struct stk_hash128 key = roots.roots[0].key;
    ck_assert_int_eq(unit_in_child(other_key, &key), 0);
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
    TCase *names = unit_case(suite, "root_names");
    tcase_add_test(names, nested_roots_share_names_and_keys);
    tcase_add_test(names, a_file_beside_its_directory_has_one_name);
    tcase_add_test(names, a_bind_mount_has_the_name_and_a_key_of_its_own);
    tcase_add_test(names, two_mounts_of_one_directory_in_one_process);
    tcase_add_test(names, two_volumes_of_one_source);
    tcase_add_test(names, a_mount_over_a_directory);
    tcase_add_test(names, behind_a_changed_root_directory);
    TCase *mounts = unit_case(suite, "root_mounts");
    tcase_add_test(mounts, a_mount_below_is_its_own_root);
    tcase_add_test(mounts, a_mount_below_a_linked_root);
    tcase_add_test(mounts, names_differ_by_what_is_mounted);
    tcase_add_test(mounts, names_differ_by_the_directory_that_is_mounted);
    tcase_add_test(mounts, another_view_has_another_key);
    return suite;
}
