#include "cli/out/older_names.h"

#include <stddef.h>
#include <string.h>

/* The page of a report (cli/report/page.html) reads the older names: records of an earlier version
 * have no others. */
static const struct {
    const char *name, *older;
} names[] = {
    /* JSON */
    {"bytes_storage", "bytes_origin"},
    {"storage_wait_s", "origin_wait_s"},
    {"storage_waits", "origin_waits"},
    {"waiting_for_storage", "waiting_for_origin"},
    {"loader_s", "window_s"},
    {"decoded_copies", "samples"},
    {"decoded_copies_bytes", "samples_bytes"},
    {"cached_files", "entries"},
    {"left_to_pillow", "settled"},
    {"left_to_torch", "left"},
    {"unfinished", "left"},
    {"unpublished", "left"},
    {"open_elsewhere", "elsewhere"},
    {"warm", "ahead"},
    /* Prometheus */
    {"storage_bytes_total", "origin_bytes_total"},
    {"block_storage_bytes_total", "block_origin_bytes_total"},
    {"storage_wait_seconds", "origin_wait_seconds"},
    {"decoded_copies_kept_total", "samples_kept_total"},
    {"images_from_decoded_copies_total", "images_from_samples_total"},
    {"tier_decoded_copies_bytes", "tier_samples_bytes"},
};

const char *older_name(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i].name, name) == 0) {
            return names[i].older;
        }
    }
    return NULL;
}
