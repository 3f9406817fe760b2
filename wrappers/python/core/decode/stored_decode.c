#include "wrappers/python/core/decode/stored_decode.h"

#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "wrappers/python/core/common/counts.h"

/* A form is a little larger than its file: see docs/coefficient-form.md. */
#define LIKELY_BYTES(file) ((file) + (file) / 8)
/* So many forms' room is left for those whose entries make room in their turn. */
#define LEFT_FOR_ENTRIES 2

static const struct stk_samples_api *api;
static struct stk_store *store;
static atomic_bool attached;

void stored_attach(const struct stk_samples_api *functions, struct stk_store *opened)
{
    if (!atomic_load(&attached)) { /* under the GIL */
        api = functions;
        store = opened;
        atomic_store(&attached, true);
    }
}

bool stored_is_attached(void)
{
    return atomic_load_explicit(&attached, memory_order_acquire);
}

/* ---- the two ways to decode ---- */

int stored_decode_form(struct stk_decoder *decoder, const struct stk_store_value *form,
                       uint64_t file_bytes, const struct stk_plan *plan,
                       const struct stk_target *target)
{
    int64_t start = stk_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    int status = stk_decode_form(decoder, form->data, form->bytes, plan, target);
    if (status == STK_DECODE_OK && file_bytes > 0) {
        count_more(STK_TALLY_FORM_NS,
                   (uint64_t)(stk_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start));
        count_more(STK_TALLY_FORM_JPEG_BYTES, file_bytes);
        count_more(STK_TALLY_FROM_FORMS, 1);
    }
    return status;
}

/* From the bytes; with a form to keep, if one is wanted. */
static int decode_bytes(struct stk_decoder *decoder, const void *bytes, size_t size,
                        const struct stk_plan *plan, const struct stk_target *target,
                        struct stk_form *form)
{
    int64_t start = stk_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    int status = form != NULL ? stk_decode_keep(decoder, bytes, size, plan, target, form)
                              : stk_decode(decoder, bytes, size, plan, target);
    if (status == STK_DECODE_OK) {
        count_more(STK_TALLY_JPEG_NS,
                   (uint64_t)(stk_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start));
        count_more(STK_TALLY_JPEG_BYTES, size);
    }
    return status;
}

/* ---- what is kept ---- */

/* Returns true if there is room for the form of such a file. A file with an entry may use the last
 * room too, since dropping its entry frees as much. */
static bool has_room(size_t size, bool has_entry)
{
    size_t left = has_entry ? 0 : LEFT_FOR_ENTRIES * LIKELY_BYTES(size);
    return api->admits(store, LIKELY_BYTES(size) + left);
}

bool stored_find_form(const void *bytes, size_t size, struct stk_store_value *form)
{
    return stored_is_attached() && api->get(store, api->key(bytes, size, STK_FORM_VERSION), form);
}

bool stored_wants_link(const void *bytes, size_t size)
{
    struct stk_store_value value;
    return stored_is_attached() && (has_room(size, false) || stored_find_form(bytes, size, &value));
}

static void note_kept(const struct stored_file *file, struct stk_hash128 key)
{
    struct stk_store_value written;
    if (file->link != NULL) {
        api->link(store, *file->link, key);
    }
    /* A pending form may still be refused, so look whether it is written. */
    if (file->entry != NULL && api->get(store, key, &written)) {
        identity_tell_kept(file->entry);
    }
}

static void keep(const struct stored_file *file, struct stk_hash128 key,
                 const struct stk_form *form)
{
    if (form->bytes > 0 && api->put(store, key, form->data, form->bytes)) {
        count_more(STK_TALLY_FORMS, 1);
        count_more(STK_TALLY_FORM_BYTES, form->bytes);
        note_kept(file, key);
    }
}

int stored_decode(struct stk_decoder *decoder, const void *bytes, size_t size,
                  const struct stored_file *file, const struct stk_plan *plan,
                  const struct stk_target *target)
{
    if (!stored_is_attached()) {
        return decode_bytes(decoder, bytes, size, plan, target, NULL);
    }
    struct stk_hash128 key = api->key(bytes, size, STK_FORM_VERSION);
    struct stk_store_value value;
    bool found = api->get(store, key, &value);
    if (found && stored_decode_form(decoder, &value, size, plan, target) == STK_DECODE_OK) {
        note_kept(file, key);
        return STK_DECODE_OK;
    }
    struct stk_form form = {0};
    bool wanted = !found && has_room(size, file->entry != NULL);
    int status = decode_bytes(decoder, bytes, size, plan, target, wanted ? &form : NULL);
    if (status == STK_DECODE_OK) {
        keep(file, key, &form);
    }
    return status;
}

/* One corner is decoded: the form is that of all of it. */
static int make_form(struct stk_decoder *decoder, const void *bytes, size_t size,
                     struct stk_form *form)
{
    unsigned char corner[4];
    struct stk_plan plan = {.crop = {0, 0, 1, 1},
                            .width = 1,
                            .height = 1,
                            .box = {0, 0, 1, 1},
                            .channels = 3,
                            .layout = STK_LAYOUT_HWC};
    struct stk_target target = {.data = corner, .row_bytes = 3, .bytes = sizeof corner};
    struct stk_frame frame;
    if (stk_decode_frame(bytes, size, &frame) && frame.components == 1) {
        plan.channels = 1;
        target.row_bytes = 1;
    }
    return stk_decode_keep(decoder, bytes, size, &plan, &target, form);
}

int stored_make(struct stk_decoder *decoder, const void *bytes, size_t size,
                const struct stored_file *file, struct stk_form *out, bool *found)
{
    struct stk_store_value value;
    *found = false;
    if (!stored_is_attached()) {
        return make_form(decoder, bytes, size, out);
    }
    struct stk_hash128 key = api->key(bytes, size, STK_FORM_VERSION);
    *found = api->get(store, key, &value);
    if (*found) {
        note_kept(file, key);
        *out = (struct stk_form){value.data, value.bytes};
        return STK_DECODE_OK;
    }
    int status = make_form(decoder, bytes, size, out);
    if (status == STK_DECODE_OK && has_room(size, file->entry != NULL)) {
        keep(file, key, out);
    }
    return status;
}

int stored_check(struct stk_decoder *decoder, const void *bytes, size_t size,
                 struct stk_hash128 *key)
{
    struct stk_store_value value;
    struct stk_form form = {0};
    if (!stored_is_attached()) {
        return -1;
    }
    *key = api->key(bytes, size, STK_FORM_VERSION);
    if (!api->get(store, *key, &value)) {
        return -1;
    }
    int status = make_form(decoder, bytes, size, &form);
    if (status == STK_DECODE_MEMORY) {
        return status;
    }
    return status == STK_DECODE_OK && form.bytes == value.bytes &&
           memcmp(form.data, value.data, form.bytes) == 0;
}

/* ---- files that are not read ---- */

/* The form that a file's identity leads to, and what it says of its file. */
static bool has_form(struct stored_found *found)
{
    struct stk_hash128 key;
    struct stk_store_value *form = &found->form;
    return api->follow(store, found->identity.link, &key) && api->get(store, key, form) &&
           stk_decode_examine_form(form->data, form->bytes, &found->source) == STK_DECODE_OK;
}

/* Only if a form is found must the file's identity be sure. */
enum stored_kind stored_find(int fd, struct stored_found *out)
{
    bool known = stored_is_attached() && identity_of(fd, STK_IDENTITY_GUESS, &out->identity);
    bool found = known && has_form(out);
    if (found && !out->identity.is_sure) {
        known = identity_of(fd, STK_IDENTITY_RUN, &out->identity);
        found = known && has_form(out);
    }
    return found ? STORED_FORM : known ? STORED_NO_FORM : STORED_UNKNOWN;
}

bool stored_find_path(const char *path, struct stored_found *out)
{
    bool found = stored_is_attached() &&
                 identity_of_path(path, STK_IDENTITY_GUESS, &out->identity) && has_form(out);
    return found && (out->identity.is_sure ||
                     (identity_of_path(path, STK_IDENTITY_RUN, &out->identity) && has_form(out)));
}
