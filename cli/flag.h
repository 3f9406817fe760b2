/* A flag's value, as all verbs take it. */
#ifndef STK_CLI_FLAG_H
#define STK_CLI_FLAG_H

/*
 * If the argument at `*at` is this flag, its value, which may be empty: of "--flag VALUE", where
 * `*at` then is the value, or of "--flag=VALUE". NULL: it is another argument. Ends with a message
 * where there is no value.
 */
const char *flag_value(char ***at, const char *flag);

#endif
