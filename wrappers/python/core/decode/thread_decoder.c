/* One decoder for each thread. */
#include <pthread.h>

#include "wrappers/python/core/decode/thread_decoder.h"

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int ready;

static void drop(void *decoder)
{
    stk_decoder_free(decoder);
}

static void prepare(void)
{
    ready = pthread_key_create(&key, drop) == 0;
}

struct stk_decoder *thread_decoder(void)
{
    pthread_once(&once, prepare);
    if (!ready) {
        return NULL;
    }
    struct stk_decoder *decoder = pthread_getspecific(key);
    if (decoder == NULL) {
        decoder = stk_decoder_new();
        if (decoder != NULL && pthread_setspecific(key, decoder) != 0) {
            stk_decoder_free(decoder);
            return NULL;
        }
    }
    return decoder;
}
