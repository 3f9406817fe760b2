/* The value of a flag, in the same way for all verbs. */
#pragma once

/* Returns the flag's value if the argument at `*at` is this flag. Takes "--flag=VALUE", and "--flag
 * VALUE", where `*at` then is the value. The value may be empty. Returns NULL for another argument.
 * Ends with a message if the value is missing. */
const char *flag_value(char ***at, const char *flag);
