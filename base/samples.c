/* Builds the name from the pid namespace and the boot. */
#include "base/samples.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/sys.h"
#include "base/text.h"

/* Reads the first digits of the boot's identity. */
static bool read_boot(char out[STK_SAMPLES_BOOT_DIGITS])
{
    STK_OWNED_FD int fd =
        stk_sys_openat(AT_FDCWD, "/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    return stk_sys_read(fd, out, STK_SAMPLES_BOOT_DIGITS) == STK_SAMPLES_BOOT_DIGITS;
}

uint64_t stk_samples_namespace(void)
{
    struct stat namespace;
    return stk_sys_fstatat(AT_FDCWD, "/proc/self/ns/pid", &namespace, 0) == 0 ? namespace.st_ino
                                                                              : 0;
}

bool stk_samples_name(uint64_t namespace, char out[STK_SAMPLES_NAME_BYTES])
{
    char boot[STK_SAMPLES_BOOT_DIGITS];
    if (namespace == 0 || !read_boot(boot)) {
        return false;
    }
    struct stk_text name = stk_text_in(out, STK_SAMPLES_NAME_BYTES);
    stk_text_add(&name, "pid-");
    stk_text_add_number(&name, namespace);
    stk_text_add_char(&name, '-');
    stk_text_add_bytes(&name, boot, sizeof boot);
    return !name.cut;
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
