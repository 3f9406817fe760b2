/*
 * Who may write: one process at a time, and nobody waits. A lock on a file, which the kernel takes
 * back when its owner dies; a stopped owner only means that nobody else writes meanwhile.
 */
#ifndef STK_STORE_GATE_H
#define STK_STORE_GATE_H

/*
 * Enters by "DIRECTORY/gate": a descriptor to leave with, or -1 while another process is in, or
 * when the file cannot be opened. One thread of a process at a time: the lock is the process's. The
 * file is opened each time, since a descriptor that is kept may be somebody else's file the next
 * time.
 */
int stk_gate_enter(const char *directory);
void stk_gate_leave(int gate);

#endif
