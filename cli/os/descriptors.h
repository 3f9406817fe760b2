/* The process's limit on descriptors. */
#pragma once

/* Raises the limit as far as this user may: each file that is being filled takes three. Programs
 * that this process starts get the limit, too. */
void descriptors_raise_limit(void);
