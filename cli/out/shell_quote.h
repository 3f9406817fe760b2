/* Text as one word of a shell's command line. */
#pragma once

/* Returns the text in single quotes, which every shell reads alike. The caller frees. */
char *shell_quote_always(const char *text);
/* Returns the text for a command that a user shall type. Quotes it only if a shell would change it.
 * No line is broken at its blanks (cli/out/summary_lines.h). The caller frees. */
char *shell_quote(const char *text);
