# Builds the way of batches to a CUDA device, and its kernel. Part of the Makefile.
#
# Where there is nvcc (12.8 or later; NVCC=PATH says which, NVCC= none), the kernel is made for the devices
# of DEVICES, and as PTX for all others from compute capability 7.5 on. Without it, all else is built as
# well, and says that there is no kernel.

GPU_OBJECTS := $(call objects,$(GPU))

# Each rounding counts, here as well: no fused multiplications but those that are asked for.
$(GPU_OBJECTS) $(call objects,tests/gpu/walk.c): gpu/gpu.mk
$(GPU_OBJECTS) $(call objects,tests/gpu/walk.c): NEEDS += -ffp-contract=off

NVCC ?= $(firstword $(wildcard /usr/local/cuda/bin/nvcc) $(shell command -v nvcc 2>/dev/null))
DEVICES ?= 80 90 100
# One kernel for all builds, whatever their flags: nvcc takes long.
KERNEL := build/gpu$(if $(NVCC),,-none)/kernel

$(KERNEL).image.c: gpu/image.sh gpu/kernel.cu gpu/entries.def $(addprefix gpu/,job.h kernel.h device.h)
	@mkdir -p $(@D)
	$(if $(V),,@echo "  NVCC  $@")
	$(Q)NVCC='$(NVCC)' gpu/image.sh $(KERNEL) $(DEVICES)

$(B)/obj/gpu/image.o: $(KERNEL).image.c | $(B)/obj
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

$(B)/libstokergpu.a: $(GPU_OBJECTS) $(B)/obj/gpu/image.o
	$(if $(V),,@echo "  AR    $@")
	$(Q)rm -f $@ && $(AR) rcs $@ $^

.PHONY: gpu
gpu: $(B)/libstokergpu.a ## build the way to a GPU (with nvcc: the kernel; without: all else)
