/* The verb: looks again and again on a terminal, or once. */
#include "cli/top/top.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/out/say.h"
#include "cli/out/screen.h"

#define TICK_NS STK_NS_PER_S
#define ONCE_NS (STK_NS_PER_S / 2) /* between two looks, for rates */

enum form { FORM_PAGE, FORM_JSON, FORM_PROMETHEUS };

static void draw(const struct top_look *now, const struct top_look *before)
{
    static struct top_page page;
    unsigned columns, rows;
    screen_size(&columns, &rows);
    top_page(&page, now, before, columns, rows);
    screen_draw(page.lines, page.count);
    top_page_free(&page);
}

/* Draws again and again. After a resize, draws the last look anew. */
static void watch(void)
{
    struct top_look *before = NULL, *now = top_look(NULL);
    enum screen_event event;
    do {
        draw(now, before);
        event = screen_wait(before == NULL ? ONCE_NS : TICK_NS);
        if (event == SCREEN_TIME) {
            struct top_look *next = top_look(now);
            top_forget(before);
            before = now;
            now = next;
        }
    } while (event != SCREEN_LEAVE);
    top_forget(before);
    top_forget(now);
}

static void print_page(const struct top_look *now, const struct top_look *before)
{
    static struct top_page page;
    top_page(&page, now, before, 0, 0);
    for (unsigned i = 0; i < page.count; i++) {
        puts(page.lines[i]);
    }
    top_page_free(&page);
}

/* Looks twice, for rates, if any run lives; else once. */
static void look_once(enum form form)
{
    const struct timespec pause = {0, ONCE_NS};
    struct top_look *before = top_look(NULL), *now = before;
    if (form != FORM_PROMETHEUS && before->living > 0) {
        nanosleep(&pause, NULL);
        now = top_look(before);
    }
    if (form == FORM_JSON) {
        top_write_json(now, before);
    } else if (form == FORM_PROMETHEUS) {
        top_write_prometheus(now);
    } else {
        print_page(now, before);
    }
    if (now != before) {
        top_forget(before);
    }
    top_forget(now);
}

int verb_top(char **arguments)
{
    enum form form = FORM_PAGE;
    bool once = false;
    for (; *arguments != NULL; arguments++) {
        if (strcmp(*arguments, "--once") == 0) {
            once = true;
        } else if (strcmp(*arguments, "--json") == 0) {
            form = FORM_JSON;
        } else if (strcmp(*arguments, "--prometheus") == 0) {
            form = FORM_PROMETHEUS;
        } else {
            die_of_option(*arguments, "");
        }
    }
    if (once || form != FORM_PAGE || !screen_begin()) {
        look_once(form);
        return 0;
    }
    watch();
    screen_end();
    return 0;
}
