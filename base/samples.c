/* Builds the name from the pid namespace and the boot. */
#include "base/samples.h"

#include <string.h>

#include "base/proc.h"
#include "base/text.h"

bool stk_samples_name(uint64_t namespace, char out[STK_SAMPLES_NAME_BYTES])
{
    char boot[STK_SAMPLES_BOOT_DIGITS + 1]; /* the first digits of the boot's identity */
    if (namespace == 0 || stk_proc_read_text("/proc/sys/kernel/random/boot_id", boot,
                                             sizeof boot) != STK_SAMPLES_BOOT_DIGITS) {
        return false;
    }
    return stk_text_print(out, STK_SAMPLES_NAME_BYTES, "pid-%lu-%s", namespace, boot);
}

bool stk_samples_is_name(const char *name)
{
    if (strncmp(name, "pid-", 4) != 0) {
        return false;
    }
    size_t number = strspn(name + 4, "0123456789");
    const char *boot = name + 4 + number + 1;
    return number > 0 && boot[-1] == '-' &&
           strspn(boot, "0123456789abcdef") == STK_SAMPLES_BOOT_DIGITS &&
           boot[STK_SAMPLES_BOOT_DIGITS] == '\0';
}
