/* `stoker verify`: compares cached copies with their origins, and drops the copies that differ. */
#ifndef STK_CLI_VERIFY_VERIFY_H
#define STK_CLI_VERIFY_VERIFY_H

/* Gets the arguments behind the verb and returns the exit status. */
int verb_verify(char **arguments);

#endif
