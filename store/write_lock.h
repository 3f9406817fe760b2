/*
 * Locks on files that let one process at a time change what all processes share. No process waits
 * for one without an end, and the kernel releases a lock when its owner dies. LMDB's own locks are
 * taken only behind these, since LMDB waits for a stopped process for as long as it is stopped.
 */
#pragma once

enum stk_write_lock {
    STK_WRITE_LOCK_VALUES,  /* for writing values */
    STK_WRITE_LOCK_READERS, /* for changing the table of readers, or opening the environment */
};

/*
 * Takes the lock by a file of DIRECTORY. Returns a descriptor to release it with, or -1 with errno:
 * EAGAIN while another process holds the lock, or why the file cannot be opened. The lock is the
 * process's: one thread at a time may hold it. The file is opened at each call, since the program
 * may close a descriptor that is kept and open another file under its number.
 */
int stk_write_lock_acquire(const char *directory, enum stk_write_lock which);
/* Takes the lock likewise, but tries for 0.5 s while another process holds it. */
int stk_write_lock_wait(const char *directory, enum stk_write_lock which);
void stk_write_lock_release(int entered);
