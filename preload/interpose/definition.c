/* Walks the loaded objects, and reads their hash tables. */
#include "preload/interpose/definition.h"

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VERSION_IS_HIDDEN 0x8000

/* The parts of an object's dynamic section that the search needs. */
struct object {
    const char *strings;
    const ElfW(Sym) * symbols;
    const ElfW(Half) * versions;
    const uint32_t *gnu_hash;
    const uint32_t *sysv_hash;
    ElfW(Addr) base;
};

struct definition_search {
    const char *const *names;
    size_t count;
    _Atomic(void *) *found;
    bool past_us; /* if set from the start: all objects but this library */
};

/* Returns an entry's address. glibc turns these entries into addresses when it loads an object;
 * other loaders do not, nor does the vDSO. */
static const void *address(const struct object *object, const ElfW(Dyn) * entry)
{
    ElfW(Addr) at = entry->d_un.d_ptr;
    return (const void *)(at < object->base ? at + object->base : at);
}

static bool read_dynamic(struct object *object, const struct dl_phdr_info *info)
{
    const ElfW(Dyn) *entry = NULL;
    *object = (struct object){.base = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            entry = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        }
    }
    for (; entry != NULL && entry->d_tag != DT_NULL; entry++) {
        switch (entry->d_tag) {
        case DT_STRTAB:
            object->strings = address(object, entry);
            break;
        case DT_SYMTAB:
            object->symbols = address(object, entry);
            break;
        case DT_VERSYM:
            object->versions = address(object, entry);
            break;
        case DT_GNU_HASH:
            object->gnu_hash = address(object, entry);
            break;
        case DT_HASH:
            object->sysv_hash = address(object, entry);
            break;
        default:
            break;
        }
    }
    return object->strings != NULL && object->symbols != NULL;
}

static bool defines(const struct object *object, uint32_t index, const char *name)
{
    const ElfW(Sym) *symbol = &object->symbols[index];
    /* The fields are the same for both sizes of ELF. */
    return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
           (object->versions == NULL || (object->versions[index] & VERSION_IS_HIDDEN) == 0) &&
           strcmp(object->strings + symbol->st_name, name) == 0;
}

static uint32_t gnu_hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name != '\0'; name++) {
        hash = hash * 33 + (unsigned char)*name;
    }
    return hash;
}

/* Returns false if the Bloom filter rules the name out. Most objects have none of our names. */
static bool may_have(const uint32_t *table, uint32_t hash)
{
    const unsigned bits = 8 * sizeof(ElfW(Addr));
    const ElfW(Addr) *words = (const ElfW(Addr) *)(table + 4);
    uint32_t count = table[2], shift = table[3];
    ElfW(Addr) word = count > 0 ? words[hash / bits % count] : 0;
    return (word >> hash % bits & word >> (hash >> shift) % bits & 1) != 0;
}

/* Finds a name in the GNU hash section: a header, a Bloom filter, buckets, and each symbol's hash,
 * whose lowest bit ends a chain. */
static uint32_t find_gnu(const struct object *object, const char *name)
{
    const uint32_t *table = object->gnu_hash;
    uint32_t buckets = table[0], first = table[1], bloom_words = table[2];
    const uint32_t *bucket = table + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof *table);
    const uint32_t *hashes = bucket + buckets;
    uint32_t hash = gnu_hash_of(name);
    if (!may_have(table, hash)) {
        return 0;
    }
    uint32_t index = buckets > 0 ? bucket[hash % buckets] : 0;
    if (index < first || index == 0) {
        return 0;
    }
    for (;; index++) {
        uint32_t has = hashes[index - first];
        if ((has | 1) == (hash | 1) && defines(object, index, name)) {
            return index;
        }
        if ((has & 1) != 0) {
            return 0;
        }
    }
}

static uint32_t sysv_hash_of(const char *name)
{
    uint32_t hash = 0;
    for (; *name != '\0'; name++) {
        hash = (hash << 4) + (unsigned char)*name;
        uint32_t high = hash & 0xf0000000;
        hash = (hash ^ high >> 24) & ~high;
    }
    return hash;
}

static uint32_t find_sysv(const struct object *object, const char *name)
{
    const uint32_t *table = object->sysv_hash;
    uint32_t buckets = table[0];
    const uint32_t *bucket = table + 2, *chain = bucket + buckets;
    uint32_t index = buckets > 0 ? bucket[sysv_hash_of(name) % buckets] : 0;
    while (index != 0 && !defines(object, index, name)) {
        index = chain[index];
    }
    return index;
}

static bool is_ours(const struct dl_phdr_info *info)
{
    const uintptr_t here = (uintptr_t)stk_definition_find_next;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && here - info->dlpi_addr - part->p_vaddr < part->p_memsz) {
            return true;
        }
    }
    return false;
}

static void *find(const struct object *object, const char *name)
{
    uint32_t index = 0;
    if (object->gnu_hash != NULL) {
        index = find_gnu(object, name);
    } else if (object->sysv_hash != NULL) {
        index = find_sysv(object, name);
    }
    return index != 0 ? (void *)(object->base + object->symbols[index].st_value) : NULL;
}

/* Looks in one object for the names that are not found yet. Returns true if all are found. */
static int look_in(struct dl_phdr_info *info, size_t size, void *cookie)
{
    struct definition_search *search = cookie;
    struct object object;
    bool all = true;
    (void)size;
    if (is_ours(info)) {
        search->past_us = true;
        return 0;
    }
    if (!search->past_us || !read_dynamic(&object, info)) {
        return 0;
    }
    for (size_t i = 0; i < search->count; i++) {
        _Atomic(void *) *found = &search->found[i];
        if (atomic_load_explicit(found, memory_order_relaxed) == NULL) {
            void *next = find(&object, search->names[i]);
            if (next != NULL) {
                atomic_store_explicit(found, next, memory_order_release);
            }
            all = all && next != NULL;
        }
    }
    return all;
}

void stk_definition_find_next(const char *const names[], size_t count, _Atomic(void *) found[])
{
    struct definition_search search = {.names = names, .count = count, .found = found};
    if (dl_iterate_phdr(look_in, &search) == 0) {
        search.past_us =
            true; /* some do not exist, or the library was opened with dlopen, after libc */
        dl_iterate_phdr(look_in, &search);
    }
}
