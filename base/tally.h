/*
 * Counters of the images that a run's Python processes decode: a small file beside the run's own,
 * made and read by the command, and mapped by the wrappers, which know nothing of the cache. By it
 * the command also tells them how large the sample store may grow.
 *
 * Counting is one atomic addition in shared memory: safe in threads, after fork and in signal
 * handlers. A tally that cannot be mapped is not counted in, and nothing else happens.
 */
#ifndef STK_BASE_TALLY_H
#define STK_BASE_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is counted: images decoded by us; then those left to Pillow, by reason; then the rest. */
enum stk_tally_slot {
    STK_TALLY_IMAGES,
    STK_TALLY_MODE,       /* grey, CMYK: not three colours */
    STK_TALLY_SCANS,      /* progressive, or several scans */
    STK_TALLY_DRAFT,      /* a smaller version was asked for */
    STK_TALLY_LENIENT,    /* damaged or cut short, and LOAD_TRUNCATED_IMAGES is on */
    STK_TALLY_STREAM,     /* what it is read from is no plain file */
    STK_TALLY_DAMAGED,    /* damaged or cut short */
    STK_TALLY_UNPROVEN,   /* this Pillow's pixels are not known to be the same */
    STK_TALLY_CUSTOMISED, /* the program changed how the image is loaded */
    STK_TALLY_RESIZED,    /* no reason: ordinary images, not JPEGs that wait, resized by us */
    /* The sample store. What decoding took: of JPEGs, and of their forms; and how large the JPEGs
     * were, of which the forms were made: so it can be told what the forms have saved. Time is that
     * of a core. */
    STK_TALLY_FORMS,           /* made and kept */
    STK_TALLY_FORM_BYTES,      /* of these */
    STK_TALLY_FROM_FORMS,      /* images decoded from a form */
    STK_TALLY_UNREAD,          /* of these, images whose file was not read at all */
    STK_TALLY_UNREAD_BYTES,    /* of these files */
    STK_TALLY_JPEG_NS,         /* of decoding JPEGs that could have a form */
    STK_TALLY_JPEG_BYTES,      /* of these */
    STK_TALLY_FORM_NS,         /* of decoding forms */
    STK_TALLY_FORM_JPEG_BYTES, /* of the JPEGs they stand for */
    /* Batches of torch's DataLoader, counted where they are sent; then tensors left to torch, by
     * reason. */
    STK_TALLY_BATCHES,      /* of which anything went through a slot */
    STK_TALLY_ROWS,         /* samples that were made in their batch's slot, and stayed there */
    STK_TALLY_COPIED,       /* large tensors that were put into a slot when they were sent */
    STK_TALLY_BATCH_KIND,   /* not just values in ordinary memory */
    STK_TALLY_BATCH_SHARED, /* in shared memory already */
    STK_TALLY_BATCH_PART,   /* a small part of something larger */
    STK_TALLY_BATCH_ROOM,   /* there was no slot */
    /* Where time went: of each process, to be added up. */
    STK_TALLY_RESIZED_NS, /* of a core, for STK_TALLY_RESIZED */
    STK_TALLY_FETCH_NS,   /* in which workers made batches, whatever it took */
    STK_TALLY_COLLATE_NS, /* of that, in which samples were laid side by side */
    STK_TALLY_OPENCV,     /* processes that made batches, and have OpenCV */
    /* What calls of functions under stoker.cached gave. */
    STK_TALLY_RESULTS_FOUND, /* in the store */
    STK_TALLY_RESULTS_MADE,  /* by the function */
    STK_TALLY_RESULTS_KEPT,  /* of these */
    /* What stoker.Loader sent to GPUs, and what that held up: of each process, to be added up. */
    STK_TALLY_UPLOADS,               /* batches */
    STK_TALLY_UPLOAD_BYTES,          /* of them */
    STK_TALLY_UPLOAD_FLOAT_BYTES,    /* of these, in tensors of floats */
    STK_TALLY_UPLOAD_UNLOCKED_BYTES, /* and in memory that is not locked for the GPU */
    STK_TALLY_UPLOAD_SENDING_NS,     /* in which a batch was sent while its GPU had nothing to do */
    STK_TALLY_UPLOAD_STALLED_NS,     /* in which a step had its batch, and that was on its way */
    STK_TALLY_CUDA,                  /* processes that took batches, and use CUDA by torch */
    STK_TALLY_START_NS, /* in which later passes waited for the first batch of workers begun anew */
    /* Of runs that were begun inside this one. */
    STK_TALLY_INNER_RUNS,
    STK_TALLY_INNER_OPENS,
    STK_TALLY_INNER_HITS,
    STK_TALLY_SLOTS,
    STK_TALLY_REASONS = STK_TALLY_RESIZED /* behind the last of them */,
    STK_TALLY_BATCH_REASONS = STK_TALLY_BATCH_KIND,
    STK_TALLY_BATCH_REASONS_END = STK_TALLY_BATCH_ROOM + 1
};

/* What is counted of passes: the loaders of a process in the order in which they were begun, those
 * that have a namesake in another process (a rank) together with it. What comes later is counted in
 * the last. */
#define STK_TALLY_LOADERS 4
#define STK_TALLY_PASSES  32

/* One pass over a DataLoader, as the process sees it that takes the batches. Times are
 * CLOCK_MONOTONIC's. */
struct stk_tally_pass {
    uint64_t begun_ns, ended_ns; /* of the first of the processes, of the last */
    uint64_t lasted_ns;          /* of all processes, added up; as are these: */
    uint64_t waited_ns;          /* for a batch */
    uint64_t samples, batches;
    uint64_t expected; /* batches; 0: nobody knows */
    uint64_t begins;   /* how many processes, or loaders one after the other, have begun it */
    uint64_t workers;  /* of all processes */
};

/* What the command lets the run's processes keep in the sample store, at the moment. */
struct stk_tally_grant {
    uint64_t budget_bytes;
    bool at_first_touch; /* forms are made when an image is decoded first; else the second time */
};

struct stk_tally;

/* The path of the tally that belongs to a run's file; false when it does not fit. */
bool stk_tally_path(char *out, size_t bytes, const char *run);
/* Makes an empty one, for this user alone; 0 or -errno. */
int stk_tally_create(const char *path);
/* Maps it for good; NULL when it is not there, or not one of ours. */
struct stk_tally *stk_tally_open(const char *path);
/* A copy of what it holds now, for one who only looks, and for stk_tally_close; or NULL. */
struct stk_tally *stk_tally_look(const char *path);

void stk_tally_add(struct stk_tally *tally, enum stk_tally_slot slot, uint64_t count);
uint64_t stk_tally_read(const struct stk_tally *tally, enum stk_tally_slot slot);

/*
 * The grant: made by the command, for the store that it named by this value of STOKER_SAMPLES and
 * in its own pid namespace. False: it is none of ours, but where the user has said so, and the
 * budget is what the value says.
 */
void stk_tally_grant(struct stk_tally *tally, const char *samples,
                     const struct stk_tally_grant *grant);
bool stk_tally_read_grant(const struct stk_tally *tally, const char *samples,
                          struct stk_tally_grant *out);
/* Takes back what is not used yet: nobody watches over it any more. */
void stk_tally_revoke(struct stk_tally *tally);
/* Unmaps what was opened. No other thread may use it. */
void stk_tally_close(struct stk_tally *tally);
/* Asks the command to look whether more can be granted, soon. Cheap when it was asked already. */
void stk_tally_ask(struct stk_tally *tally);
/* The command's side: waits so long, or until it is asked, and says whether it was. */
bool stk_tally_wait(struct stk_tally *tally, int64_t limit_ns);

/* One process begins a pass: of it begun_ns, expected and workers; and goes on with it: of it
 * ended_ns, the time of this step, and what the step adds. */
void stk_tally_begin_pass(struct stk_tally *tally, unsigned loader, unsigned number,
                          const struct stk_tally_pass *begin);
void stk_tally_add_pass(struct stk_tally *tally, unsigned loader, unsigned number,
                        const struct stk_tally_pass *step);
void stk_tally_read_pass(const struct stk_tally *tally, unsigned loader, unsigned number,
                         struct stk_tally_pass *out);

/* The version of a Python that the package is not for, as 310 for 3.10; 0: none was seen. It is
 * written by that Python itself (wrappers/python/sitecustomize.py). */
unsigned stk_tally_refused_python(const struct stk_tally *tally);

/* The slot's name in the summary and in --json; and the same for people. */
const char *stk_tally_name(enum stk_tally_slot slot);
const char *stk_tally_meaning(enum stk_tally_slot slot);

#endif
