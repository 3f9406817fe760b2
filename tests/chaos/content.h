/*
 * The content of a file's version. Each byte follows from the version's stamp and its own offset,
 * and every block begins with the stamp. So any range with the beginning of a block shows its
 * version, and whether every byte is that version's. Versions of one stamp are a beginning of each
 * other: a file that was truncated, or appended to.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CONTENT_BLOCK_BYTES 256
#define CONTENT_MOST_BYTES  (1 << 20)

/* Judgements of bytes, besides a stamp. Stamps are larger. */
#define CONTENT_TORN   0 /* of no single version */
#define CONTENT_SILENT 1 /* too few to judge */

/* Writes `length` bytes, those from offset `at` (a multiple of 8) on; up to 7 bytes more. */
void content_make(uint64_t stamp, size_t at, char *out, size_t length);

/* The stamp that all of these bytes are of, which begin at offset `at`; or TORN or SILENT. */
uint64_t content_judge(const char *bytes, size_t length, size_t at);

/* Says in words what torn bytes are: which stamps or zeros, from where to where. */
void content_explain(const char *bytes, size_t length, size_t at, char *out, size_t out_bytes);
