#include "cli/out/flag.h"

#include <string.h>

#include "cli/out/say.h"

const char *flag_value(char ***at, const char *flag)
{
    const char *argument = **at;
    size_t length = strlen(flag);
    if (strncmp(argument, flag, length) != 0) {
        return NULL;
    }
    if (argument[length] == '=') {
        return argument + length + 1;
    }
    if (argument[length] != '\0') {
        return NULL;
    }
    if ((*at)[1] == NULL || strcmp((*at)[1], "--") == 0) {
        die_wrong("%s needs a value", flag);
    }
    return *++*at;
}
