/*
 * Decoding with the sample store: what was decoded once begins at its form. Without a store, or
 * with one that is full, broken or gone, it is decoding as ever.
 *
 * Safe in threads and after fork, as the store is. None of this needs the GIL.
 */
#ifndef STK_PYTHON_KEPT_H
#define STK_PYTHON_KEPT_H

#include <stdbool.h>

#include "decode/decode.h"
#include "wrappers/python/core/samples/api.h"

/* The store of this process, from now on; the first one stays. */
void kept_attach(const struct stk_samples_api *api, struct stk_store *store);
bool kept_is_attached(void);

/* What bytes are all of, as far as it is known. */
struct kept_file {
    const struct stk_hash128 *link; /* its identity (identity.h), or NULL */
    const char *entry;              /* the path of the entry that they were read from, or NULL */
};

/*
 * As stk_decode(). The bytes' key is looked for, and what is not there is put there if it is time
 * to. The file's link leads to them from now on, and its entry is told of.
 */
int kept_decode(struct stk_decoder *decoder, const void *bytes, size_t size,
                const struct kept_file *file, const struct stk_plan *plan,
                const struct stk_target *target);

/* As stk_decode_form(), of a form that kept_follow() found; its file has so many bytes. */
int kept_decode_form(struct stk_decoder *decoder, const struct stk_store_value *form,
                     uint64_t file_bytes, const struct stk_plan *plan,
                     const struct stk_target *target);

/* The form that a file's identity leads to, and what it says of its file. */
bool kept_follow(struct stk_hash128 link, struct stk_store_value *form,
                 struct stk_form_source *source);

/*
 * Whether the form that the store has of these bytes is the one that they make now: 1 it is, 0 it
 * is not, -1 there is none, or a STK_DECODE_MEMORY. Their key is written in any case.
 */
int kept_check(struct stk_decoder *decoder, const void *bytes, size_t size,
               struct stk_hash128 *key);

#endif
