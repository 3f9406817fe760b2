#include "cli/summary/bypass_text.h"

#include <inttypes.h>
#include <stdio.h>

const char *const bypassed_meanings[STK_BYPASS_KINDS] = {
    [STK_BYPASS_LARGE] = "above STOKER_MAX_FILE",
    [STK_BYPASS_EMPTY] = "of size 0",
    [STK_BYPASS_YOUNG] = "changed less than STOKER_MIN_AGE ago",
    [STK_BYPASS_WRITTEN] = "opened for writing or locked in this run, or LMDB without lock=False",
    [STK_BYPASS_CHANGED] = "changed while being read",
    [STK_BYPASS_BUDGET] = "beyond the tier's budget",
    [STK_BYPASS_MEMORY] = "memory was short",
    [STK_BYPASS_DATABASE] = "SQLite, and HDF5 open for writing",
    [STK_BYPASS_SPARSE] = "files with holes",
    [STK_BYPASS_ORIGIN] = "in memory already, on a tmpfs",
    [STK_BYPASS_NAME] = "a name above 242 bytes, or a path near the kernel's limit",
    [STK_BYPASS_FLAGS] = "opened with flags that want the original itself",
    [STK_BYPASS_TIER] = "the tier was full or failed",
    [STK_BYPASS_DESCRIPTORS] = "the process had no descriptor left to fill with",
    [STK_BYPASS_CATALOGUE] =
        "no room in the index of the cache, a limit of the process on it, or it was removed",
    [STK_BYPASS_STUCK] = "another process was stuck filling it",
    [STK_BYPASS_REMOVED] = "removed or replaced while being read",
    [STK_BYPASS_LIMIT] =
        "the process had no memory left to fill with, or may write no file of this size",
    [STK_BYPASS_LEFT] = "to the kernel's page cache, as STOKER_FILES=off or --auto say",
};

const char *const bypassed_settings[STK_BYPASS_KINDS] = {
    [STK_BYPASS_LARGE] = "STOKER_BLOCK above 0, or a larger STOKER_MAX_FILE",
    [STK_BYPASS_YOUNG] = "a smaller STOKER_MIN_AGE, if nobody writes them",
    [STK_BYPASS_BUDGET] = "--tier DIR:SIZE",
    [STK_BYPASS_MEMORY] = "--tier on a disk",
    [STK_BYPASS_TIER] = "--tier DIR:SIZE",
    [STK_BYPASS_DESCRIPTORS] = "a higher limit: ulimit -n",
    [STK_BYPASS_CATALOGUE] =
        "more room in /dev/shm, a larger --tier DIR:SIZE, or higher limits: ulimit -v, ulimit -f",
    [STK_BYPASS_LIMIT] = "higher limits: ulimit -v, ulimit -f",
};

const char *bypassed_key(enum stk_bypass why)
{
    /* where the older key would not say it */
    static const char *const keys[STK_BYPASS_KINDS] = {
        [STK_BYPASS_YOUNG] = "changed_recently",
        [STK_BYPASS_CATALOGUE] = "index",
        [STK_BYPASS_LEFT] = "page_cache",
    };
    return keys[why] != NULL ? keys[why] : stk_bypass_name(why);
}

const char *bypassed_word(int why)
{
    static const char *const words[STK_BYPASS_KINDS] = {
        [STK_BYPASS_YOUNG] = "changed recently",
        [STK_BYPASS_ORIGIN] = "in memory",
        [STK_BYPASS_NAME] = "named too long",
        [STK_BYPASS_LEFT] = "left",
    };
    return words[why] != NULL ? words[why] : bypassed_key((enum stk_bypass)why);
}

void bypassed_print(const uint64_t bypassed[STK_BYPASS_KINDS])
{
    for (int why = 1; why < STK_BYPASS_KINDS; why++) {
        if (bypassed[why] > 0) {
            fprintf(stderr, "  not cached: %" PRIu64 " %s (%s)\n", bypassed[why],
                    bypassed_word(why), bypassed_meanings[why]);
        }
    }
}

uint64_t bypassed_count(const struct stk_run_counts *counts, int why)
{
    bool by_blocks = why == STK_BYPASS_LARGE && counts->bypassed_bytes[why] == 0;
    return by_blocks ? 0 : counts->bypassed[why];
}

const char *bypassed_size(char out[BYPASSED_SIZE_TEXT], const struct stk_run_counts *counts,
                          int why)
{
    char size[STK_SIZE_TEXT];
    snprintf(out, BYPASSED_SIZE_TEXT, "%s%s", counts->unnumbered > 0 ? "at most " : "",
             size_text(size, counts->bypassed_bytes[why]));
    return out;
}
