/* Checks of programs: libc, libraries, the command, Python. */
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "cli/os/command.h"
#include "cli/os/detached.h"
#include "cli/os/library.h"
#include "cli/os/python.h"
#include "cli/os/variables.h"
#include "cli/out/say.h"

#define PATIENCE_S 60 /* the longest wait for a program's answer */

void doctor_look_at_libc(struct doctor *doctor)
{
    struct utsname kernel;
    uname(&kernel);
    doctor_ok(doctor, "glibc %s, Linux %s, %s", gnu_get_libc_version(), kernel.release,
              kernel.machine);
}

void doctor_look_at_library(struct doctor *doctor)
{
    OWNED char *library = library_find();
    if (library == NULL) {
        doctor_warn(doctor, "install stoker again", "libstoker.so is not where it belongs");
    } else {
        doctor_ok(doctor, "%s", library);
    }
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

/* ---- the environment ---- */

/* One that is near no option may be the user's own. */
static void look_at_unknown(void *context, const char *name, const char *meant)
{
    struct doctor *doctor = context;
    if (meant != NULL) {
        OWNED char *fix = must_format("unset %s, and set %s", name, meant);
        doctor_warn(doctor, fix, "%s is no variable of Stoker's, and does nothing", name);
    } else {
        doctor_advise(doctor, "`stoker help environment` lists what is read",
                      "%s is no variable of Stoker's, and does nothing", name);
    }
}

void doctor_look_at_variables(struct doctor *doctor)
{
    unsigned before = doctor->found;
    variables_find_unknown(look_at_unknown, doctor);
    if (doctor->found == before) {
        doctor_ok(doctor, "none is misspelled");
    }
}

/* ---- the command ---- */

static const char *name_of_program(const struct doctor *doctor)
{
    return doctor->command != NULL ? doctor->command[0] : "python3";
}

struct program {
    bool there;
    char reason[32]; /* why the library cannot be preloaded, or "" */
};

static void look_for_program(void *asked, int out)
{
    const char *name = *(const char **)asked;
    struct program program = {.there = command_is_there(name)};
    const char *reason = command_cannot_preload(name);
    snprintf(program.reason, sizeof program.reason, "%s", reason != NULL ? reason : "");
    detached_answer(out, &program, sizeof program);
}

static void judge_program(struct doctor *doctor, const char *name, const struct program *program)
{
    if (!program->there) {
        if (doctor->command != NULL) {
            doctor_warn(doctor, "give its path, or look at PATH", "%s is not there", name);
        } else {
            doctor_ok(doctor, "none named, and no python3: stoker doctor -- COMMAND looks at one");
        }
    } else if (program->reason[0] != '\0') {
        doctor_warn(doctor, "run one that is linked dynamically, and as yourself",
                    "%s is a %s: no library can be loaded into it, so it reads the originals", name,
                    program->reason);
    } else {
        doctor_ok(doctor, "%s can be served", name);
    }
}

void doctor_look_at_command(struct doctor *doctor)
{
    struct program program;
    const char *name = name_of_program(doctor);
    enum detached_state state =
        detached_ask(look_for_program, &name, &program, sizeof program, DOCTOR_PATIENCE_S * 1000);
    if (state == DETACHED_ANSWERED) {
        judge_program(doctor, name, &program);
    } else if (state == DETACHED_LATE) {
        doctor->late = true;
        doctor_warn(doctor, "mend or unmount the file system that it, or PATH, leads to",
                    "%s: no answer for %d s from where it lies", name, DOCTOR_PATIENCE_S);
    } else {
        doctor_no_process(doctor, name);
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

/* Prints a line for each thing found: a word, and its value. Runs with any Python 3. */
static const char question[] = PYTHON_ISOLATED
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

/* Runs the question, which ends with this process. */
static void run_question(const char *python, int out)
{
    char *path = python_path();
    python_set_isolated(path != NULL ? path : getenv("PYTHONPATH"));
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(out, STDOUT_FILENO);
    execlp(python, python, "-c", question, (char *)NULL);
    _exit(127);
}

static FILE *start_question(const char *python)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return NULL;
    }
    pid_t pid = fork();
    if (pid == 0) {
        run_question(python, ends[1]);
    }
    close(ends[1]);
    return fdopen(ends[0], "re");
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
        sscanf(line, "torch%*[ ]%63s", out->torch); /* a line of torchvision does not match */
        sscanf(line, "torchvision %63s", out->torchvision);
        sscanf(line, "hook %15s", out->hook);
    }
}

static void ask_python(void *asked, int out)
{
    struct python python = {.hook = "off"};
    FILE *answer = start_question(*(const char **)asked);
    if (answer != NULL) {
        read_answer(answer, &python);
    }
    detached_answer(out, &python, sizeof python);
}

static bool is_old(const struct python *python)
{
    int major = 0, minor = 0;
    sscanf(python->version, "%d.%d", &major, &minor);
    return major < 3 || (major == 3 && minor < 11);
}

static void judge_hook(struct doctor *doctor, const struct python *python)
{
    OWNED char *package = python_package_path();
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

/* Returns the program that is probably the job's Python. */
static const char *name_of_python(const struct doctor *doctor)
{
    const char *name = name_of_program(doctor);
    const char *base = strrchr(name, '/') != NULL ? strrchr(name, '/') + 1 : name;
    return strncmp(base, "python", 6) == 0 ? name : "python3";
}

static void judge_python(struct doctor *doctor, const char *program, const struct python *python)
{
    if (python->version[0] == '\0') {
        doctor_ok(doctor, "no %s: nothing is decoded", program);
        return;
    }
    doctor_ok(doctor, "Python %s, %s", python->version, python->program);
    judge_hook(doctor, python);
    say_torch(doctor, python);
}

void doctor_look_at_python(struct doctor *doctor)
{
    struct python python = {.hook = "off"};
    const char *program = name_of_python(doctor);
    if (doctor->late) {
        doctor_ok(doctor, "not asked, as the command did not answer either");
        return;
    }
    switch (detached_ask(ask_python, &program, &python, sizeof python, PATIENCE_S * 1000)) {
    case DETACHED_LATE:
        doctor_warn(doctor, "see what it waits for: python3 -X importtime -c 'import PIL'",
                    "%s has not told its version in %d s", program, PATIENCE_S);
        break;
    case DETACHED_NONE:
        doctor_no_process(doctor, program);
        break;
    default:
        judge_python(doctor, program, &python);
    }
}
