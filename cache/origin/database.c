#include "cache/origin/database.h"

#include <string.h>

#define SQLITE_MAGIC "SQLite format 3" /* with its terminating zero: the first 16 bytes */
#define HDF5_MAGIC   "\x89HDF\r\n\x1a\n"

/* Where HDF5's superblock has its version, and from that version on its flags. */
#define HDF5_VERSION 8
#define HDF5_FLAGS   11
#define HDF5_FLAGGED 3
#define HDF5_WRITTEN 0x05 /* open for writing, or for writing beside readers */

static bool is_sqlite(const char *bytes, uint64_t count)
{
    return count >= sizeof SQLITE_MAGIC && memcmp(bytes, SQLITE_MAGIC, sizeof SQLITE_MAGIC) == 0;
}

static bool is_written_hdf5(const char *bytes, uint64_t count)
{
    return count > HDF5_FLAGS && memcmp(bytes, HDF5_MAGIC, sizeof HDF5_MAGIC - 1) == 0 &&
           (unsigned char)bytes[HDF5_VERSION] >= HDF5_FLAGGED &&
           (bytes[HDF5_FLAGS] & HDF5_WRITTEN) != 0;
}

bool stk_database_is_shared(const char *bytes, uint64_t count, uint64_t offset)
{
    return offset == 0 && (is_sqlite(bytes, count) || is_written_hdf5(bytes, count));
}
