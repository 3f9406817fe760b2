/*
 * Finds the definitions of symbols that come after the library's own, as dlsym(RTLD_NEXT) does, but
 * without dlsym. Before glibc 2.34 dlsym is in libdl. Looking for libdl costs every program that is
 * started as much as all the rest of loading the library.
 *
 * Source: the ELF gABI's dynamic section and symbol table, the GNU hash section as binutils writes
 * it, and symbol versions as in the Linux Standard Base.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

/*
 * Writes to `found` the address of each name that has none yet. That is the name's first public
 * definition in the objects loaded after this one, in load order. If no object after this one has
 * it, any other object's definition counts; if no object has it, NULL stays. Where an object has
 * several versions, the default one is meant.
 *
 * Takes the loader's lock, as dlsym does, twice at most; allocates nothing; leaves errno alone.
 * Several threads may write to the same table.
 */
void stk_definition_find_next(const char *const names[], size_t count, _Atomic(void *) found[]);
