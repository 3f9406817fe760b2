# The tests' parts, and how they run. Part of the Makefile.

# Python's tests, by a path of this checkout that other users can enter; -rs says why a test is skipped.
PYTEST = STOKER_BUILD='$(B)' tests/lib/reachable.sh $(PYTHON) -m pytest -q -rs --tb=short
NEWEST_PYTEST = $(PYTEST:$(PYTHON)=$(VENV)/bin/python)

$(B)/slowfs: $(wildcard tests/slowfs/*.c) $(wildcard tests/slowfs/*.h)
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O3 -g $(USERS) $(WARNINGS) $(filter %.c,$^) \
		$$(pkg-config --cflags --libs fuse3) -o $@

# ---- tests/preload: programs whose output must not depend on the library ----

PRELOAD_FRAMES := open read stdio stat access user async directory descriptor create make change chdir metadata fdmeta
PRELOAD_SHARED := $(addprefix tests/preload/frames/,frame.c show.c by_syscall.c paths.c pool.c)
PRELOAD_BIN := $(B)/tests/preload
PRELOAD_CC = $(CC) -std=gnu11 -D_GNU_SOURCE -I. $(WARNINGS) $(OPTIMISE) -g $(USERS) $(COMPILE_SAN)
SKEW := $(B)/tests/chaos/skew.so
PRELOAD_PROGRAMS := $(addprefix $(PRELOAD_BIN)/,$(PRELOAD_FRAMES) warm counters)

# The body is in a library, whose constructor is one of the frames.
$(PRELOAD_BIN)/lib%-frame.so: tests/preload/frames/%.c $(PRELOAD_SHARED) \
		$(wildcard tests/preload/frames/*.h)
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) -fPIC -shared -pthread -Wl,-soname,$(@F) $(filter %.c,$^) -ldl -o $@

$(addprefix $(PRELOAD_BIN)/,$(PRELOAD_FRAMES)): $(PRELOAD_BIN)/%: tests/preload/frames/main.c \
		$(PRELOAD_BIN)/lib%-frame.so
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) $^ -Wl,-rpath,'$$ORIGIN' -o $@

$(PRELOAD_BIN)/warm: tests/preload/frames/warm.c
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) $^ -o $@

$(PRELOAD_BIN)/counters: tests/preload/counters.c $(call objects,$(BASE) $(CACHE))
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) $^ $(LINK_SAN) -o $@

.PHONY: test-preload
test-preload: $(B)/libstoker.so $(B)/stoker $(PRELOAD_PROGRAMS) ## tests of the interposed symbols and the ABI
	@$(PYTEST) tests/preload $(if $(T),-k '$(T)')

# ---- tests/unit and tests/stress: the rooms from within ----

UNIT_SOURCES := $(wildcard tests/unit/*.c tests/unit/cli/*.c) tests/cuda/walk.c tests/cuda/image.c \
	wrappers/python/core/feed/thread_pool.c

$(B)/tests/unit: $(call checked,$(UNIT_SOURCES) $(BASE) $(CACHE) $(RING)) \
		$(call objects,$(filter-out cli/main.c,$(CLI)) $(STORE) $(GPU))
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LDFLAGS) $(LINK_SAN) $$(pkg-config --libs check) -llmdb -lm -ldl \
		-Wl,--disable-new-dtags,-rpath,'$$ORIGIN/cuda'

$(B)/tests/hammer: $(call objects,tests/stress/hammer.c tests/unit/private.c $(BASE) $(CACHE))
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(LINK) -o $@ $^ $(LDFLAGS) $(LINK_SAN) -pthread

.PHONY: test-unit test-stress
test-unit: $(B)/tests/unit ## unit tests of the rooms; T names a suite or a case
	@tests/unit/run.sh $(B)/tests/unit $(T)

# The hammer says 77 where it may not have a mount namespace.
test-stress: $(B)/tests/hammer ## processes and threads against one catalogue, some of them killed
	@$(B)/tests/hammer 5 || [ $$? = 77 ]
	@$(B)/tests/hammer 2 threads || [ $$? = 77 ]

# ---- all of that under the sanitizers ----

# The runtime comes first, as it demands, then the library. Library and programs are built with it,
# or the thread sanitizer would not see what the one does for the other.
SAN_RUNTIME = $(shell $(CC) -print-file-name=lib$(if $(findstring thread,$(SAN)),t,a)san.so)
# `make test` runs this: all programs at their first look and when all is known; of races only the
# program that has any.
SAN_SLICE = -k $(if $(findstring thread,$(SAN)),'async and not in_a_run','main and (cold or known)')

.PHONY: test-san test-frames
test-frames: $(B)/libstoker.so $(B)/stoker $(PRELOAD_PROGRAMS)
	@STOKER_SANITIZER=$(if $(SAN),$(SAN_RUNTIME)) $(PYTEST) tests/preload/test_frames.py \
		$(if $(filter 1,$(STOKER_ALL)),,$(SAN_SLICE))

test-san: ## unit tests, stress and the interposed symbols under the sanitizers
	@$(MAKE) --no-print-directory SAN=address,undefined test-unit test-frames \
		$(if $(filter 1,$(STOKER_ALL)),test-stress)
	@$(MAKE) --no-print-directory SAN=thread test-stress test-frames \
		$(if $(filter 1,$(STOKER_ALL)),test-unit)

# ---- tests/fuzz: what reads what it cannot trust ----

FUZZ_TARGETS := path options mounts catalogue decode form
FUZZ_SHARED := tests/fuzz/fuzz.c
$(B)/tests/fuzz-catalogue: $(call objects,tests/fuzz/world.c tests/unit/private.c)
$(B)/tests/fuzz-decode $(B)/tests/fuzz-form: $(call objects,tests/fuzz/jpegs.c) $(DECODE_OBJECTS)
FUZZ_LIBS_decode = $(JPEG_LIBS)
FUZZ_LIBS_form = $(JPEG_LIBS)
# Functions of ours whose place the target takes.
FUZZ_WRAP_mounts := stk_sys_openat stk_sys_read
FUZZ_WRAP_catalogue := stk_sys_clock_ns stk_sys_futex_wait
# libFuzzer brings a driver of its own.
LIBFUZZER := $(findstring fuzzer,$(SAN))
FUZZ_PROGRAMS := $(addprefix $(B)/tests/fuzz-,$(FUZZ_TARGETS))

$(FUZZ_PROGRAMS): $(B)/tests/fuzz-%: $(B)/obj/tests/fuzz/%.o \
		$(call objects,$(if $(LIBFUZZER),,tests/fuzz/driver.c) $(FUZZ_SHARED) $(BASE) $(CACHE))
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LDFLAGS) $(FUZZ_LIBS_$*) -lm \
		$(subst fuzzer-no-link,fuzzer,$(LINK_SAN)) \
		$(foreach one,$(FUZZ_WRAP_$*),-Wl,--wrap=$(one))

.PHONY: test-fuzz run-fuzz fuzz
# Each run has fixed inputs, and a limit for slow machines; with STOKER_ALL=1 ten times as many.
FUZZ_RUNS_path := 100000
FUZZ_RUNS_options := 100000
FUZZ_RUNS_mounts := 50000
FUZZ_RUNS_catalogue := 4000
FUZZ_RUNS_decode := 2000
FUZZ_RUNS_form := 2000
FUZZ_FIRST = $(if $(filter 1,$(STOKER_ALL)),0,100000)
run-fuzz: $(FUZZ_PROGRAMS)
	@$(foreach one,$(FUZZ_TARGETS),$(B)/tests/fuzz-$(one) --seconds $(FUZZ_LIMIT_S) \
		--systematic $(FUZZ_FIRST) --runs $(FUZZ_RUNS_$(one))$(if $(filter 1,$(STOKER_ALL)),0) || [ $$? = 77 ] || exit 1;)

FUZZ_LIMIT_S = $(if $(filter 1,$(STOKER_ALL)),600,60)
test-fuzz: ## torn, random and foreign files and text for what reads them
	@$(MAKE) --no-print-directory SAN=address,undefined run-fuzz

# By hand. With clang its libFuzzer looks for new ways, and keeps what it found for the next time.
FUZZ_S = $(or $(SECONDS),600)
CLANG_FUZZER := $(wildcard $(shell clang -print-resource-dir 2>/dev/null)/lib/linux/libclang_rt.fuzzer-*)
FUZZ_BY_HAND := $(if $(CLANG_FUZZER),CC=clang SAN=fuzzer-no-link$(comma)address$(comma)undefined,\
	SAN=address$(comma)undefined)
fuzz: ## one fuzzer by hand: make fuzz T=catalogue SECONDS=600
	@$(MAKE) --no-print-directory $(FUZZ_BY_HAND) T=$(or $(T),catalogue) fuzz-by-hand

# A little of it each, for what is most exposed. More is for by hand, or STOKER_ALL=1.
LIBFUZZER_S := $(if $(filter 1,$(STOKER_ALL)),600,20)
LIBFUZZER_TARGETS := decode form
.PHONY: test-libfuzzer fuzz-by-hand
test-libfuzzer: ## 20 s each of clang's libFuzzer on the decoder of files and that of forms
ifeq ($(CLANG_FUZZER),)
	@echo "skipped: test-libfuzzer: no clang with libFuzzer (apt-get install clang libclang-rt-14-dev)"
else
	@mkdir -p build/fuzz
	@$(foreach one,$(LIBFUZZER_TARGETS),$(MAKE) --no-print-directory fuzz T=$(one) \
		SECONDS=$(LIBFUZZER_S) >build/fuzz/$(one).log 2>&1 || \
		{ tail -n 50 build/fuzz/$(one).log; exit 1; }; tail -n 1 build/fuzz/$(one).log;)
endif

fuzz-by-hand: $(B)/tests/fuzz-$(T)
	@mkdir -p build/fuzz/$(T)
	@$(if $(LIBFUZZER),$< -max_total_time=$(FUZZ_S) -timeout=60 -artifact_prefix=build/fuzz/ \
		build/fuzz/$(T) $(wildcard tests/fuzz/corpus/$(T)),$< --seconds $(FUZZ_S) --seed $$(date +%s))

# ---- tests/python: the command, and whole jobs on a slow origin ----

VENV ?= build/venv

.PHONY: test-python test-newest
# They wait for a slow origin more than they compute, so three files at a time.
test-python: all $(B)/slowfs $(B)/tests/cuda/libcuda.so.1 ## tests of the command and of whole jobs; T is an expression for -k
	@$(PYTEST) -n 3 --dist loadfile tests/python $(if $(T),-k '$(T)')

# 5.7 GB, of which a processor needs little: so only when asked for. It goes with `make clean`, as
# everything built does; VENV=DIRECTORY puts it where it stays.
VENV_LISTS := $(wildcard tests/*/requirements.txt)
$(VENV)/ready: $(VENV_LISTS)
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet torch torchvision numpy pillow pytest $(VENV_LISTS:%=-r %)
	@touch $@

test-newest: all $(B)/slowfs $(B)/tests/libgpu.so $(B)/tests/cuda/libcuda.so.1 $(B)/tests/cuda/libnvjpeg.so.13 $(B)/tests/device $(SKEW) $(PRELOAD_BIN)/counters $(VENV)/ready ## the tests of Python libraries, with the newest from PyPI
	@$(NEWEST_PYTEST) -m torch tests/python $(if $(T),-k '$(T)')
	@STOKER_ALL=1 $(NEWEST_PYTEST) -m newest tests/wild \
		$(if $(T),-k '$(T)')
	@$(NEWEST_PYTEST) $(addprefix tests/readers/test_,readers.py swmr.py) \
		$(if $(T),-k '$(T)')
	@$(NEWEST_PYTEST) tests/transforms $(if $(T),-k '$(T)')
	@$(NEWEST_PYTEST) tests/wrappers $(if $(T),-k '$(T)')
	@$(NEWEST_PYTEST) tests/feed $(if $(T),-k '$(T)')
	@$(NEWEST_PYTEST) tests/batches $(if $(T),-k '$(T)')
	@$(NEWEST_PYTEST) tests/cuda $(if $(T),-k '$(T)')
	@$(NEWEST_PYTEST) tests/loader $(if $(T),-k '$(T)')
	@$(MAKE) --no-print-directory test-pillows

# ---- tests/paths and tests/versions: every road to a file, every change of one ----

.PHONY: test-paths test-versions
test-paths: all ## tests of links, odd names, descriptors, roots and views
	@$(PYTEST) tests/paths $(if $(T),-k '$(T)')

test-versions: all $(SKEW) ## tests of which version of a file is seen, whoever changes it
	@$(PYTEST) tests/versions $(if $(T),-k '$(T)')

# ---- tests/faults: what fails in the library's own calls ----

FAULTS_PROGRAMS := $(addprefix $(B)/tests/faults/,subject meddle closer) $(PRELOAD_BIN)/counters \
	$(B)/tests/kills/filler

$(B)/tests/faults/subject: tests/faults/subject.c $(addprefix tests/preload/frames/,\
		show.c show.h by_syscall.c by_syscall.h)
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) $(filter %.c,$^) -ldl -pthread -o $@

$(B)/tests/faults/meddle $(B)/tests/faults/closer: $(B)/tests/faults/%: tests/faults/%.c
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) $^ -pthread -o $@

.PHONY: test-faults
test-faults: all $(B)/slowfs $(FAULTS_PROGRAMS) ## tests in which system calls of ours fail, and the origin
	@$(PYTEST) tests/faults $(if $(T),-k '$(T)')

# ---- tests/cpython: CPython's own tests ----

CPYTHON_PROGRAMS := $(B)/tests/cpython/unseen.so

$(B)/tests/cpython/%.so: tests/cpython/%.c
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) -Wno-missing-prototypes -fPIC -shared $< -ldl -o $@

.PHONY: test-cpython
test-cpython: all $(CPYTHON_PROGRAMS) ## CPython's own tests, each case as without
	@$(PYTEST) tests/cpython $(if $(T),-k '$(T)')

include tests/decode/decode.mk
include tests/cuda/cuda.mk

# ---- tests/kills: processes that are killed or stopped while they fill ----

KILLS_PROGRAMS := $(addprefix $(B)/tests/kills/,filler accounts)

$(B)/tests/kills/filler: tests/kills/filler.c
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) $^ -pthread -o $@

$(B)/tests/kills/accounts: tests/kills/accounts.c $(call objects,$(BASE) $(CACHE))
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) $^ $(LINK_SAN) -o $@

.PHONY: test-kills
test-kills: all $(B)/slowfs $(SKEW) $(KILLS_PROGRAMS) ## tests in which processes are killed while they fill
	@$(PYTEST) tests/kills $(if $(T),-k '$(T)')

# ---- tests/chaos: everything goes wrong at the same time ----

CHAOS_PROGRAMS := $(B)/tests/chaos/player $(SKEW) $(B)/tests/kills/accounts
CHAOS_S = $(or $(SECONDS),1800)
SEED ?=

$(B)/tests/chaos/player: $(filter-out %/skew.c,$(wildcard tests/chaos/*.c)) $(wildcard tests/chaos/*.h)
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) $(filter %.c,$^) -o $@

$(SKEW): tests/chaos/skew.c
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) -fPIC -shared $^ -o $@

# The chaos says 77 where it cannot be made.
.PHONY: test-chaos test-chaos-slice
test-chaos: all $(B)/slowfs $(CHAOS_PROGRAMS) ## half an hour in which everything goes wrong: SECONDS=1800 SEED=N
	@$(PYTHON) -B tests/chaos/chaos.py --build $(B) --seconds $(CHAOS_S) $(if $(SEED),--seed $(SEED)) || \
		[ $$? = 77 ]

# `make test` runs two minutes of it.
test-chaos-slice:
	@$(MAKE) --no-print-directory test-chaos SECONDS=120

# ---- tests/samples: the sample store among processes, and in runs ----

.PHONY: test-samples
test-samples: all ## tests of the sample store: runs, kills, many processes
	@$(PYTEST) tests/samples $(if $(T),-k '$(T)')

# ---- tests/neighbours: other libraries, and programs that make it hard ----

NEIGHBOURS := reader vfork forks signals writers stacks limits sandbox
NEIGHBOURS_BIN := $(B)/tests/neighbours
NEIGHBOURS_PROGRAMS := $(addprefix $(NEIGHBOURS_BIN)/,$(NEIGHBOURS) libtracer.so libbetween.so)
NEIGHBOURS_SHARED := tests/neighbours/files.c

$(NEIGHBOURS_BIN)/lib%.so: tests/neighbours/%.c preload/interpose/symbols.def
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) -fPIC -shared $< -ldl -o $@

$(addprefix $(NEIGHBOURS_BIN)/,$(NEIGHBOURS)): $(NEIGHBOURS_BIN)/%: tests/neighbours/%.c \
		$(NEIGHBOURS_SHARED) tests/neighbours/files.h
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) $< $(NEIGHBOURS_SHARED) -pthread -o $@

.PHONY: test-neighbours
test-neighbours: all $(NEIGHBOURS_PROGRAMS) ## tests beside other preloads, in sandboxes, with small stacks
	@$(PYTEST) tests/neighbours $(if $(T),-k '$(T)')

# ---- tests/make: the build itself ----

.PHONY: test-make
test-make: all ## tests of the build: other flags, missing headers, no LMDB
	@$(PYTEST) tests/make $(if $(T),-k '$(T)')

# ---- tests/wild: the libraries, tools and languages that people read data sets with ----

WILD_PROGRAMS := $(PRELOAD_BIN)/counters

.PHONY: test-wild
test-wild: all $(WILD_PROGRAMS) ## tests of Python loaders, command-line tools and languages
	@$(PYTEST) tests/wild $(if $(T),-k '$(T)')

# ---- tests/readers: the libraries that read big files, on a slow origin ----

.PHONY: test-readers
test-readers: all $(B)/slowfs ## tests of HDF5, LMDB, archives, tensors and tables that are read by blocks
	@$(PYTEST) tests/readers $(if $(T),-k '$(T)')

# ---- tests/wrappers: the Python package and the hook ----

.PHONY: test-wrappers test-pillow
test-wrappers: all $(SKEW) ## tests of the Python package, and of Pillow under its hook
	@$(PYTEST) tests/wrappers $(if $(T),-k '$(T)')

# These are Pillow's tests of Debian's version and of three more; T names a file of them, such as
# test_image_resize.
test-pillow: all $(PILLOWS_READY) ## Pillow's own tests, with the hook and without (fetches its sources from PyPI)
	@failed=; for python in $(PYTHON) $(PILLOW_PYTHONS); do \
		STOKER_BUILD=$(B) $$python tests/wrappers/pillow_suite.py $(T) || failed=1; done; [ -z "$$failed" ]

# ---- tests/transforms: the torchvision side of it ----

.PHONY: test-transforms
test-transforms: all ## tests of stoker.transforms, and of torchvision under the hook
	@$(PYTEST) tests/transforms $(if $(T),-k '$(T)')

# ---- tests/feed: batches without worker processes ----

.PHONY: test-feed
test-feed: all $(B)/slowfs ## tests of batches that threads of one process read and decode
	@$(PYTEST) tests/feed $(if $(T),-k '$(T)')

# ---- tests/ahead: reading in the order of the job's loaders ----

.PHONY: test-ahead
test-ahead: all $(B)/slowfs ## tests of reading ahead in the order of torch's samplers
	@$(PYTEST) tests/ahead $(if $(T),-k '$(T)')

# ---- tests/batches: batches of torch's DataLoader ----

.PHONY: test-batches test-batches-slice
test-batches: all ## tests of batches on their way from workers to the main process
	@$(PYTEST) tests/batches $(if $(T),-k '$(T)')
# The mechanism, and the interpreter's end after it: the rest takes ten minutes.
test-batches-slice: all
	@$(PYTEST) $(addprefix tests/batches/test_,slots.py rows_in_place.py faults.py exits.py) $(if $(T),-k '$(T)')

# ---- tests/loader: stoker.Loader ----

.PHONY: test-loader
test-loader: all $(CUDA_OF_TESTS) ## tests of stoker.Loader, here and with the driver of tests/cuda
	@$(PYTEST) tests/loader $(if $(T),-k '$(T)')

# ---- tests/docs: every command of the documents ----

.PHONY: test-docs test-docs-root
test-docs: all ## runs every command of README.md and docs; says which are not run, and why
	@$(PYTEST) -n 2 tests/docs $(if $(T),-k '$(T)')

# Minutes, and 400 packages of Debian's: so only when asked for.
test-docs-root: wheel ## the documents' commands in a root directory with nothing but what the pages say that they need
	@tests/docs/root.sh '$(T)'

# ---- before each commit ----

# All unit tests; each interposed symbol in main, cold and when all is known; the command's verbs and flags.
.PHONY: check
check: test-programs ## before each commit: unit tests, the interposed symbols, the command, in two minutes
	@tests/unit/run.sh $(B)/tests/unit
	@$(PYTEST) -n 3 tests/preload -k 'test_abi or (main and (cold or known))'
	@$(PYTEST) -n 3 --dist loadfile $(addprefix tests/python/test_,help.py verbs.py state.py)
	@scripts/prose.sh

# ---- all of it ----

# In order of growing size, so that what is simple fails first.
.PHONY: test-slowfs
test-slowfs: $(B)/slowfs ## tests of the test file system itself
	@$(PYTHON) -B tests/slowfs/test_slowfs.py

.PHONY: test-programs
test-programs: all $(B)/slowfs $(B)/tests/unit $(B)/tests/hammer $(PRELOAD_PROGRAMS) \
	$(FAULTS_PROGRAMS) $(CPYTHON_PROGRAMS) $(KILLS_PROGRAMS) $(NEIGHBOURS_PROGRAMS) $(CHAOS_PROGRAMS)
