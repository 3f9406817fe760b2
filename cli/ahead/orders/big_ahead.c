#include "cli/ahead/orders/big_ahead.h"

#include "cli/fill/big_files.h"
#include "cli/fill/big_team.h"
#include "cli/fill/job_cache.h"

static struct stk_run counted; /* the job's */

void big_ahead_begin(const struct stk_cache *cache)
{
    counted = cache->run;
    big_files_begin(job_cache_without_run(), NULL);
}

static void count_end(const struct big_end *end)
{
    if (end->filled > 0) {
        stk_run_count(&counted, STK_RUN_COUNTER(ahead) + STK_AHEAD_FILES,
                      end->why == STK_BYPASS_NONE);
        stk_run_count(&counted, STK_RUN_COUNTER(ahead) + STK_AHEAD_BYTES, end->filled);
    }
}

enum stk_bypass big_ahead_add(const struct stk_place *place, uint32_t record, int fd,
                              int64_t opened_ns)
{
    struct big_end end = {.why = STK_BYPASS_NONE};
    const struct big_file file = {.rank = BIG_AHEAD, .ended = count_end};
    enum big_taken taken = big_files_add(place, record, fd, opened_ns, &file, &end);
    big_team_start(BIG_TEAM_MOST);
    return taken == BIG_REFUSED ? end.why : taken == BIG_LATER ? STK_BYPASS_STUCK : STK_BYPASS_NONE;
}
