/* File handles of the source. See handles.h. */
#include "handles.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static int mount_fd = -1;
static int mount_number;
static bool work;

/* The kernel's form, with room for ours. */
union kernel_handle {
    struct file_handle head;
    unsigned char room[sizeof(struct file_handle) + SLOW_HANDLE_BYTES];
};

/* False where the file system has no handles, or longer ones. */
static bool ask_kernel(int fd, union kernel_handle *kernel, int *mount)
{
    memset(kernel, 0, sizeof *kernel);
    kernel->head.handle_bytes = SLOW_HANDLE_BYTES;
    return name_to_handle_at(fd, "", &kernel->head, mount, AT_EMPTY_PATH) == 0;
}

void slow_handles_start(int root_fd)
{
    union kernel_handle kernel;
    mount_fd = root_fd;
    if (ask_kernel(root_fd, &kernel, &mount_number)) {
        int fd = open_by_handle_at(mount_fd, &kernel.head, O_PATH | O_CLOEXEC);
        work = fd >= 0;
        close(fd);
    }
}

/* On another mount below the source the handle would be looked for on the wrong file system. */
void slow_handle_take(int fd, struct slow_handle *handle)
{
    union kernel_handle kernel;
    int mount;
    memset(handle, 0, sizeof *handle);
    if (work && ask_kernel(fd, &kernel, &mount) && mount == mount_number) {
        handle->type = kernel.head.handle_type;
        handle->bytes = kernel.head.handle_bytes;
        memcpy(handle->data, kernel.room + sizeof kernel.head, handle->bytes);
    }
}

int slow_handle_open(const struct slow_handle *handle)
{
    union kernel_handle kernel = {
        .head = {.handle_bytes = handle->bytes, .handle_type = handle->type}};
    memcpy(kernel.room + sizeof kernel.head, handle->data, handle->bytes);
    return open_by_handle_at(mount_fd, &kernel.head, O_PATH | O_CLOEXEC);
}
