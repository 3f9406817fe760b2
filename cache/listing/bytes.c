/* The form of a listing, in memory and in a tier. See cache/listing/listing_parts.h. */
#include "cache/listing/listing_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/hash.h"
#include "base/sys.h"

#define FIRST_BYTES (64u << 10)
#define PIECE_BYTES (32u << 10) /* as libc asks for */

void stk_listing_close(struct stk_listing *listing)
{
    stk_sys_munmap(listing->map, listing->map_bytes);
    listing->map = NULL;
}

/* Makes room for so many bytes. Returns false if that is too much, or there is no memory. */
static bool grow(struct stk_listing *listing, size_t bytes)
{
    if (listing->map != NULL && bytes <= listing->map_bytes) {
        return true;
    }
    size_t wanted = listing->map != NULL ? 2 * listing->map_bytes : FIRST_BYTES;
    char *map = wanted <= (size_t)STK_LISTING_MOST_BYTES ? stk_sys_memory(wanted) : NULL;
    if (map == NULL) {
        return false;
    }
    if (listing->map != NULL) {
        memcpy(map, listing->map, listing->bytes);
        stk_sys_munmap(listing->map, listing->map_bytes);
    }
    listing->map = map;
    listing->map_bytes = wanted;
    return true;
}

bool stk_listing_read(struct stk_listing *out, int fd, struct stk_record *record)
{
    ssize_t got = 1;
    out->bytes = sizeof(struct stk_listing_head);
    while (got > 0) {
        if (!grow(out, out->bytes + PIECE_BYTES)) {
            return false;
        }
        got = stk_sys_getdents(fd, out->map + out->bytes, PIECE_BYTES);
        out->bytes += got > 0 ? (size_t)got : 0;
        if (record != NULL) {
            stk_claim_advance(&record->claim);
        }
    }
    return got == 0;
}

const struct stk_listing_name *stk_listing_at(const struct stk_listing *listing, size_t *offset)
{
    size_t at = *offset == 0 ? sizeof(struct stk_listing_head) : *offset;
    const struct stk_listing_name *name =
        (const struct stk_listing_name *)(const void *)(listing->map + at);
    const size_t least = offsetof(struct stk_listing_name, name) + 2; /* a letter and the zero */
    if (at + least > listing->bytes || name->bytes < least || name->bytes > listing->bytes - at) {
        return NULL;
    }
    *offset = at + name->bytes;
    return name;
}

/* Two mounts of one volume have one listing, for which each has a key of its own. */
uint64_t stk_listing_whose(const struct stk_place *directory)
{
    size_t length = strlen(directory->below);
    struct stk_hash128 root = stk_hash_path(directory->root->name, directory->root->name_length,
                                            (struct stk_hash128){.low = STK_LISTING_FORM});
    return stk_hash_path(directory->below, length > 0 ? length - 1 : 0, root).low;
}

static uint64_t check_of(const char *map, size_t bytes)
{
    const size_t before = offsetof(struct stk_listing_head, whose);
    return stk_hash_64(map + before, bytes - before, STK_LISTING_FORM);
}

struct stk_listing_head *stk_listing_head_of(const struct stk_listing *listing)
{
    return (struct stk_listing_head *)(void *)listing->map;
}

void stk_listing_seal(struct stk_listing *listing, uint64_t whose)
{
    struct stk_listing_head *head = stk_listing_head_of(listing);
    *head = (struct stk_listing_head){
        .form = STK_LISTING_FORM, .whose = whose, .bytes = listing->bytes};
    head->check = check_of(listing->map, listing->bytes);
}

/* Returns true if the bytes, which any process of this user may have written, are this directory's
 * listing. */
static bool is_whole(const struct stk_listing *listing, uint64_t whose)
{
    const struct stk_listing_head *head = stk_listing_head_of(listing);
    return head->form == STK_LISTING_FORM && head->whose == whose &&
           head->bytes == listing->bytes && head->check == check_of(listing->map, listing->bytes);
}

/* ---- an entry of a listing ---- */

static int load_fd(int fd, uint64_t whose, off_t most, struct stk_listing *out)
{
    struct stat stat;
    if (stk_sys_fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode) ||
        stat.st_uid != stk_sys_geteuid() || stat.st_size < (off_t)sizeof(struct stk_listing_head) ||
        stat.st_size > STK_LISTING_MOST_BYTES) {
        return -EINVAL;
    }
    if (stat.st_size > most) {
        return -EFBIG;
    }
    out->bytes = out->map_bytes = (size_t)stat.st_size;
    out->map = stk_sys_memory(out->map_bytes);
    if (out->map == NULL) {
        return -ENOMEM;
    }
    bool read = stk_sys_pread_all(fd, out->map, out->bytes, 0) == (ssize_t)out->bytes;
    int error = !read ? -EIO : is_whole(out, whose) ? 0 : -EINVAL;
    if (error != 0) {
        stk_listing_close(out);
    }
    return error;
}

int stk_listing_load(const char *entry, uint64_t whose, off_t most, struct stk_listing *out)
{
    STK_OWNED_FD int fd =
        stk_sys_open_own(entry, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* of a pipe, too */
    return fd < 0 ? fd : load_fd(fd, whose, most, out);
}
