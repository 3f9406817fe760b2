/* What the doctor looks at of programs: libc, libraries, the command, Python. See cli/doctor.h. */
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/doctor.h"
#include "cli/library.h"
#include "cli/python.h"
#include "cli/say.h"

/* Nobody waits longer for a program that is asked something. */
enum { PATIENCE_S = 60 };

void doctor_look_at_libc(struct doctor *doctor)
{
    struct utsname kernel;
    uname(&kernel);
    doctor_ok(doctor, "glibc %s, Linux %s, %s", gnu_get_libc_version(), kernel.release,
              kernel.machine);
}

void doctor_look_at_library(struct doctor *doctor)
{
    char *library = library_find();
    if (library == NULL) {
        doctor_warn(doctor, "install stoker again", "libstoker.so is not where it belongs");
    } else {
        doctor_ok(doctor, "%s", library);
    }
    free(library);
}

/* ---- other libraries ---- */

static void look_at_preload(struct doctor *doctor, const char *name)
{
    if (strstr(name, "libstoker.so") != NULL) {
        return;
    }
    if (strchr(name, '/') != NULL && access(name, R_OK) != 0) {
        doctor_warn(doctor, "unset LD_PRELOAD", "%s: %s: every program says so", name,
                    strerror(errno));
    } else {
        doctor_ok(doctor, "%s comes first and sees every call; Stoker comes behind it", name);
    }
}

void doctor_look_at_preloads(struct doctor *doctor)
{
    unsigned before = doctor->found;
    const char *value = getenv("LD_PRELOAD");
    char *list = must_copy(value != NULL ? value : ""), *rest = list;
    for (char *name; (name = strsep(&rest, ": ")) != NULL;) {
        if (*name != '\0') {
            look_at_preload(doctor, name);
        }
    }
    free(list);
    if (doctor->found == before) {
        doctor_ok(doctor, "no other library");
    }
}

/* ---- the command ---- */

static const char *name_of_program(const struct doctor *doctor)
{
    return doctor->command != NULL ? doctor->command[0] : "python3";
}

void doctor_look_at_command(struct doctor *doctor)
{
    const char *name = name_of_program(doctor);
    const char *reason = command_cannot_preload(name);
    if (!command_is_there(name)) {
        if (doctor->command != NULL) {
            doctor_warn(doctor, "give its path, or look at PATH", "%s is not there", name);
        } else {
            doctor_ok(doctor, "none named, and no python3: stoker doctor -- COMMAND looks at one");
        }
    } else if (reason != NULL) {
        doctor_warn(doctor, "run one that is linked dynamically, and as yourself",
                    "%s is a %s: no library can be loaded into it, so it reads the originals", name,
                    reason);
    } else {
        doctor_ok(doctor, "%s can be served", name);
    }
}

/* ---- Python ---- */

void doctor_look_at_samples(struct doctor *doctor)
{
    if (!python_decodes()) {
        doctor_ok(doctor, "none, as there is no Python package");
    } else if (python_keeps_samples()) {
        doctor_ok(doctor, "LMDB is there");
    } else {
        doctor_warn(doctor, "apt-get install liblmdb-dev, then make again (Fedora: lmdb-devel)",
                    "this build has none, for want of LMDB: nothing decoded is kept");
    }
}

/* A line for each thing found: a word, and what of it. It runs with any Python 3. */
static const char probe[] =
    "import sys\n"
    "print('python', '%d.%d.%d' % sys.version_info[:3], sys.executable)\n"
    "try:\n"
    "    from importlib.metadata import version\n"
    "except ImportError:\n"
    "    version = None\n"
    "for name in ('Pillow', 'torch', 'torchvision'):\n"
    "    try:\n"
    "        print(name, version(name))\n"
    "    except Exception:\n"
    "        pass\n"
    "try:\n"
    "    import PIL.JpegImagePlugin\n"
    "    pil = True\n"
    "except ImportError:\n"
    "    pil = False\n"
    "hook = [m for n, m in sys.modules.items() if n.endswith('stoker._pillow.hook')]\n"
    "print('hook', 'absent' if not pil else 'on' if hook and hook[0]._installed else 'off')\n";

static FILE *ask(const char *python, pid_t *pid)
{
    int ends[2];
    if (pipe(ends) != 0) {
        return NULL;
    }
    *pid = fork();
    if (*pid == 0) {
        char *path = python_path();
        if (path != NULL) {
            setenv("PYTHONPATH", path, 1);
        }
        alarm(PATIENCE_S);
        dup2(ends[1], STDOUT_FILENO);
        dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
        execlp(python, python, "-c", probe, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    return fdopen(ends[0], "r");
}

struct python {
    char version[64], program[512], pillow[64], torch[64], torchvision[64], hook[16];
};

static void read_answer(FILE *answer, struct python *out)
{
    char line[1024];
    while (fgets(line, sizeof line, answer) != NULL) {
        sscanf(line, "python %63s %511[^\n]", out->version, out->program);
        sscanf(line, "Pillow %63s", out->pillow);
        sscanf(line, "torch%*[ ]%63s", out->torch); /* not torchvision's */
        sscanf(line, "torchvision %63s", out->torchvision);
        sscanf(line, "hook %15s", out->hook);
    }
}

static bool ask_python(const char *program, struct python *out)
{
    pid_t pid = -1;
    FILE *answer = ask(program, &pid);
    if (answer == NULL || pid < 0) {
        return false;
    }
    read_answer(answer, out);
    fclose(answer);
    waitpid(pid, NULL, 0);
    return out->version[0] != '\0';
}

static bool is_old(const struct python *python)
{
    int major = 0, minor = 0;
    sscanf(python->version, "%d.%d", &major, &minor);
    return major < 3 || (major == 3 && minor < 11);
}

static void judge_hook(struct doctor *doctor, const struct python *python)
{
    char *package = python_package_path();
    if (package == NULL) {
        doctor_warn(doctor, "apt-get install python3-dev, then make again",
                    "the package stoker is not there: files are served, decoding is Pillow's");
    } else if (is_old(python)) {
        doctor_warn(doctor, "use Python 3.11 or later",
                    "Python %s: files are served, but decoding is left to Pillow", python->version);
    } else if (!python_decodes()) {
        doctor_warn(doctor,
                    "install stoker in an environment of this Python, and run it from there",
                    "this stoker was installed for an older Python: files are served, decoding is "
                    "Pillow's");
    } else if (strcmp(python->hook, "absent") == 0) {
        doctor_ok(doctor, "no Pillow: there is nothing to decode for");
    } else if (strcmp(python->hook, "on") == 0) {
        doctor_ok(doctor, "Pillow %s is hooked: JPEGs are decoded by Stoker", python->pillow);
    } else {
        doctor_warn(doctor, "pip install --upgrade pillow",
                    "Pillow %s is not hooked: its pixels could not be made, or STOKER_DECODE=off",
                    python->pillow);
    }
    free(package);
}

static void say_torch(struct doctor *doctor, const struct python *python)
{
    if (python->torch[0] == '\0') {
        doctor_ok(doctor, "no torch");
        return;
    }
    doctor_ok(doctor, "torch %s: batches of its DataLoader are hooked under `stoker run`",
              python->torch);
    if (python->torchvision[0] != '\0') {
        doctor_ok(doctor, "torchvision %s: ToTensor, Normalize, RandomResizedCrop are hooked",
                  python->torchvision);
    }
}

void doctor_look_at_python(struct doctor *doctor)
{
    struct python python = {.hook = "off"};
    const char *name = name_of_program(doctor);
    const char *base = strrchr(name, '/') != NULL ? strrchr(name, '/') + 1 : name;
    const char *program = strncmp(base, "python", 6) == 0 ? name : "python3";
    if (!ask_python(program, &python)) {
        doctor_ok(doctor, "no %s: nothing is decoded", program);
        return;
    }
    doctor_ok(doctor, "Python %s, %s", python.version, python.program);
    judge_hook(doctor, &python);
    say_torch(doctor, &python);
}
