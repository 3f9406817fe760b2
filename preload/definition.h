/*
 * Finding the definitions of symbols that come after ours, as dlsym(RTLD_NEXT) does, but without
 * dlsym: before glibc 2.34 that is in libdl, and looking for libdl costs every program that is
 * started as much as all the rest of loading us.
 *
 * Source: the ELF gABI's dynamic section and symbol table, the GNU hash section as binutils writes
 * it, and symbol versions as in the Linux Standard Base.
 */
#ifndef STK_PRELOAD_DEFINITION_H
#define STK_PRELOAD_DEFINITION_H

#include <stdatomic.h>
#include <stddef.h>

/*
 * For each name of a function that has no address in `found` yet, writes there the address of its
 * first public definition in the objects loaded after this one, in load order, or, when there is
 * none after, in any other object; leaves NULL when nobody has it. Where an object has several
 * versions the default one is meant. Takes the loader's lock, as dlsym does, twice at most;
 * allocates nothing; leaves errno alone. Several threads may write to the same table.
 */
void stk_definition_find_next(const char *const names[], size_t count, _Atomic(void *) found[]);

#endif
