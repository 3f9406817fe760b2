/*
 * `stoker doctor`: what of this machine, this environment and this Python helps or hinders. One
 * table of checks (cli/doctor.c); each check looks at one thing and says what it found, with the
 * command that mends it where something should be mended. Nothing is changed, and no cache is made.
 */
#ifndef STK_CLI_DOCTOR_H
#define STK_CLI_DOCTOR_H

#include <stdbool.h>

struct doctor {
    char **paths;    /* of the data set: NULL-terminated */
    char **command;  /* that the job will be, or NULL */
    bool json;       /* findings as JSON, not as lines */
    const char *now; /* the check's name */
    bool late;       /* what holds the command did not answer: it is not asked again */
    unsigned found;  /* so many findings, */
    unsigned wrong;  /* so many of them warnings */
};

/* What lies on a file system that may not answer is looked at by a process that may be left behind
 * (cli/apart.h), so long at most. */
#define DOCTOR_PATIENCE_S 5

/* What a check has to say: that something is as it should be; that it is not, and what mends it: a
 * command as it is typed, or what to change in one. */
void doctor_ok(struct doctor *doctor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void doctor_warn(struct doctor *doctor, const char *fix, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* That something could not be looked at, for want of a process (cli/apart.h). */
void doctor_no_process(struct doctor *doctor, const char *what);

/* cli/doctor_machine.c */
void doctor_look_at_shared_memory(struct doctor *doctor);
void doctor_look_at_huge_pages(struct doctor *doctor);
void doctor_look_at_group(struct doctor *doctor);
void doctor_look_at_memlock(struct doctor *doctor);
void doctor_look_at_descriptors(struct doctor *doctor);
void doctor_look_at_gpu(struct doctor *doctor);
/* cli/doctor_data.c */
void doctor_look_at_data(struct doctor *doctor);
/* cli/doctor_programs.c */
void doctor_look_at_libc(struct doctor *doctor);
void doctor_look_at_library(struct doctor *doctor);
void doctor_look_at_preloads(struct doctor *doctor);
void doctor_look_at_command(struct doctor *doctor);
void doctor_look_at_samples(struct doctor *doctor);
void doctor_look_at_python(struct doctor *doctor);

#endif
