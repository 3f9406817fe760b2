/*
 * The files that samples open beside the one that a list of their data set names, as a mask beside
 * an image. Processes of the job report the first samples that open such files. If several of these
 * show the same rule for the name (name_rule.h), it is a guess for all files of the list, and gets
 * an order of its own (order.h), with probes.
 *
 * The caller holds a lock for all of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/path.h"

#define BESIDE_RULES 4  /* of a data set */
#define BESIDE_SETS  64 /* lists and ids of data sets */

/* Notes what a sample has opened: the path that the list has, then the others, each with its zero.
 * Returns false if that is no such message. */
bool beside_add(uint64_t dataset, const char *paths, size_t bytes);
/* Returns how many rules are known for the files of a data set's list. Rules stay. */
unsigned beside_rules(uint64_t dataset);
/* Returns true if a rule is known that was not refuted. */
bool beside_is_known(uint64_t dataset);
/* Writes the path that follows from a listed one. Returns its bytes with the zero: 1 if none
 * follows, or if the rule was guessed wrongly. */
size_t beside_path(uint64_t dataset, unsigned rule, const char *listed, char path[STK_PATH_BYTES]);
/* Returns how many files were read by a rule and not opened, in passes that are over. */
unsigned beside_vain(uint64_t dataset, unsigned rule);
/* Notes so many more of them. */
void beside_note_vain(uint64_t dataset, unsigned rule, uint64_t files);
/* Notes that no sample opens the files of a rule. It is never used again. */
void beside_refute(uint64_t dataset, unsigned rule);
