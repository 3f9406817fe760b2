/* The lines of a summary about images, stored results and batches (cli/out/summary_lines.h). */
#ifndef STK_CLI_SUMMARY_SUMMARY_IMAGES_H
#define STK_CLI_SUMMARY_SUMMARY_IMAGES_H

#include "cli/run/session.h"
#include "cli/summary/figures.h"

/* Adds the decoded images: where they came from, and how many were left to Pillow. */
void summary_add_decoded(const struct session *session);
/* Adds the stored results of functions. */
void summary_add_results(const struct session *session);
/* Adds tensors that were left to torch. Adds nothing if there were none. */
void summary_add_batches(const struct session *session);
/* Adds what is missing on this machine for decoding images or keeping samples. */
void summary_add_missing(const struct figures *figures);

#endif
