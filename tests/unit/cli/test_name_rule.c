/* cli/ahead/orders/name_rule.c */
#include "tests/unit/unit.h"

#include <string.h>

#include "cli/ahead/orders/name_rule.h"

static char found[STK_PATH_BYTES];

static const char *apply(const struct name_rule *rule, const char *path)
{
    return name_rule_apply(rule, path, found) ? found : "none";
}

START_TEST(names_that_share_their_begin)
{
    /* A pair, another path, and what follows from it. */
    static const char *const cases[][4] = {
        {"/d/images/a.jpg", "/d/masks/a.png", "/d/images/b.c.jpg", "/d/masks/b.c.png"},
        {"/d/images/a.jpg", "/d/masks/a.png", "/e/images/b.jpg", "/e/masks/b.png"},
        {"/d/images/a.jpg", "/d/masks/a.png", "/d/other/b.jpg", "none"},
        {"/d/images/a.jpg", "/d/masks/a.png", "/d/more_images/b.jpg", "none"},
        {"/d/images/a.jpg", "/d/masks/a.png", "/d/images/b.gif", "none"},
        {"/d/images/train/a.jpg", "/d/labels/train/a.txt", "/d/images/val/b.jpg",
         "/d/labels/val/b.txt"},
        {"/d/images/train/a.jpg", "/d/labels/train/a.txt", "/d/images/b.jpg", "none"},
        {"/d/left/x/a_left.png", "/d/gt/fine/x/a_gt_ids.png", "/d/left/y/b_left.png",
         "/d/gt/fine/y/b_gt_ids.png"},
        {"/d/1/rgb/7.png", "/d/1/depth/7.png", "/d/2/rgb/8.png", "/d/2/depth/8.png"},
        {"/d/a.jpg", "/d/a.txt", "/e/f/b.jpg", "/e/f/b.txt"},
        {"/d/a.jpg", "/d/masks/a.jpg", "/d/b.jpg", "/d/masks/b.jpg"},
        {"/d/train/a.jpg", "/d/train_masks/a_mask.gif", "/d/train/b.jpg",
         "/d/train_masks/b_mask.gif"},
        {"/d/1/image.png", "/d/1/mask.png", "/d/2/image.png", "/d/2/mask.png"},
        {"/d/1/image.png", "/e/1/mask.png", "/d/2/image.png", "/e/2/mask.png"},
        {"/a.jpg", "/m/a.jpg", "/b.jpg", "/m/b.jpg"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct name_rule rule;
        ck_assert(name_rule_learn(cases[i][0], cases[i][1], NAME_SHARED_HEAD, &rule));
        ck_assert_str_eq(apply(&rule, cases[i][2]), cases[i][3]);
    }
}
END_TEST

START_TEST(names_that_share_their_end)
{
    struct name_rule rule, same;
    ck_assert(
        name_rule_learn("/d/rgb/rgb_12.jpg", "/d/depth/depth_12.png", NAME_SHARED_TAIL, &rule));
    ck_assert_str_eq(apply(&rule, "/d/rgb/rgb_3.jpg"), "/d/depth/depth_3.png");
    ck_assert_str_eq(apply(&rule, "/d/rgb/3.jpg"), "none");
    ck_assert(name_rule_learn("/d/rgb/rgb_7.jpg", "/d/depth/depth_7.png", NAME_SHARED_TAIL, &same));
    ck_assert(memcmp(&rule, &same, sizeof rule) == 0);
    ck_assert(!name_rule_learn("/d/a.jpg", "/d/b.jpg", NAME_SHARED_TAIL, &rule));
    ck_assert(name_rule_learn("/d/.1.a", "/d/b1.b", NAME_SHARED_TAIL, &rule));
    ck_assert_str_eq(apply(&rule, "/d/.a"), "none"); /* parts of a name do not overlap */
}
END_TEST

START_TEST(paths_that_are_too_long)
{
    char path[STK_PATH_BYTES + 8], other[STK_PATH_BYTES];
    struct name_rule rule;
    ck_assert(name_rule_learn("/a.jpg", "/masks/a.jpg", NAME_SHARED_HEAD, &rule));
    memset(path, 'x', sizeof path);
    path[0] = '/';
    path[STK_PATH_BYTES - 1] = '\0';
    ck_assert(!name_rule_apply(&rule, path, other));
    ck_assert_str_eq(other, "");
    path[NAME_RULE_BYTES] = '/';
    ck_assert(!name_rule_learn(path, "/a/b", NAME_SHARED_HEAD, &rule));
    ck_assert(!name_rule_learn("a", "b", NAME_SHARED_HEAD, &rule));
    ck_assert(!name_rule_learn("", "", NAME_SHARED_HEAD, &rule));
}
END_TEST

Suite *suite_name_rule(void)
{
    Suite *suite = suite_create("name_rule");
    TCase *all = unit_case(suite, "name_rule");
    tcase_add_test(all, names_that_share_their_begin);
    tcase_add_test(all, names_that_share_their_end);
    tcase_add_test(all, paths_that_are_too_long);
    return suite;
}
