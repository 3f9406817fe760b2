/* What the process of cli/courier.h does, from its start to its end. */
#ifndef STK_CLI_COURIER_WORK_H
#define STK_CLI_COURIER_WORK_H

#include <sys/types.h>

#include "cli/session.h"
#include "cli/shared.h"

#define COURIER_MOST_ERRORS 16 /* one after the other */

/* What setting up the shared tier came to. */
struct courier_told {
    int error; /* 0 or -errno */
    char home[STK_HOME_BYTES];
};

/* Sets it up, tells so by the descriptor `told`, and does what is asked until nothing is asked any
 * more. Ends with its parent. */
_Noreturn void courier_work(struct session *session, const struct shared *shared, pid_t parent,
                            int told);

#endif
