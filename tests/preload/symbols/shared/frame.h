/*
 * A frame: where in a process's life a program's body runs. Every program here has one body, which
 * prints what each call returned; it must print the same with and without the library.
 *
 *   PROGRAM FRAME BASE    FRAME is main, constructor, fork or thread
 *
 * The body runs in BASE/data, the covered directory that tests/lib/storage/dataset.py has made.
 */
#pragma once

/* Each program's own. */
void body(void);

/* Runs the body, if argv asks for another frame than the constructor's. */
int frame_main(int argc, char **argv);
