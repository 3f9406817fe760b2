# Pixels, against Pillow's. Part of tests/tests.mk.

$(B)/tests/libdecode.so: $(call objects,tests/decode/library.c) $(B)/libstokerdecode.a
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(LINK) -shared -o $@ $^ $(LDFLAGS) $(LINK_SAN) $(JPEG_LIBS) -Wl,--no-undefined

test-decode: $(B)/tests/libdecode.so ## tests of decoding and resizing against Pillow

# One environment for each order of the passes that Pillow has had, besides Debian's own. They go with
# `make clean`, too; PILLOW_VENVS=DIRECTORY puts them where they stay.
PILLOWS := 11.3.0 12.3.0 13.0.0
PILLOW_VENVS ?= build
PILLOW_PYTHONS := $(PILLOWS:%=$(PILLOW_VENVS)/venv-pillow-%/bin/python)
PILLOWS_READY := $(PILLOWS:%=$(PILLOW_VENVS)/venv-pillow-%/ready)
EXACT_CASES ?= 10000

$(PILLOW_VENVS)/venv-pillow-%/ready: tests/decode/decode.mk
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet pillow==$* numpy pytest
	@touch $@

.PHONY: test-exact test-pillows
test-exact: $(B)/tests/libdecode.so $(PILLOWS_READY) ## 10,000 random images against each of four Pillows
	@for python in $(PYTHON) $(PILLOW_PYTHONS); do \
		STOKER_BUILD=$(B) $$python tests/decode/exact.py --cases $(EXACT_CASES) || exit 1; done

# The slice that `make test` runs with Debian's Pillow, with each of the others.
test-pillows: all $(B)/tests/libdecode.so $(PILLOWS_READY) ## tests of pixels and of the hook with three more Pillows
	@for python in $(PILLOW_PYTHONS); do \
		STOKER_BUILD=$(B) $$python -m pytest -q --tb=short tests/decode $(if $(T),-k '$(T)') && \
		STOKER_BUILD=$(B) $$python -m pytest -q --tb=short tests/wrappers/pillow $(if $(T),-k '$(T)') || \
		exit 1; done

# ---- the kernels against each other; those of arm64 in an emulated processor ----

CORPUS := $(wildcard tests/fuzz/corpus/decode/*)
KERNEL_CASES ?= $(if $(filter 1,$(STOKER_ALL)),50000,3000)
# Times four blocks; widths.
STAGE_CASES ?= $(if $(filter 1,$(STOKER_ALL)),5000000 200,300000 140)

# A table of the cases is computed here: no fused multiplications, so that all processors have the same.
$(call objects,tests/decode/kernels.c): NEEDS += -ffp-contract=off
$(B)/tests/kernels: $(call objects,tests/decode/kernels.c) $(B)/libstokerdecode.a
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(LINK) -o $@ $^ $(LDFLAGS) $(LINK_SAN) $(JPEG_LIBS)

$(B)/tests/stages: $(call objects,tests/decode/stages.c) $(B)/libstokerdecode.a
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(LINK) -o $@ $^ $(LDFLAGS) $(LINK_SAN) $(JPEG_LIBS)

.PHONY: test-kernels test-arm64
test-kernels: $(B)/tests/kernels $(B)/tests/stages ## all kernels of this processor against the plain ones, and libjpeg's
	@$(B)/tests/kernels $(KERNEL_CASES) $(CORPUS) >/dev/null
	@$(B)/tests/stages $(STAGE_CASES)

ARM64 := build/arm64
ARM64_JPEG := $(ARM64)/packages/usr
ARM64_MAKE = $(MAKE) --no-print-directory B=$(ARM64) CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar NEEDED=jpeg \
	CFLAGS='-O2 -g -isystem $(ARM64_JPEG)/include -isystem $(ARM64_JPEG)/include/aarch64-linux-gnu' \
	LDFLAGS='-static -L$(ARM64_JPEG)/lib/aarch64-linux-gnu'

$(ARM64_JPEG)/include/jpeglib.h:
	@scripts/arm64-package.sh libjpeg62-turbo-dev $(ARM64)/packages
	@touch $@

test-arm64: $(B)/tests/kernels ## the kernels of arm64 under qemu: they agree, also with this processor
	@scripts/deps.sh arm64
	@$(MAKE) --no-print-directory $(ARM64_JPEG)/include/jpeglib.h
	@$(ARM64_MAKE) $(ARM64)/tests/kernels
	@here=$$($(B)/tests/kernels $(KERNEL_CASES) $(CORPUS)) && \
		there=$$(qemu-aarch64 $(ARM64)/tests/kernels $(KERNEL_CASES) $(CORPUS)) && \
		{ [ "$$here" = "$$there" ] || { echo "arm64 makes $$there of what is $$here here" >&2; exit 1; }; }
