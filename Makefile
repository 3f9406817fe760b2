# Stoker. `make help` lists what there is to do.
#
# Variables: SAN=address,undefined|thread|... builds with sanitizers (in a directory of their own);
# T=name runs one test; PREFIX and DESTDIR say where to install; CC=clang compiles with clang.
# CPPFLAGS, CFLAGS and LDFLAGS, on the command line or in the environment, come on top of ours.

# Without make's own rules, none of which is used: it tries them all for each file.
MAKEFLAGS += -r

PREFIX ?= /usr/local
SAN ?=
T ?=
# CI and lint say WERROR=-Werror; a user with a newer compiler shall not be stopped by a new warning.
WERROR ?=
# V=1 shows the commands.
Q := $(if $(V),,@)
PYTHON ?= /usr/bin/python3

# With "+" for the commas, which mean something else to the linker.
comma := ,
B := build$(if $(SAN),/$(subst $(comma),+,$(SAN)))
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wconversion \
	-Wpointer-arith -Wcast-qual -Wwrite-strings -Wundef -Wvla $(WERROR)
# No fortify and no stack protector: their helpers are symbols that other libcs lack, and one such
# import makes a musl program refuse to start with us in LD_PRELOAD.
GUEST := -fPIC -fvisibility=hidden -fno-stack-protector -U_FORTIFY_SOURCE -fno-math-errno
# The library is optimised as a whole: after a system call the processor has forgotten where calls
# return to, and each call less on the path of a hit is felt. Only gcc: clang would need another linker. Some gcc
# come without the program that optimises at the link.
# Found out where it is used first, as most starts of make compile nothing.
LTO = $(eval LTO := $(if $(SAN),,$(if $(findstring Free Software,$(shell $(CC) --version 2>/dev/null)),$(shell \
	CC='$(CC)' scripts/needed.sh lto))))$(LTO)
# The user's own, of which the last word is theirs, except for what a file cannot do without: GUEST, and
# NEEDS, which its own rules say. Never CFLAGS: from the command line it cannot be added to.
USERS = $(CPPFLAGS) $(CFLAGS)
NEEDS :=
# A sanitizer's code takes half as long to compile with -O1, runs as fast, and less that it might see is
# optimised away.
OPTIMISE := $(if $(SAN),-O1,-O3)
# A report and a backtrace need lines and functions, which -g1 has. A debugger shows variables with DEBUG=-g.
DEBUG := -g1
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -I. $(WARNINGS) $(OPTIMISE) $(DEBUG) $(USERS) $(GUEST) $(NEEDS) \
	$(CODE) $(COMPILE_SAN)
# Objects hold plain code, which everything but the library links.
CODE = -fno-lto
LINK = $(CC) $(CFLAGS) -fno-lto
COMPILE_SAN := $(if $(SAN),-DSTK_INVARIANTS -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
LINK_SAN := $(if $(SAN),-fsanitize=$(SAN))

# All of a folder, with the folders below it. Where `find` is not sorted, a build would differ from one machine to the next.
C_SOURCES := $(sort $(shell find base cache store ring gpu preload cli decode wrappers/python/core -name '*.c'))
of = $(filter $(addsuffix /%,$(1)),$(C_SOURCES))
BASE := $(call of,base)
CACHE := $(call of,cache)
# store/archive is part of what links LMDB's archive (wrappers/python/python.mk).
STORE := $(filter-out store/archive/%,$(call of,store))
RING := $(call of,ring)
GPU := $(call of,gpu)
PRELOAD := $(call of,preload)
CLI := $(call of,cli)
# The kernels of this processor only; kernels/select.c knows which ones there are.
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))
OTHERS := $(filter-out plain $(MACHINE),$(notdir $(patsubst %/,%,$(wildcard decode/kernels/*/))))
DECODE := $(filter-out $(OTHERS:%=decode/kernels/%/%),$(call of,decode))
objects = $(patsubst %.c,$(B)/obj/%.o,$(1))
# With invariants (base/invariant.h), for the unit tests; a sanitizer's build has them everywhere.
checked = $(patsubst %.c,$(B)/$(if $(SAN),obj,checked)/%.o,$(1))

# The library's objects hold what the linker compiles. Those that the command links as well hold both, which
# takes less time than to compile each file twice.
$(call objects,$(PRELOAD)): CODE = $(or $(LTO),-fno-lto)
$(call objects,$(BASE) $(CACHE)): CODE = $(if $(LTO),$(LTO) -ffat-lto-objects,-fno-lto)

.PHONY: all demo manual test test-all test-newest compatibility compatibility-rows bench bench-peers bench-gpu format style lint install manifest uninstall clean help arrows
.DELETE_ON_ERROR:

all: arrows $(B)/stoker $(B)/libstoker.so $(B)/libstokerdecode.a python ## build the library and the command (into build/)

# ---- what must be installed ----

# Code of an archive can be part of a shared library only if its symbols stay inside: Pillow, OpenCV and
# torchvision bring a libjpeg of their own.
JPEG_LIBS ?= -l:libjpeg.a -lm -Wl,--exclude-libs,libjpeg.a
NEEDED_SH = CC='$(CC)' FLAGS='$(USERS)' LDFLAGS='$(LDFLAGS)' JPEG_LIBS='$(JPEG_LIBS)' PYTHON='$(PYTHON)' scripts/needed.sh
LMDB_LIBS := $(shell $(NEEDED_SH) lmdb)
DEFLATE_LIBS := $(shell $(NEEDED_SH) deflate)
# A build for another machine names what its parts are made of.
NEEDED ?= xxhash jpeg

.PHONY: needed-is-there
needed-is-there:
	@$(NEEDED_SH) check $(NEEDED)
	@$(if $(LMDB_LIBS),,echo "make: no LMDB, so no decoded copies will be kept (--decoded," \
		"stoker.cached): apt-get install liblmdb-dev (Fedora: dnf install lmdb-devel)" >&2)
	@$(if $(DEFLATE_LIBS),,echo "make: no libdeflate, so PNGs are decoded by Pillow alone:" \
		"apt-get install libdeflate-dev (Fedora: dnf install libdeflate-devel)" >&2)

# ---- the library ----

$(B)/exports.map: preload/interpose/symbols.def Makefile | $(B)/obj needed-is-there
	$(Q){ echo '{ global:'; $(CC) -E -P -x c -D'X(name)=name;' $<; echo 'stoker_identity_api; local: *; };'; } >$@

$(B)/libstoker.so: $(call objects,$(BASE) $(CACHE) $(PRELOAD)) $(B)/exports.map
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(CC) $(OPTIMISE) $(DEBUG) $(CFLAGS) $(GUEST) $(or $(LTO),-fno-lto) -shared -o $@ $(filter %.o,$^) $(LDFLAGS) $(LINK_SAN) -Wl,-z,now -Wl,-z,relro \
		-Wl,-z,noexecstack -Wl,-z,noseparate-code $(if $(SAN),,-Wl,--no-undefined) \
		-Wl,--version-script=$(B)/exports.map

# ---- the command ----

# The page of `stoker report` lies in the command (cli/verbs/report.c).
$(B)/obj/cli/verbs/report.o: cli/report/page.html
$(B)/obj/cli/help/completion.o: cli/help/completion.bash

$(B)/stoker: $(call objects,$(BASE) $(CACHE) $(CLI))
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(LINK) -o $@ $^ $(LDFLAGS) $(LINK_SAN) -pthread

# ---- the sample store ----

# Called only where the processor has AVX2 (store/content_hash.c).
ifeq ($(MACHINE),x86_64)
$(B)/obj/store/content_hash_avx2.o: NEEDS += -mavx2
endif

# ---- decoding ----

DECODE_OBJECTS := $(call objects,$(DECODE))

$(B)/libstokerdecode.a: $(DECODE_OBJECTS)
	$(if $(V),,@echo "  AR    $@")
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Each rounding counts, as in the reference: no fused multiplications.
$(DECODE_OBJECTS): NEEDS += -ffp-contract=off
# Without libdeflate PNGs are Pillow's.
$(B)/obj/decode/png/png.o: NEEDS += $(if $(DEFLATE_LIBS),-DSTK_HAS_DEFLATE)
# Without it a compiler makes no vectors of loops that compare floats. No result depends on it.
$(filter %/operations.o %/operations_avx2.o %/operations_avx512.o %/warp.o %/warp_avx2.o %/warp_avx512.o,$(DECODE_OBJECTS)): NEEDS += -fno-trapping-math

# ---- the device ----

include gpu/gpu.mk

# ---- the Python package ----

include wrappers/python/python.mk

# ---- packages ----

include packaging/packaging.mk

# ---- the test file system and the tests' programs ----

include tests/tests.mk

# The README's second command: installs what is missing, then everything but the newest PyPI world.
# T=name runs the tests whose name holds it, of whatever kind.
# Root's machine may be new: most of what the tests need is installed while everything is built.
# That takes longer than to build: what the sanitizers need is built meanwhile as well.
test: ## run all tests (T=name: those with that name)
	@scripts/deps.sh build programs $(if $(filter-out 0,$(shell id -u)),test wild)
	@scripts/deps.sh test wild & packages=$$!; \
		$(MAKE) --no-print-directory -j$(shell nproc) test-programs $(if $(T),,san-programs); built=$$?; \
		wait $$packages && exit $$built
	@scripts/test.sh $(T)

# `make test` takes a slice of these tests, because they take long, or need much to be installed.
test-all: ## run all cases of all tests, of which `test` runs a slice
	@scripts/deps.sh build programs test wild test-all
	@STOKER_ALL=1 scripts/test.sh

# The tests record what they ran in MATRIX; an existing file is only made a page of.
MATRIX ?= build/matrix.jsonl
compatibility: ## write docs/compatibility.md from a run of test-all (or from MATRIX=file)
ifeq ($(origin MATRIX),file)
	@mkdir -p build && rm -f $(MATRIX)
	@STOKER_MATRIX=$(CURDIR)/$(MATRIX) $(MAKE) --no-print-directory test-all
endif
	@scripts/compatibility.py $(MATRIX) >build/compatibility.md
	@mv build/compatibility.md docs/compatibility.md

compatibility-rows: ## put the rows in MATRIX=file, recorded by some tests, into docs/compatibility.md
	@scripts/compatibility.py $(MATRIX) docs/compatibility.md >build/compatibility.md
	@mv build/compatibility.md docs/compatibility.md

# ---- house-keeping ----

$(B)/obj/%.o: %.c Makefile | $(B)/obj needed-is-there
	@mkdir -p $(@D)
	$(if $(V),,@echo "  CC    $<")
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(B)/checked/%.o: NEEDS = -DSTK_INVARIANTS
$(B)/checked/%.o: OPTIMISE = -O1
$(B)/checked/%.o: %.c Makefile | $(B)/obj needed-is-there
	@mkdir -p $(@D)
	$(if $(V),,@echo "  CC    $<")
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(B)/obj:
	@mkdir -p $@

-include $(shell find $(B)/obj $(B)/checked -name '*.d' 2>/dev/null)

arrows: ## check that the folders include each other only downwards
	@scripts/arrows.sh

demo: ## show what it does: a training run on real photographs, without and with Stoker
	@examples/demo/demo.sh

bench: all ## measure hit costs and epoch throughput against their peers
	@bench/run.sh $(T)

# Some 7 GB from PyPI: so only when asked for. VENV=DIRECTORY puts them where they stay.
PEERS := $(if $(filter file,$(origin VENV)),build/venv-peers,$(VENV))
bench-peers: all ## measure decoding against other libraries, which it installs from PyPI
	@bench/peers/install.sh $(PEERS)
	@BENCH_PEERS=$(PEERS) bench/run.sh $(or $(T),peers stages)

bench-gpu: all ## on a machine with a GPU: stoker.Loader against pin_memory, timm and DALI (PYTHON= has them)
	@bench/run.sh gpu

SOURCES = $(shell find base cache preload cli decode store ring gpu wrappers tests bench -name '*.[ch]' 2>/dev/null)

# The command's own help (cli/help/help.c) makes the pages for man and the completions.
manual: $(B)/stoker ## write docs/man and docs/completion.* anew
	@$(PYTHON) scripts/manual.py $(B)/stoker docs/man
	@for shell in bash zsh fish; do $(B)/stoker help --completion $$shell >docs/completion.$$shell; done

# Editors and clang's tools ask for this file: the commands that compile, as `make` would run them.
.PHONY: compile_commands.json
compile_commands.json: ## write how each file is compiled, for editors and clang's tools
	@$(MAKE) --no-print-directory -Bn V=1 all test-programs $(FUZZ_PROGRAMS) | awk -v root='$(CURDIR)' '\
		match($$0, / -c [^ ]*\.c /) { \
			file = substr($$0, RSTART + 4, RLENGTH - 5); gsub(/["\\]/, "\\&"); \
			printf "%s{\"directory\": \"%s\", \"file\": \"%s\", \"command\": \"%s\"}", \
				(lines++ ? ",\n" : "[\n"), root, file, $$0 } \
		END { print "\n]" }' >$@

format: ## format the C sources
	@clang-format -i $(SOURCES)

style: ## format, prose and shell scripts, in seconds
	@scripts/deps.sh style
	@scripts/style.sh $(SOURCES)

lint: all ## all of style, clang build, clang-tidy, cppcheck
	@scripts/deps.sh lint
	@scripts/lint.sh $(SOURCES)

MANUAL := $(notdir $(wildcard docs/man/*))
MANUAL_MANIFEST = $(subst @,$(PY_NEWLINE),$(foreach page,$(MANUAL),@644 docs/man/$(page) \
	share/man/man$(subst .,,$(suffix $(page)))/$(page)))

# The pages lie beside README.md as they do here, so that its links lead to them.
PAGES := README.md CHANGELOG.md SECURITY.md LICENSE $(wildcard docs/*.md docs/*.svg docs/plots/*)
PAGE_MANIFEST = $(subst @,$(PY_NEWLINE),$(foreach page,$(PAGES),@644 $(page) share/doc/stoker/$(page)))

# Where Debian's package has it is another place that the command looks at.
LIBRARY ?= lib/libstoker.so
# The one list of what is installed: mode, file, destination below PREFIX.
define MANIFEST
755 $(B)/stoker bin/stoker
755 $(B)/libstoker.so $(LIBRARY)
644 docs/completion.bash share/bash-completion/completions/stoker
644 docs/completion.zsh share/zsh/site-functions/_stoker
644 docs/completion.fish share/fish/vendor_completions.d/stoker.fish
$(PAGE_MANIFEST)
$(MANUAL_MANIFEST)
$(PY_MANIFEST)
endef
export MANIFEST

manifest: # what install installs, for tests
	@echo "$$MANIFEST" | grep .

# After `make packages` that build is installed, unless this one is asked for with flags of the user's.
STRIP ?= strip
ifneq ($(if $(filter-out build,$(B))$(strip $(USERS) $(LDFLAGS)),,$(wildcard $(RELEASE)/stoker)),)
install:
	@+$(RELEASE_MAKE) install
else
install: all ## install under $(DESTDIR)$(PREFIX), stripped (STRIP= leaves the symbols)
	@echo "$$MANIFEST" | grep . | while read -r mode file to; do \
		install -D -m $$mode $$file "$(DESTDIR)$(PREFIX)/$$to" || exit 1; \
		case "$(if $(STRIP),$$to)" in *.so | bin/*) $(STRIP) "$(DESTDIR)$(PREFIX)/$$to" || exit 1 ;; esac; done
endif

uninstall: ## remove what install put there
	@echo "$$MANIFEST" | grep . | while read -r mode file to; do rm -f "$(DESTDIR)$(PREFIX)/$$to"; done
	@rm -rf "$(DESTDIR)$(PREFIX)/lib/stoker/python"

clean: ## remove build/
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22
