/*
 * Decoding with the sample store. A file that was decoded before is decoded from its stored form.
 * Without a store, or if the store is full, broken or gone, its bytes are decoded as ever.
 *
 * Safe in threads and after fork, as the store is. No function needs the GIL.
 */
#pragma once

#include <stdbool.h>

#include "decode/decode.h"
#include "wrappers/python/core/decode/file_identity.h"
#include "wrappers/python/core/samples/api.h"

/* Sets the store of this process. A later call changes nothing. */
void stored_attach(const struct stk_samples_api *api, struct stk_store *store);
bool stored_is_attached(void);

/* The file whose bytes these are all, as far as it is known. */
struct stored_file {
    const struct stk_hash128 *link; /* the file's identity (file_identity.h), or NULL */
    const char *entry; /* the path of the entry that the bytes were read from, or NULL */
};

/*
 * Decodes as stk_decode() does. Looks for the form by the bytes' key; if it is absent and may be
 * stored now, stores it. From then on the file's link leads to the form, and the preload learns
 * that the entry may be dropped.
 */
int stored_decode(struct stk_decoder *decoder, const void *bytes, size_t size,
                  const struct stored_file *file, const struct stk_plan *plan,
                  const struct stk_target *target);

/* Decodes a form, as stk_decode_form() does. Its file has so many bytes; 0: the form was made just
 * now, so nothing was spared, and nothing is counted. */
int stored_decode_form(struct stk_decoder *decoder, const struct stk_store_value *form,
                       uint64_t file_bytes, const struct stk_plan *plan,
                       const struct stk_target *target);

/*
 * Finds the form of these bytes in the store, or makes it and stores it as stored_decode() does. A
 * form is a proof that all of the file can be decoded. It is valid until the decoder's next call;
 * of no bytes, if none can be made. `found`: the form was in the store.
 */
int stored_make(struct stk_decoder *decoder, const void *bytes, size_t size,
                const struct stored_file *file, struct stk_form *out, bool *found);

/* A file that was looked up, but not read. */
struct stored_found {
    struct identity identity;
    struct stk_store_value form; /* only for STORED_FORM; `source` describes its file */
    struct stk_form_source source;
};

enum stored_kind { STORED_UNKNOWN, STORED_NO_FORM, STORED_FORM };

/* Finds the form of an open file. If there is none and the identity could be guessed, no server was
 * asked: compare it with the identity after reading. */
enum stored_kind stored_find(int fd, struct stored_found *out);
/* Finds the form of a covered file without an entry by its path, without opening it. Returns false
 * if there is none. */
bool stored_find_path(const char *path, struct stored_found *out);

/* Finds the form of these bytes. Returns false if there is none. */
bool stored_find_form(const void *bytes, size_t size, struct stk_store_value *form);

/* Returns true if the identity of these bytes' file would be of use: a form of them is there, or
 * would be stored although the file has no entry. */
bool stored_wants_link(const void *bytes, size_t size);

/*
 * Compares the stored form of these bytes with the form that they make now. Returns 1 if they are
 * equal, 0 if not, -1 if none is stored, or STK_DECODE_MEMORY. The bytes' key is written in any
 * case.
 */
int stored_check(struct stk_decoder *decoder, const void *bytes, size_t size,
                 struct stk_hash128 *key);
