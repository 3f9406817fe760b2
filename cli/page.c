/* What pages are made of. See cli/page.h. */
#include "cli/page.h"

#include <stdbool.h>

#include "base/text.h"

static const char *entity_of(char letter)
{
    switch (letter) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* What is no text is shown as the sign for that. */
void page_text(FILE *out, const char *text)
{
    while (*text != '\0') {
        int length = stk_text_sequence(text);
        bool blank = *text == '\n' || *text == '\t';
        bool odd = length == 0 || ((unsigned char)*text < 0x20 && !blank) || *text == 0x7f;
        const char *entity = entity_of(*text);
        if (odd) {
            fputs("&#xFFFD;", out);
            length = 1;
        } else if (entity != NULL) {
            fputs(entity, out);
        } else {
            fwrite(text, 1, (size_t)length, out);
        }
        text += length;
    }
}

void page_begin(FILE *out, const char *id, const char *heading, const char *about)
{
    fprintf(out, "<section id=\"%s\"><h2>%s</h2><p class=\"about\">%s</p>\n", id, heading, about);
}

void page_end(FILE *out)
{
    fputs("</section>\n", out);
}

void page_begin_table(FILE *out, const char *heads)
{
    fputs("<details><summary>The same figures as a table</summary><div class=\"wrap\"><table>"
          "<tr><th scope=\"col\">",
          out);
    for (; *heads != '\0'; heads++) {
        if (*heads == '|') {
            fputs("</th><th scope=\"col\">", out);
        } else {
            fputc(*heads, out);
        }
    }
    fputs("</th></tr>\n", out);
}

void page_end_table(FILE *out)
{
    fputs("</table></div></details>\n", out);
}

static void put_parts(FILE *out, const struct page_bar *bar, double whole)
{
    double x = 0;
    for (unsigned i = 0; i < bar->count; i++) {
        double width = whole > 0 ? 1000 * bar->parts[i].value / whole : 0;
        fprintf(out,
                "<rect class=\"block %s\" data-value=\"%.6f\" x=\"%.2f\" width=\"%.2f\" "
                "height=\"10\"/>",
                bar->parts[i].class, bar->parts[i].value, x, width);
        x += width;
    }
}

void page_bar(FILE *out, const struct page_bar *bar, double whole)
{
    fprintf(out, "<div class=\"bar %s\"><span>%s%s</span>",
            bar->count == 1 ? bar->parts[0].class : "", bar->count == 1 ? "<i></i>" : "",
            bar->name);
    fprintf(out,
            "<svg viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" role=\"img\"><title>%s: "
            "%s</title>",
            bar->name, bar->text);
    put_parts(out, bar, whole);
    fprintf(out, "</svg><span class=\"value\">%s</span>", bar->text);
    if (bar->note != NULL) {
        fprintf(out, "<span class=\"note\">%s</span>", bar->note);
    }
    fputs("</div>\n", out);
}

static double round_step(double value, double unit, unsigned most)
{
    static const double steps[] = {1, 2, 5};
    double power = unit;
    while (power * most >= value && power > unit / 1e6) {
        power /= 10;
    }
    for (;; power *= 10) {
        for (unsigned i = 0; i < 3; i++) {
            if (power * steps[i] * most >= value) {
                return power * steps[i];
            }
        }
    }
}

struct page_axis page_axis(double value, double unit, unsigned most)
{
    struct page_axis axis = {.step = round_step(value, unit, most), .steps = 1};
    while (axis.step * axis.steps < value) {
        axis.steps++;
    }
    axis.top = axis.step * axis.steps;
    return axis;
}

void page_grid(FILE *out, const struct page_axis *axis)
{
    for (unsigned i = 0; i <= axis->steps; i++) {
        fprintf(out, "<path class=\"grid\" d=\"M0 %.2fH1000\"/>",
                PAGE_HEIGHT * (1 - (double)i / axis->steps));
    }
}

const char *page_seconds(char out[PAGE_TEXT], double seconds)
{
    static const struct {
        double from, seconds;
        const char *unit;
    } units[] = {{172800, 86400, "d"}, {7200, 3600, "h"}, {120, 60, "min"}, {0, 1, "s"}};
    unsigned i = 0;
    while (seconds < units[i].from) {
        i++;
    }
    double value = seconds / units[i].seconds;
    snprintf(out, PAGE_TEXT, value < 100 && value != (double)(int)value ? "%.1f %s" : "%.0f %s",
             value, units[i].unit);
    return out;
}
