/* Look-ups side by side within one directory, which the kernel allows only when asked. */
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

/* In the init operation: asks libfuse. */
void slow_dirops_want(struct fuse_conn_info *connection);
/* Makes sure that the kernel knows; to be called between mount and loop. Returns 0 or -errno. */
int slow_dirops_tell(struct fuse_session *session);
