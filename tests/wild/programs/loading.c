/* Lets a library read the files that has definitions of its own for the functions that it calls. It
 * is loaded with RTLD_DEEPBIND, or into a namespace of its own.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *load(const char *how, const char *library)
{
    if (strcmp(how, "dlmopen") == 0) {
        return dlmopen(LM_ID_NEWLM, library, RTLD_NOW);
    }
    return dlopen(library, RTLD_NOW | (strcmp(how, "deepbind") == 0 ? RTLD_DEEPBIND : 0));
}

int main(int argc, char **argv)
{
    int (*report_all)(int count, char **paths);
    void *library = argc > 2 ? load(argv[1], argv[2]) : NULL;
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    *(void **)&report_all = dlsym(library, "report_all");
    return report_all ? report_all(argc - 3, argv + 3) : 1;
}
