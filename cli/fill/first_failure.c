#include "cli/fill/first_failure.h"

#include <stdlib.h>
#include <string.h>

#include "cli/out/say.h"

void first_failure_note(struct first_failure *failure, const char *path, int error)
{
    char *none = NULL;
    if (atomic_load(&failure->text) == NULL) {
        char *text = must_format("%s: %s", path, strerror(error));
        if (!atomic_compare_exchange_strong(&failure->text, &none, text)) {
            free(text);
        }
    }
}

const char *first_failure_text(struct first_failure *failure)
{
    const char *text = atomic_load(&failure->text);
    return text != NULL ? text : "";
}
