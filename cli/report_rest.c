/* What was left out, and images. See cli/report_page.h. */
#include <inttypes.h>

#include "cli/bypassed.h"
#include "cli/report_page.h"
#include "cli/say.h"

/* ---- what was not cached ---- */

static void put_bypassed(FILE *out, const struct stk_run_counts *counts, int why)
{
    char size[BYPASSED_SIZE_TEXT];
    const char *setting = bypassed_settings[why];
    fprintf(out, "<tr data-why=\"%s\"><td class=\"words\">", stk_bypass_name((enum stk_bypass)why));
    page_text(out, bypassed_meanings[why]);
    fprintf(out, "</td><td>%" PRIu64 "</td><td>%s</td><td class=\"words\">",
            bypassed_count(counts, why), bypassed_size(size, counts, why));
    page_text(out, setting != NULL ? setting : "Nothing: it is right so");
    fputs("</td></tr>\n", out);
}

void report_bypassed(FILE *out, const struct recorded *run)
{
    const struct stk_run_counts *counts = run->figures->counts;
    uint64_t all = 0;
    for (int why = 1; why < STK_BYPASS_KINDS; why++) {
        all += bypassed_count(counts, why);
    }
    page_begin(out, "bypassed", "What was left to the origin, and why",
               all > 0 ? "Opens that the cache did not serve and did not learn from. Such files "
                         "are read from the origin each time; that is slower, and never wrong."
                       : "Nothing was: each file that was opened could be cached.");
    if (all > 0) {
        fputs("<div class=\"wrap\"><table><tr><th scope=\"col\">Why</th><th "
              "scope=\"col\">Opens</th><th scope=\"col\">Files of</th><th scope=\"col\" "
              "class=\"words\">What would change it</th></tr>\n",
              out);
        for (int why = 1; why < STK_BYPASS_KINDS; why++) {
            if (bypassed_count(counts, why) > 0) {
                put_bypassed(out, counts, why);
            }
        }
        fputs("</table></div>\n", out);
    }
    page_end(out);
}

/* ---- images and batches ---- */

static void put_count(FILE *out, const char *what, uint64_t count, const char *note)
{
    if (count > 0) {
        fprintf(out, "<tr><td>%s</td><td>%" PRIu64 "</td><td class=\"words\">", what, count);
        page_text(out, note);
        fputs("</td></tr>\n", out);
    }
}

/* What was left to others, each reason in its words. */
static void put_reasons(FILE *out, const struct session *session, const char *what, int first,
                        int end)
{
    for (int slot = first; slot < end; slot++) {
        put_count(out, what, figures_tallied(session, (enum stk_tally_slot)slot),
                  stk_tally_meaning((enum stk_tally_slot)slot));
    }
}

static void put_images(FILE *out, const struct session *session)
{
    put_count(out, "Images decoded", figures_tallied(session, STK_TALLY_IMAGES),
              "by Stoker, with exactly Pillow's pixels");
    put_count(out, "... of these from samples", figures_tallied(session, STK_TALLY_FROM_FORMS),
              "from a half-decoded form that was kept of the same image, which is quicker");
    put_count(out, "Samples kept", figures_tallied(session, STK_TALLY_FORMS), "in this run");
    put_reasons(out, session, "Images left to Pillow", STK_TALLY_IMAGES + 1, STK_TALLY_REASONS);
    put_count(out, "Images resized", figures_tallied(session, STK_TALLY_RESIZED),
              "by Stoker, of those that Pillow had decoded");
    put_count(out, "Results of stoker.cached found",
              figures_tallied(session, STK_TALLY_RESULTS_FOUND), "so the function was not called");
    put_count(out, "... made", figures_tallied(session, STK_TALLY_RESULTS_MADE),
              "by the function, since none was found");
    put_count(out, "... of these kept", figures_tallied(session, STK_TALLY_RESULTS_KEPT),
              "for the next call with the same arguments");
    put_count(out, "Batches without a copy", figures_tallied(session, STK_TALLY_BATCHES),
              "which workers made in memory that the job reads, too");
    put_reasons(out, session, "Tensors left to torch", STK_TALLY_BATCH_REASONS,
                STK_TALLY_BATCH_REASONS_END);
}

void report_images(FILE *out, const struct recorded *run)
{
    const struct session *session = run->figures->session;
    if (figures_tallied(session, STK_TALLY_IMAGES) + figures_left_to_pillow(session) +
            figures_tallied(session, STK_TALLY_RESULTS_FOUND) +
            figures_tallied(session, STK_TALLY_RESULTS_MADE) +
            figures_tallied(session, STK_TALLY_BATCHES) + figures_left_to_torch(session) ==
        0) {
        return;
    }
    page_begin(out, "images", "Images, batches and results",
               "What Stoker did beyond serving files: decoding JPEGs in Python, handing batches "
               "from workers to the job, keeping what functions returned.");
    fputs("<div class=\"wrap\"><table><tr><th scope=\"col\">What</th><th scope=\"col\">How "
          "many</th><th scope=\"col\" class=\"words\">In words</th></tr>\n",
          out);
    put_images(out, session);
    fputs("</table></div>\n", out);
    page_end(out);
}
