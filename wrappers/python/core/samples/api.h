/*
 * The store's functions, which stoker._samples_core gives to stoker._core in a capsule. So a
 * look-up, a decode and a put are one call without Python in between. The two are separate
 * libraries, since only stoker._samples_core needs liblmdb.
 */
#pragma once

#include "store/store.h"

#define STK_SAMPLES_API   "stoker._samples_core.api"   /* the capsule of a struct stk_samples_api */
#define STK_SAMPLES_STORE "stoker._samples_core.store" /* the capsule of a struct stk_store */

/* The struct's version. A library of another version is not used. */
#define STK_SAMPLES_API_VERSION 3

/* store/store.h and store/content_hash.h describe the functions. */
struct stk_samples_api {
    unsigned version;
    struct stk_hash128 (*key)(const void *, size_t, uint64_t);
    bool (*get)(struct stk_store *, struct stk_hash128, struct stk_store_value *);
    bool (*put)(struct stk_store *, struct stk_hash128, const void *, size_t);
    bool (*link)(struct stk_store *, struct stk_hash128, struct stk_hash128);
    bool (*follow)(struct stk_store *, struct stk_hash128, struct stk_hash128 *);
    bool (*admits)(struct stk_store *, size_t);
};
