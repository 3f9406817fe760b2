# The tests' parts, and how they run. Part of the Makefile.

# Python's tests, by a path of this checkout that other users can enter; -rs says why a test is skipped, and fE names
# what failed, as scripts/test.sh reads it. Plugins that other packages have brought take as long to import as pytest.
PYTEST = PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 STOKER_BUILD='$(B)' tests/lib/reachable.sh $(PYTHON) -m pytest -q -rfEs --tb=short
NEWEST_PYTEST = $(PYTEST:$(PYTHON)=$(VENV)/bin/python)

# ---- the parts: one for each folder with Python's tests, test-cache-kills for tests/cache/kills ----

# packaging.mk has the tests of packages. `make test-gpu` is for a machine with a GPU: cuda.mk has the tests of gpu.
# `make test-cluster` wants servers of shared file systems.
FOLDERS := $(filter-out packages gpu cluster,$(patsubst tests/%/,%,$(sort $(dir \
	$(wildcard tests/*/test_*.py tests/*/*/test_*.py)))))
PARTS := $(addprefix test-,$(subst /,-,$(FOLDERS)))

# Jobs on a slow origin wait more than they compute, so several files at a time; not where failed tests are repeated ALONE.
WORKERS_cli-summary := -p xdist -n 2 --dist loadfile
WORKERS_cache-files := -p xdist -n 2 --dist loadfile
WORKERS_cache-tiers := -p xdist -n 2 --dist loadfile
WORKERS_docs := -p xdist -n 2
WORKERS_store := -p xdist -n 2 --dist loadfile

# `make test` runs the mechanism of batches, and the interpreter's end after it: the rest takes ten minutes.
SLICE_wrappers-batches := slots rows_in_place faults exits
whole = $(T)$(filter 1,$(STOKER_ALL))
slice_of = $(if $(SLICE_$(1)),$(if $(whole),,$(patsubst %,/test_%.py,$(SLICE_$(1)))))

.PHONY: $(PARTS) test-cache test-cli test-preload test-wrappers
$(PARTS): test-%: all
	@$(PYTEST) $(if $(ALONE),,$(WORKERS_$*)) $(or $(addprefix tests/$(subst -,/,$*),$(call slice_of,$*)),tests/$(subst -,/,$*)) \
		$(if $(T),-k '$(T)')

test-cache: $(filter test-cache-%,$(PARTS)) ## tests of the cache: files, tiers, versions, kills, faults, readers of big files
test-cli: $(filter test-cli-%,$(PARTS)) ## tests of the command: verbs, run, summary, reading ahead
test-preload: $(filter test-preload-%,$(PARTS)) ## tests of the interposed symbols, the ABI, paths, neighbours, programs
test-wrappers: $(filter test-wrappers-%,$(PARTS)) ## tests of the Python package and the hook: Pillow, torchvision, batches, feeds, loaders
# A part may need more than `all`: its folder's section says it.
test-cli-ahead test-cli-verbs test-cli-summary test-cli-run: $(B)/slowfs
test-cache-files test-cache-tiers test-cache-readers test-store test-wrappers-feed: $(B)/slowfs
test-preload-programs test-slowfs: $(B)/slowfs

$(B)/slowfs: $(wildcard tests/slowfs/*.c) $(wildcard tests/slowfs/*.h)
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O3 -g $(USERS) $(WARNINGS) $(filter %.c,$^) \
		$$(pkg-config --cflags --libs fuse3) -o $@

# ---- tests/preload/symbols: programs whose output must not depend on the library ----

PRELOAD_FRAMES := open read stdio stat access user async directory descriptor create make change chdir metadata fdmeta
PRELOAD_SHARED := $(addprefix tests/preload/symbols/shared/,frame.c show.c by_syscall.c paths.c pool.c)
PRELOAD_BIN := $(B)/tests/preload/symbols
PRELOAD_CC = $(CC) -fno-lto -std=gnu11 -D_GNU_SOURCE -I. $(WARNINGS) $(OPTIMISE) $(DEBUG) $(USERS) $(COMPILE_SAN)
SKEW := $(B)/tests/chaos/skew.so
PRELOAD_PROGRAMS := $(addprefix $(PRELOAD_BIN)/,$(PRELOAD_FRAMES) warm counters)

# The body is in a library, whose constructor is one of the frames.
PRELOAD_FRAME_OBJECTS := $(call objects,$(PRELOAD_SHARED) $(PRELOAD_FRAMES:%=tests/preload/symbols/frames/%.c))
$(PRELOAD_FRAME_OBJECTS): NEEDS += -fvisibility=default
$(PRELOAD_BIN)/lib%-frame.so: $(B)/obj/tests/preload/symbols/frames/%.o $(call objects,$(PRELOAD_SHARED))
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) -shared -pthread -Wl,-soname,$(@F) $^ -ldl -o $@

$(addprefix $(PRELOAD_BIN)/,$(PRELOAD_FRAMES)): $(PRELOAD_BIN)/%: $(B)/obj/tests/preload/symbols/shared/main.o \
		$(PRELOAD_BIN)/lib%-frame.so
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) $^ -Wl,-rpath,'$$ORIGIN' -o $@

$(PRELOAD_BIN)/warm: tests/preload/symbols/frames/warm.c
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) $^ -o $@

$(PRELOAD_BIN)/counters: tests/preload/symbols/counters.c $(call objects,$(BASE) $(CACHE))
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) $^ $(LINK_SAN) -o $@

test-preload-symbols: $(PRELOAD_PROGRAMS)

# ---- tests/unit and tests/cache/stress: the folders from within ----

UNIT_TESTS := $(wildcard tests/unit/*.c tests/unit/*/*.c tests/unit/*/*/*.c)

# A compiler needs longer to optimise these than they run. The reference of the kernel's grid computes for long.
UNOPTIMISED := $(call checked,$(filter-out tests/unit/gpu/%,$(UNIT_TESTS))) $(PRELOAD_FRAME_OBJECTS) \
	$(if $(SAN),$(call objects,$(CLI)))
$(UNOPTIMISED): OPTIMISE = -O0

# The folders of the command that have unit tests, and those below them: a sanitizer's build compiles no other.
UNIT_CLI := $(call of,$(addprefix cli/,ahead args fill history os out run summary tiers top))

UNIT_CORE := wrappers/python/core/feed/thread_pool.c

$(B)/tests/unit: $(call checked,$(UNIT_TESTS) tests/gpu/image.c $(BASE) $(CACHE) $(RING) $(UNIT_CORE)) \
		$(call objects,$(UNIT_CLI) $(STORE) $(GPU) tests/gpu/walk.c)
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LDFLAGS) $(LINK_SAN) $$(pkg-config --libs check) -llmdb -lm -ldl \
		-Wl,--disable-new-dtags,-rpath,'$$ORIGIN/gpu'

$(B)/tests/hammer: $(call objects,tests/cache/stress/hammer.c tests/unit/private.c $(BASE) $(CACHE))
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(LINK) -o $@ $^ $(LDFLAGS) $(LINK_SAN) -pthread

.PHONY: test-unit test-stress
test-unit: $(B)/tests/unit ## unit tests of the folders; T names a suite or a case
	@tests/unit/run.sh $(B)/tests/unit $(T)

# The hammer says 77 where it may not have a mount namespace.
test-stress: $(B)/tests/hammer ## processes and threads against one catalogue, some of them killed
	@$(B)/tests/hammer $(if $(filter 1,$(STOKER_ALL)),5,3) || [ $$? = 77 ]
	@$(B)/tests/hammer 2 threads || [ $$? = 77 ]

# ---- all of that under the sanitizers ----

# The runtime comes first, as it demands, then the library. Library and programs are built with it,
# or the thread sanitizer would not see what the one does for the other.
SAN_RUNTIME = $(shell $(CC) -print-file-name=lib$(if $(findstring thread,$(SAN)),t,a)san.so)
# `make test` runs this: all programs when all is known, those that read at their first look, too; of races only the
# program that has any.
SAN_SLICE = -k $(if $(findstring thread,$(SAN)),'async and not in_a_run','main and (known or test_reading and cold)')
# The slices need no command, and that of races one program.
FRAMES_PROGRAMS = $(if $(filter 1,$(STOKER_ALL)),$(B)/stoker $(PRELOAD_PROGRAMS),$(if $(findstring thread,$(SAN)),\
	$(addprefix $(PRELOAD_BIN)/,async warm counters),$(PRELOAD_PROGRAMS)))

.PHONY: test-san test-san-address test-san-thread test-frames
test-frames: $(B)/libstoker.so $(FRAMES_PROGRAMS)
	@STOKER_SANITIZER=$(if $(SAN),$(SAN_RUNTIME)) $(PYTEST) tests/preload/symbols/test_frames.py \
		$(if $(filter 1,$(STOKER_ALL)),,$(SAN_SLICE))

test-san: test-san-address test-san-thread ## unit tests, stress and the interposed symbols under the sanitizers
test-san-address:
	@$(MAKE) --no-print-directory SAN=address,undefined test-unit test-frames \
		$(if $(filter 1,$(STOKER_ALL)),test-stress)
test-san-thread:
	@$(MAKE) --no-print-directory SAN=thread test-stress test-frames \
		$(if $(filter 1,$(STOKER_ALL)),test-unit)

# ---- tests/fuzz: what reads what it cannot trust ----

FUZZ_TARGETS := path options mounts catalogue decode form png
# Those of clang's libFuzzer, which brings a driver of its own.
LIBFUZZER_TARGETS := decode form
CLANG_FUZZER = $(wildcard $(shell clang -print-resource-dir 2>/dev/null)/lib/linux/libclang_rt.fuzzer-*)

FUZZ_SHARED := tests/fuzz/fuzz.c
fuzzers = $(addprefix $(B)/tests/fuzz-,$(1)) $(addprefix $(B)/tests/libfuzzer-,$(1))
$(call fuzzers,catalogue): $(call objects,tests/fuzz/world.c tests/unit/private.c)
$(call fuzzers,decode form): $(call objects,tests/fuzz/jpegs.c $(DECODE))
$(call fuzzers,png): $(call objects,$(filter decode/png/%,$(DECODE)))
$(call fuzzers,$(filter-out decode form png,$(FUZZ_TARGETS))): $(call objects,$(BASE) $(CACHE))
FUZZ_LIBS_decode = $(JPEG_LIBS) $(DEFLATE_LIBS)
FUZZ_LIBS_form = $(JPEG_LIBS) $(DEFLATE_LIBS)
FUZZ_LIBS_png = $(DEFLATE_LIBS)
# Functions of ours whose place the target takes.
FUZZ_WRAP_mounts := stk_sys_openat stk_sys_read
FUZZ_WRAP_catalogue := stk_sys_clock_ns stk_sys_futex_wait
FUZZ_PROGRAMS := $(addprefix $(B)/tests/fuzz-,$(FUZZ_TARGETS))

define FUZZ_LINK
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LDFLAGS) $(FUZZ_LIBS_$*) -lm $(foreach one,$(FUZZ_WRAP_$*),-Wl,--wrap=$(one))
endef

$(FUZZ_PROGRAMS): $(B)/tests/fuzz-%: $(B)/obj/tests/fuzz/%.o $(call objects,tests/fuzz/driver.c $(FUZZ_SHARED))
	$(FUZZ_LINK) $(LINK_SAN)

$(B)/tests/libfuzzer-%: $(B)/obj/tests/fuzz/%.o $(call objects,$(FUZZ_SHARED))
	$(FUZZ_LINK) $(subst fuzzer-no-link,fuzzer,$(LINK_SAN))

# A sanitizer sees nothing of kernels that this processor does not run, and takes as long again to compile them.
ifeq ($(if $(SAN),$(shell grep -m1 -o avx512bw /proc/cpuinfo 2>/dev/null),sanitizers),)
$(filter %512.o %/vnni.o,$(DECODE_OBJECTS)): COMPILE_SAN :=
endif

.PHONY: test-fuzz run-fuzz fuzz
# Each run has fixed inputs, and a limit for slow machines; with STOKER_ALL=1 twenty times as many, and
# all systematic ones. These take the files of the corpus in turn, so that the first of them have each file.
FUZZ_RUNS_path := 50000
FUZZ_RUNS_options := 50000
FUZZ_RUNS_mounts := 20000
FUZZ_RUNS_catalogue := 2000
FUZZ_RUNS_decode := 1000
FUZZ_RUNS_form := 1000
FUZZ_RUNS_png := 10000
FUZZ_FIRST = $(if $(filter 1,$(STOKER_ALL)),0,30000)
FUZZ_TIMES = $(if $(filter 1,$(STOKER_ALL)),20,1)
FUZZ_LIMIT_S = $(if $(filter 1,$(STOKER_ALL)),600,60)
RUN ?= $(FUZZ_TARGETS)
run-fuzz: $(RUN:%=$(B)/tests/fuzz-%)
	@$(foreach one,$(RUN),$(B)/tests/fuzz-$(one) --seconds $(FUZZ_LIMIT_S) \
		--systematic $(FUZZ_FIRST) --runs $$(($(FUZZ_RUNS_$(one)) * $(FUZZ_TIMES))) || [ $$? = 77 ] || exit 1;)

test-fuzz: ## torn, random and foreign files and text for what reads them
	@$(MAKE) --no-print-directory SAN=address,undefined run-fuzz

# By hand. With clang its libFuzzer looks for new ways, and keeps what it found for the next time.
FUZZ_S = $(or $(SECONDS),600)
WITH_CLANG := CC=clang SAN=fuzzer-no-link$(comma)address$(comma)undefined
FUZZ_BY_HAND = $(if $(CLANG_FUZZER),$(WITH_CLANG),SAN=address$(comma)undefined)
fuzz: ## one fuzzer by hand: make fuzz T=catalogue SECONDS=600
	@$(MAKE) --no-print-directory $(FUZZ_BY_HAND) T=$(or $(T),catalogue) fuzz-by-hand

.PHONY: test-libfuzzer fuzz-by-hand
test-libfuzzer: ## clang's libFuzzer looks for new files and forms that break the decoder, 600 s each; with STOKER_ALL=1
	@$(if $(CLANG_FUZZER),$(LIBFUZZER_RUNS),echo "skipped: test-libfuzzer: no clang with libFuzzer" \
		"(apt-get install clang libclang-rt-14-dev)")

LIBFUZZER_RUNS = mkdir -p build/fuzz; $(foreach one,$(LIBFUZZER_TARGETS),$(MAKE) --no-print-directory fuzz T=$(one) \
	>build/fuzz/$(one).log 2>&1 || { tail -n 50 build/fuzz/$(one).log; exit 1; }; tail -n 1 build/fuzz/$(one).log;)

FUZZER = $(B)/tests/$(if $(findstring fuzzer,$(SAN)),libfuzzer,fuzz)-$(T)
fuzz-by-hand: $(FUZZER)
	@mkdir -p build/fuzz/$(T)
	@$(if $(findstring fuzzer,$(SAN)),$< -max_total_time=$(FUZZ_S) -timeout=60 -artifact_prefix=build/fuzz/ \
		build/fuzz/$(T) $(wildcard tests/fuzz/corpus/$(T)),$< --seconds $(FUZZ_S) --seed $$(date +%s))

# ---- Python libraries ----

VENV ?= build/venv

.PHONY: test-newest
# 5.7 GB, of which a processor needs little: so only when asked for. It goes with `make clean`, as
# everything built does; VENV=DIRECTORY puts it where it stays.
VENV_LISTS := $(wildcard tests/*/requirements.txt tests/*/*/requirements.txt)
$(VENV)/ready: $(VENV_LISTS)
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet torch torchvision numpy pillow pytest $(VENV_LISTS:%=-r %)
	@touch $@

# The folders in which some tests use torch.
TORCH_FOLDERS := cli/summary cli/run cache/files cache/tiers
test-newest: all $(B)/slowfs $(B)/tests/libgpu.so $(B)/tests/gpu/libcuda.so.1 $(B)/tests/device $(SKEW) $(PRELOAD_BIN)/counters $(VENV)/ready ## the tests of Python libraries, with the newest from PyPI
	@$(foreach one,$(TORCH_FOLDERS),$(NEWEST_PYTEST) -m torch tests/$(one) $(if $(T),-k '$(T)') || [ $$? = 5 ] || exit 1;)
	@$(NEWEST_PYTEST) tests/cli/ahead $(if $(T),-k '$(T)')
	@STOKER_ALL=1 $(NEWEST_PYTEST) -m newest tests/wild \
		$(if $(T),-k '$(T)')
	@$(NEWEST_PYTEST) $(addprefix tests/cache/readers/test_,readers.py swmr.py) \
		$(if $(T),-k '$(T)')
	@$(NEWEST_PYTEST) tests/wrappers/torchvision $(if $(T),-k '$(T)')
	@$(NEWEST_PYTEST) tests/wrappers/pillow $(if $(T),-k '$(T)')
	@$(NEWEST_PYTEST) tests/wrappers/decoders $(if $(T),-k '$(T)')
	@$(NEWEST_PYTEST) tests/wrappers/feed $(if $(T),-k '$(T)')
	@$(NEWEST_PYTEST) tests/wrappers/batches $(if $(T),-k '$(T)')
	@$(NEWEST_PYTEST) tests/gpu $(if $(T),-k '$(T)')
	@$(NEWEST_PYTEST) tests/wrappers/loader $(if $(T),-k '$(T)')
	@$(MAKE) --no-print-directory test-pillows

test-cache-versions test-wrappers-pillow: $(SKEW)

# ---- tests/cache/faults: what fails in the library's own calls ----

FAULTS_PROGRAMS := $(addprefix $(B)/tests/cache/faults/,subject meddle closer) $(PRELOAD_BIN)/counters \
	$(B)/tests/cache/kills/filler

$(B)/tests/cache/faults/subject: tests/cache/faults/subject.c $(addprefix tests/preload/symbols/shared/,\
		show.c show.h by_syscall.c by_syscall.h)
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) $(filter %.c,$^) -ldl -pthread -o $@

$(B)/tests/cache/faults/meddle $(B)/tests/cache/faults/closer: $(B)/tests/cache/faults/%: tests/cache/faults/%.c
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) $^ -pthread -o $@

test-cache-faults: $(B)/slowfs $(FAULTS_PROGRAMS)

# ---- tests/preload/cpython: CPython's own tests ----

CPYTHON_PROGRAMS := $(B)/tests/preload/cpython/unseen.so

$(B)/tests/preload/cpython/%.so: tests/preload/cpython/%.c
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) -Wno-missing-prototypes -fPIC -shared $< -ldl -o $@

test-preload-cpython: $(CPYTHON_PROGRAMS)

include tests/decode/decode.mk
include tests/gpu/cuda.mk

# ---- tests/cache/kills: processes that are killed or stopped while they fill ----

KILLS_PROGRAMS := $(addprefix $(B)/tests/cache/kills/,filler accounts)

$(B)/tests/cache/kills/filler: tests/cache/kills/filler.c
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) $^ -pthread -o $@

$(B)/tests/cache/kills/accounts: tests/cache/kills/accounts.c $(call objects,$(BASE) $(CACHE))
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) $^ $(LINK_SAN) -o $@

test-cache-kills: $(B)/slowfs $(SKEW) $(KILLS_PROGRAMS)

# ---- tests/chaos: everything goes wrong at the same time ----

CHAOS_PROGRAMS := $(B)/tests/chaos/player $(SKEW) $(B)/tests/cache/kills/accounts
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

# ---- tests/cluster: machines of namespaces, with a real file system that they share ----

.PHONY: test-cluster
test-cluster: all $(B)/slowfs ## three machines of namespaces train with a tier on GlusterFS and sshfs, as root
	@$(PYTEST) tests/cluster $(if $(T),-k '$(T)')

# The chaos says 77 where it cannot be made.
.PHONY: test-chaos test-chaos-slice
test-chaos: all $(B)/slowfs $(CHAOS_PROGRAMS) ## half an hour in which everything goes wrong: SECONDS=1800 SEED=N
	@$(PYTHON) -B tests/chaos/chaos.py --build $(B) --seconds $(CHAOS_S) $(if $(SEED),--seed $(SEED)) || \
		[ $$? = 77 ]

# `make test` runs a little of it, with another seed each time.
test-chaos-slice:
	@$(MAKE) --no-print-directory test-chaos SECONDS=$(if $(filter 1,$(STOKER_ALL)),300,20)

# ---- tests/preload/neighbours: other libraries, and programs that make it hard ----

NEIGHBOURS := reader vfork forks signals writers stacks limits sandbox
NEIGHBOURS_BIN := $(B)/tests/preload/neighbours
NEIGHBOURS_PROGRAMS := $(addprefix $(NEIGHBOURS_BIN)/,$(NEIGHBOURS) libtracer.so libbetween.so)
NEIGHBOURS_SHARED := tests/preload/neighbours/files.c

$(NEIGHBOURS_BIN)/lib%.so: tests/preload/neighbours/%.c preload/interpose/symbols.def
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) -fPIC -shared $< -ldl -o $@

$(addprefix $(NEIGHBOURS_BIN)/,$(NEIGHBOURS)): $(NEIGHBOURS_BIN)/%: tests/preload/neighbours/%.c \
		$(NEIGHBOURS_SHARED) tests/preload/neighbours/files.h
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(PRELOAD_CC) $< $(NEIGHBOURS_SHARED) -pthread -o $@

test-preload-neighbours: $(NEIGHBOURS_PROGRAMS)

# ---- tests/wild: the libraries, tools and languages that people read data sets with ----

WILD_PROGRAMS := $(PRELOAD_BIN)/counters

test-wild: $(WILD_PROGRAMS) ## tests of Python loaders, command-line tools and languages

# ---- tests/wrappers ----

.PHONY: test-pillow
# These are Pillow's tests of Debian's version and of three more; T names a file of them, such as
# test_image_resize.
test-pillow: all $(PILLOWS_READY) ## Pillow's own tests, with the hook and without (fetches its sources from PyPI)
	@failed=; for python in $(PYTHON) $(PILLOW_PYTHONS); do \
		STOKER_BUILD=$(B) $$python tests/wrappers/pillow/pillow_suite.py $(T) || failed=1; done; [ -z "$$failed" ]

test-wrappers-loader test-cli-summary: $(CUDA_OF_TESTS)

# ---- tests/docs: every command of the documents ----

.PHONY: test-docs-root
test-docs: ## runs every command of README.md and docs; says which are not run, and why

# Minutes, and 400 packages of Debian's: so only when asked for.
test-docs-root: wheel ## the documents' commands in a root directory with nothing but what the pages say that they need
	@tests/docs/root.sh '$(T)'

# ---- before each commit ----

# All unit tests; each interposed symbol in main, cold and when all is known; the command's verbs and flags; the
# functions and tests that docs/design names.
.PHONY: check
check: test-programs ## before each commit: unit tests, the interposed symbols, the command, in two minutes
	@tests/unit/run.sh $(B)/tests/unit
	@$(PYTEST) -p xdist -n 3 tests/preload/symbols -k 'test_abi or (main and (cold or known))'
	@$(PYTEST) -p xdist -n 3 --dist loadfile $(addprefix tests/cli/verbs/test_,help.py verbs.py state.py) tests/docs/test_design.py
	@scripts/prose.sh

# ---- all of it ----

# In order of growing size, so that what is simple fails first.
.PHONY: test-programs
test-programs: all $(B)/slowfs $(B)/tests/unit $(B)/tests/hammer $(PRELOAD_PROGRAMS) \
	$(FAULTS_PROGRAMS) $(CPYTHON_PROGRAMS) $(KILLS_PROGRAMS) $(NEIGHBOURS_PROGRAMS) $(CHAOS_PROGRAMS)

# `make test` builds these while it installs packages: programs of the sanitizers' parts, and fuzzers.
SAN_PROGRAMS = $(B)/libstoker.so $(FRAMES_PROGRAMS) $(if $(findstring thread,$(SAN)),$(B)/tests/hammer,$(B)/tests/unit \
	$(FUZZ_PROGRAMS))
SANITIZERS := address$(comma)undefined thread
.PHONY: san-programs programs-of-san $(SANITIZERS:%=programs-of-%)
programs-of-san: $(SAN_PROGRAMS)
$(SANITIZERS:%=programs-of-%): programs-of-%:
	@$(MAKE) --no-print-directory SAN=$* programs-of-san
san-programs: $(SANITIZERS:%=programs-of-%)
