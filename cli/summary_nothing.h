/* The part of a summary for a run in which no covered file was opened: where files were opened
 * instead, or what may have kept the library out. */
#ifndef STK_CLI_SUMMARY_NOTHING_H
#define STK_CLI_SUMMARY_NOTHING_H

#include "cli/summary_figures.h"

/* Puts its lines down (cli/summary_lines.h). */
void summary_explain_nothing(const struct figures *figures);

#endif
