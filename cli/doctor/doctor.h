/*
 * `stoker doctor`: what of this machine, this environment and this Python helps or hinders. The .c
 * file has one table of checks. Each check looks at one thing and reports what it found, with the
 * command that mends it if something is wrong, or could be better. Nothing is changed, and no cache
 * is made.
 */
#pragma once

#include <stdbool.h>

#include "cli/out/json.h"

struct doctor {
    char **paths;      /* of the data set: NULL-terminated */
    char **command;    /* the job's command, or NULL */
    struct json *json; /* findings as JSON; NULL: as lines */
    const char *now;   /* the check's name */
    bool late;         /* the command's file system did not answer: it is not asked again */
    unsigned found;    /* number of findings */
    unsigned wrong;    /* of these, warnings */
    unsigned advised;  /* of these, advice */
};

/* How long a detached process (cli/os/detached.h) may take to look at a file system that may not
 * answer. */
#define DOCTOR_PATIENCE_S 5

/* Report a finding of the check: something is as it should be, something could be faster, or
 * something is wrong. `fix` changes that: a command as it is typed, or what to change in one. */
#define doctor_ok(doctor, ...)          doctor_say(doctor, DOCTOR_OK, NULL, __VA_ARGS__)
#define doctor_advise(doctor, fix, ...) doctor_say(doctor, DOCTOR_ADVICE, fix, __VA_ARGS__)
#define doctor_warn(doctor, fix, ...)   doctor_say(doctor, DOCTOR_WARNING, fix, __VA_ARGS__)
enum doctor_level { DOCTOR_OK, DOCTOR_ADVICE, DOCTOR_WARNING };
void doctor_say(struct doctor *doctor, enum doctor_level level, const char *fix, const char *format,
                ...) __attribute__((format(printf, 4, 5)));

/* Reports that a check could not look, since no process could be started (cli/os/detached.h). */
void doctor_no_process(struct doctor *doctor, const char *what);

/* cli/doctor/check_machine.c */
void doctor_look_at_shared_memory(struct doctor *doctor);
void doctor_look_at_huge_pages(struct doctor *doctor);
void doctor_look_at_group(struct doctor *doctor);
void doctor_look_at_memlock(struct doctor *doctor);
void doctor_look_at_descriptors(struct doctor *doctor);
void doctor_look_at_gpu(struct doctor *doctor);
/* cli/doctor/check_data.c */
void doctor_look_at_data(struct doctor *doctor);
/* cli/doctor/check_programs.c */
void doctor_look_at_libc(struct doctor *doctor);
void doctor_look_at_library(struct doctor *doctor);
void doctor_look_at_preloads(struct doctor *doctor);
void doctor_look_at_variables(struct doctor *doctor);
void doctor_look_at_command(struct doctor *doctor);
void doctor_look_at_samples(struct doctor *doctor);
void doctor_look_at_python(struct doctor *doctor);

/* The verb: gets the arguments behind it and returns the exit status. */
int verb_doctor(char **arguments);
