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
#include "wrappers/python/core/identity.h"
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

/* As stk_decode_form(), of a form that was found; its file has so many bytes. */
int kept_decode_form(struct stk_decoder *decoder, const struct stk_store_value *form,
                     uint64_t file_bytes, const struct stk_plan *plan,
                     const struct stk_target *target);

/* What is known of a file that was not read. */
struct kept_found {
    struct identity identity;
    struct stk_store_value form; /* of KEPT_FORM, and what it says of its file */
    struct stk_form_source source;
};

enum kept_kind { KEPT_UNKNOWN, KEPT_NO_FORM, KEPT_FORM };

/* Whether the file that is open has a form. If not, nobody was asked, where its identity can be
 * guessed: it is to be compared with that behind the reading. */
enum kept_kind kept_find(int fd, struct kept_found *out);
/* The same by the path of a covered file that has no entry, without opening it. Only a form is
 * something to know. */
bool kept_find_path(const char *path, struct kept_found *out);

/* Whether it would be of any use to know which file these bytes are of: a form of them is there, or
 * would be kept, though the file has no entry. */
bool kept_wants_link(const void *bytes, size_t size);

/*
 * Whether the form that the store has of these bytes is the one that they make now: 1 it is, 0 it
 * is not, -1 there is none, or a STK_DECODE_MEMORY. Their key is written in any case.
 */
int kept_check(struct stk_decoder *decoder, const void *bytes, size_t size,
               struct stk_hash128 *key);

#endif
