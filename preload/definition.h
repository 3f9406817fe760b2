/*
 * Finding the definition of a symbol that comes after ours, as dlsym(RTLD_NEXT) does, but without
 * dlsym: before glibc 2.34 that is in libdl, and looking for libdl costs every program that is
 * started as much as all the rest of loading us.
 *
 * Source: the ELF gABI's dynamic section and symbol table, the GNU hash section as binutils writes
 * it, and symbol versions as in the Linux Standard Base.
 */
#ifndef STK_PRELOAD_DEFINITION_H
#define STK_PRELOAD_DEFINITION_H

/*
 * The address of the first public definition of a function in the objects loaded after this one,
 * in load order, or, when there is none after, in any other object; NULL when nobody has it. Where
 * an object has several versions the default one is meant. Takes the loader's lock, as dlsym does;
 * allocates nothing; leaves errno alone.
 */
void *stk_definition_next(const char *name);

#endif
