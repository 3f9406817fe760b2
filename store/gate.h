/*
 * Who may change what all processes share: one at a time, and nobody waits without an end. Locks on
 * files, which the kernel takes back when their owner dies. LMDB's own locks are taken only behind
 * them, since LMDB would wait for a process that is stopped for as long as it is.
 */
#ifndef STK_STORE_GATE_H
#define STK_STORE_GATE_H

enum stk_gate {
    STK_GATE_VALUES,  /* who writes values */
    STK_GATE_READERS, /* who changes the table of readers, or opens the environment */
};

/*
 * Enters by a file of DIRECTORY: a descriptor to leave with, or -1 with errno: EAGAIN while another
 * process is in, or why the file cannot be opened. One thread of a process at a time: the lock is
 * the process's. The file is opened each time, since a descriptor that is kept may be somebody
 * else's file the next time.
 */
int stk_gate_enter(const char *directory, enum stk_gate gate);
/* The same, but tries for 0.5 s while another process is in. */
int stk_gate_wait(const char *directory, enum stk_gate gate);
void stk_gate_leave(int entered);

#endif
