/*
 * Makes every system call that Stoker makes for itself: the real-call table.
 *
 * They are raw on purpose. Stoker's own calls must not come back through its own symbols, must not
 * be seen by other preloads, and must not depend on the glibc of the day. They must not touch
 * errno, which belongs to the program. A program's own calls go to the next library instead
 * (preload/interpose/next.h).
 *
 * Every function returns 0 or positive, or -errno; each is safe in threads, after fork and vfork
 * and in signal handlers, and allocates nothing. Paths, buffers and fds stay the caller's. A test
 * build replaces this file's implementation to make the n-th call fail.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

/* Opens a file. O_CLOEXEC is the caller's to give. */
int stk_sys_openat(int dirfd, const char *path, int flags, mode_t mode);
/* Opens a new file, or one that is there unless the flags have O_EXCL, with O_CLOEXEC and
 * O_NOFOLLOW. This user can use the file and directory of these two, whatever the umask of the
 * program. They return a descriptor or 0, or -errno. */
int stk_sys_create(const char *path, int flags, mode_t mode);
int stk_sys_make_directory(const char *path, mode_t mode);
/* Opens without following any symbolic link, where the kernel can (5.6); else a plain openat. */
int stk_sys_open_nolinks(const char *path, int flags);
/* Opens a file of this user's, as stk_sys_open_nolinks does. -EPERM: another user owns the file,
 * and this process has no CAP_FOWNER. The kernel checks the owner for O_NOATIME, so that no call is
 * added. */
int stk_sys_open_own(const char *path, int flags);
/* Opens a file below a directory in the same mount, through no link. Only where the kernel can do
 * that (5.6). */
int stk_sys_open_beneath(int dirfd, const char *path, int flags);
int stk_sys_close(int fd);
/* Closes what an open has given. Does nothing for a negative number, as of an open that failed. */
void stk_sys_close_opened(int fd);
/* Returns a descriptor as it was opened; if there is an error, closes it and returns the error. */
int stk_sys_opened(int fd, int error);
/* Has a descriptor closed so when the block of its variable is left. Stands in front of a
 * declaration that sets the variable. */
#define STK_OWNED_FD __attribute__((cleanup(stk_sys_close_owned)))
void stk_sys_close_owned(const int *fd);
int stk_sys_dup3(int from, int to, int flags);
/* Duplicates to the lowest free number from `lowest` on, close-on-exec. Returns -EINVAL if that is
 * beyond the limit. */
int stk_sys_dup_above(int fd, int lowest);
/* Returns O_NONBLOCK and its like, or -errno. */
int stk_sys_get_status_flags(int fd);
int stk_sys_set_status_flags(int fd, int flags);
/* Returns true if two descriptors share their offset; false also where the kernel does not know. */
bool stk_sys_is_same_open_file(int a, int b);
bool stk_sys_is_closed_on_exec(int fd);
/* Returns a number far above the lowest free one, which open() would return, and another one each
 * time: a number that a thread closes late is not the next caller's. It may be in use. */
int stk_sys_high_number(void);
/* Duplicates `fd` to the first free number from a high one on. Returns it, close-on-exec, or
 * -errno. */
int stk_sys_dup_high(int fd);
off_t stk_sys_lseek(int fd, off_t offset, int whence);

ssize_t stk_sys_read(int fd, void *buffer, size_t bytes);
ssize_t stk_sys_pread(int fd, void *buffer, size_t bytes, off_t offset);
/* Reads as stk_sys_pread, and again after a signal, 1,000 times at most: a profiling timer
 * interrupts calls of FUSE files all the time. */
ssize_t stk_sys_pread_again(int fd, void *buffer, size_t bytes, off_t offset);
/* Reads until all bytes are there, or the file ends. Returns how many were read. */
ssize_t stk_sys_pread_all(int fd, void *buffer, size_t bytes, off_t offset);
/* Reads into several buffers. If one cannot be written to, the kernel reports -EFAULT. */
ssize_t stk_sys_preadv(int fd, const struct iovec *parts, int count, off_t offset);
/* Checks whether a list of buffers can be read, and the kernel would take it: 0, -EFAULT or
 * -EINVAL. Another error says nothing. */
int stk_sys_look_at_parts(const struct iovec *parts, int count);
/* Write to a file, and reserve room in it, within the limit on the size of files, which a batch
 * system may set. Beyond that limit the kernel would send a signal that ends the program, even if
 * the file is long enough already. These return -EFBIG instead. The last returns -EOPNOTSUPP
 * only where the limit allows the call. */
ssize_t stk_sys_pwrite(int fd, const void *buffer, size_t bytes, off_t offset);
/* Writes all bytes. Returns 0, or an error after which some may be written. */
int stk_sys_pwrite_all(int fd, const void *buffer, size_t bytes, off_t offset);
int stk_sys_fallocate(int fd, off_t offset, off_t bytes);
int stk_sys_fadvise(int fd, off_t offset, off_t bytes, int advice);
/* Counts the pages of a file that are in memory. Returns an error before Linux 6.5, and where the
 * kernel hides that of other users' files. */
int64_t stk_sys_count_cached(int fd);
/* Counts the pages of a part of a file that are in memory, likewise. */
int64_t stk_sys_count_cached_in(int fd, off_t offset, off_t bytes);
/* Makes a file without a name, in no file system and closed on exec. */
int stk_sys_memfd(const char *name);
/* Has the file's changed pages written, without waiting for that. Afterwards a store through a map
 * shows in the file's times again. */
int stk_sys_write_out(int fd);

int stk_sys_fstat(int fd, struct stat *out);
int stk_sys_fstatat(int dirfd, const char *path, struct stat *out, int flags);
/* statx; where the kernel has none (before 4.11) fstatat fills the basic fields. */
int stk_sys_statx(int dirfd, const char *path, int flags, unsigned mask, struct statx *out);
/* Makes the basic fields of statx of those of stat. No system call. */
void stk_sys_statx_from_stat(struct statx *out, const struct stat *in);
struct statx_timestamp stk_sys_timestamp(struct timespec time);
int stk_sys_statfs(const char *path, struct statfs *out);
int stk_sys_fstatfs(int fd, struct statfs *out);
/* Makes a request that reads into `data`. */
int stk_sys_ioctl(int fd, unsigned long request, void *data);
int stk_sys_faccessat(int dirfd, const char *path, int mode);

/* Returns the length of the link's text, which is not terminated; equal to bytes if it may have
 * been cut. */
ssize_t stk_sys_readlinkat(int dirfd, const char *path, char *buffer, size_t bytes);
/* Returns the length of the absolute path including its terminating zero. */
ssize_t stk_sys_getcwd(char *buffer, size_t bytes);
int stk_sys_mkdirat(int dirfd, const char *path, mode_t mode);
int stk_sys_unlinkat(int dirfd, const char *path, int flags);
/* Renames; -EEXIST when `to` exists. Falls back to link and unlink without RENAME_NOREPLACE. */
int stk_sys_rename_noreplace(const char *from, const char *to);
int stk_sys_chmod(const char *path, mode_t mode);
int stk_sys_fchmod(int fd, mode_t mode);
/* Sets when a file was last written to; a link is not followed. */
int stk_sys_set_mtime(const char *path, struct timespec mtime);
/* Set, get and remove attributes that users give to files; a link is not followed. To be read, the
 * value must have exactly so many bytes: else -ENODATA. */
int stk_sys_set_attribute(const char *path, const char *name, const void *value, size_t bytes);
int stk_sys_get_attribute(const char *path, const char *name, void *value, size_t bytes);
int stk_sys_remove_attribute(int fd, const char *name);
ssize_t stk_sys_getdents(int fd, void *buffer, size_t bytes);

/* Returns the mapping, or NULL. The reason of a failure does not matter to any caller. */
void *stk_sys_mmap(size_t bytes, int protection, int flags, int fd, off_t offset);
/* Makes a program's own mapping. Returns its address, or -errno. */
long stk_sys_map(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
/* Maps memory of this process alone, of zeros. Returns NULL if there is none. */
void *stk_sys_memory(size_t bytes);
/* Does nothing for NULL. */
void stk_sys_munmap(void *address, size_t bytes);
/* Moves a mapping onto the one at `to`, which goes, in one step. Returns false if nothing was
 * done. */
bool stk_sys_move_map(void *from, size_t bytes, void *to);
int stk_sys_madvise(void *address, size_t bytes, int advice);
/* Finds which pages of a mapping are in memory: bit 0 of a byte each. Where the kernel hides that
 * of other users' files, all bits are set. */
int stk_sys_mincore(void *address, size_t bytes, unsigned char *pages);

/* Makes memory for this user alone, which takes pages only where it is touched, and maps it. It has
 * no name in a file system, and goes with the last process that maps it. Returns its number, by
 * which others map it, or -errno. */
int stk_sys_shm_make(size_t bytes, void **mapped);
/* Maps such memory if this user made it, and it has just so many bytes. NULL: it is another, or
 * there is none. */
void *stk_sys_shm_map(int number, size_t bytes);

/* Blocks all signals for this thread, and gives the mask of before; the second restores it. */
void stk_sys_block_signals(uint64_t *before);
void stk_sys_restore_signals(const uint64_t *before);

/* Makes a system call of any number for a program. Returns the kernel's answer, or -errno. */
long stk_sys_call(long number, const long at[6]);

pid_t stk_sys_getpid(void);
uid_t stk_sys_getuid(void);
uid_t stk_sys_geteuid(void);
/* Read the real, effective and saved numbers. */
int stk_sys_getresuid(uid_t uids[3]);
int stk_sys_getresgid(gid_t gids[3]);
/* Returns how many groups there are; -EINVAL if there are more than `count`. */
int stk_sys_getgroups(int count, gid_t *groups);
gid_t stk_sys_getegid(void);
/* Returns the first 32 effective capabilities, bit by bit; 0 if the kernel does not give them. */
uint32_t stk_sys_capabilities(void);
/* Returns true if this thread has no_new_privs. */
bool stk_sys_has_no_new_privs(void);
/* Tries to mount a file system without a type, which never succeeds. Returns -EPERM if this thread
 * may mount nothing, else -EINVAL. */
int stk_sys_mount_nothing(void);
/* Returns false only if the kernel says that no such process exists (another user's process does
 * exist). */
bool stk_sys_process_exists(pid_t pid);
int stk_sys_flock(int fd, int operation);
/* Locks the file for as long as this description of it is open or mapped by any process, which fork
 * counts in. Many may hold the lock. Returns 0 or -errno: -EINVAL before Linux 3.15. */
int stk_sys_hold(int fd);
/* Returns true if another description of the file has that lock. */
bool stk_sys_is_held(int fd);
/* Opens a socket for Unix datagrams between processes of a node, close-on-exec. The kernel chooses
 * its name. Its calls wait for `patience_ns` at most, then return -EAGAIN. */
int stk_sys_datagram_socket(int64_t patience_ns);
/* Connects to the abstract socket of that name. Returns -ECONNREFUSED if there is none. */
int stk_sys_connect_abstract(int fd, const char *name);
/* Send or receive one datagram. Both return bytes or -errno, and raise no signal. */
ssize_t stk_sys_send(int fd, const void *data, size_t bytes);
ssize_t stk_sys_receive(int fd, void *data, size_t bytes);

/* Waits until the word is woken. Returns 0 or -errno; -EINTR after a signal's handler has run. */
int stk_sys_futex_wait(void *word, uint32_t expected, int64_t timeout_ns);
void stk_sys_futex_wake_all(void *word);
void stk_sys_futex_wake_one(void *word);
int64_t stk_sys_clock_ns(int clock);
/* Has the clocks read by this function from now on, instead of by a system call. Called before the
 * process has threads. NULL: by the system call. */
void stk_sys_clock_by(int (*read)(clockid_t clock, struct timespec *now));
