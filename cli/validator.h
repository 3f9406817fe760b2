/*
 * Validations that the job's processes have put off (cache/deferred.h): threads of the command make
 * them, several at once, since each waits for the origin.
 */
#ifndef STK_CLI_VALIDATOR_H
#define STK_CLI_VALIDATOR_H

/* Starts them, after the environment was set. For want of threads the
 * job validates by itself. */
void validator_begin(void);
/* Stops them. What they are asking the origin is not waited for. */
void validator_end(void);

#endif
