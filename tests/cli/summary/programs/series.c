/* Runs a series (cli/report/series.h) through so many seconds, five looks in each, in which a file
 * is opened at each look, and prints it. */
#include <stdlib.h>

#include "base/clock.h"
#include "cli/report/series.h"

int main(int count, char **arguments)
{
    static struct series series;
    static struct stk_run_counts counts;
    long looks = count > 1 ? 5 * atol(arguments[1]) : 0;
    int64_t at_ns = 0;
    for (long look = 1; look <= looks; look++) {
        at_ns = look * STK_NS_PER_S / 5;
        counts.epochs[0][STK_COUNT_OPENS]++;
        series_look(&series, &counts, NULL, at_ns);
    }
    series_end(&series, &counts, NULL, at_ns + 1);
    struct json json = json_begin(stdout);
    series_write_json(&json, &series);
    json_finish(&json);
    return 0;
}
