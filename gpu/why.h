/* An error, with a sentence for the caller. */
#pragma once

#define STK_GPU_WHY_BYTES 512

enum stk_gpu_error {
    STK_GPU_OK = 0,
    STK_GPU_NONE = -1,     /* no device, no driver, or too old a driver; nothing was begun */
    STK_GPU_MEMORY = -2,   /* no memory of the device, or no more of this machine's may be locked */
    STK_GPU_ARGUMENT = -3, /* the request makes no sense */
    STK_GPU_FORKED = -4,   /* this process is a child of the one that began */
    STK_GPU_FAILED = -5,   /* a call of the driver failed; the device can only be closed */
};

struct stk_gpu_why {
    enum stk_gpu_error error;
    int result; /* the driver's, or 0 */
    char text[STK_GPU_WHY_BYTES];
};

/* Writes the error and its sentence, and returns the error. */
__attribute__((format(printf, 3, 4))) int
stk_gpu_why_say(struct stk_gpu_why *why, enum stk_gpu_error error, const char *format, ...);
