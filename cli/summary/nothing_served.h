/* The summary of a run in which no file below --path was opened. It says where files were opened
 * instead, or what may have kept the library out. */
#ifndef STK_CLI_SUMMARY_NOTHING_SERVED_H
#define STK_CLI_SUMMARY_NOTHING_SERVED_H

#include "cli/summary/figures.h"

/* Adds the lines (cli/out/summary_lines.h). */
void summary_explain_nothing(const struct figures *figures);

#endif
