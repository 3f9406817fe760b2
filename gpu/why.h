/* Why something could not be done, in a sentence for whoever called. */
#ifndef STK_GPU_WHY_H
#define STK_GPU_WHY_H

#define STK_GPU_WHY_BYTES 512

enum stk_gpu_error {
    STK_GPU_OK = 0,
    STK_GPU_NONE = -1,     /* no device, no driver, or one that is too old; nothing was begun */
    STK_GPU_MEMORY = -2,   /* of the device, or what may be locked of this machine's */
    STK_GPU_ARGUMENT = -3, /* what is wanted makes no sense */
    STK_GPU_FORKED = -4,   /* this is a child of the process that began */
    STK_GPU_FAILED = -5,   /* a call of the driver's failed; what was begun is of no more use */
};

struct stk_gpu_why {
    enum stk_gpu_error error;
    int result; /* the driver's, or 0 */
    char text[STK_GPU_WHY_BYTES];
};

/* Notes it, and returns the error. */
__attribute__((format(printf, 3, 4))) int
stk_gpu_why_say(struct stk_gpu_why *why, enum stk_gpu_error error, const char *format, ...);

#endif
