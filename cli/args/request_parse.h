/* Parses the arguments of `stoker run`, `env` and `warm` into a request. Checks everything: a wrong
 * argument ends the command in one line and with status 2. If this node lacks something, a line
 * says so, and the job goes on (cli/args/refusal.h). */
#pragma once

#include <stdbool.h>

#include "cli/args/request.h"

/* Parses and checks the arguments behind `run` (`needs_command`) or `env`. */
void request_parse(struct request *request, char **arguments, bool needs_command);
/* Parses and checks the arguments behind `warm`. */
void request_parse_warm(struct request *request, char **arguments);
