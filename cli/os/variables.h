/* Variables of the environment that look like options (base/options.h) and are none. */
#pragma once

/* Visits each variable whose name begins with STOKER_ and which is no option. `meant` is the option
 * with almost that name, or NULL. Thread-safe unless another thread changes the environment. */
typedef void variables_visit(void *context, const char *name, const char *meant);
void variables_find_unknown(variables_visit *visit, void *context);
