# The room gpu/. Part of the Makefile.

GPU_OBJECTS := $(call objects,$(GPU))

# Each rounding counts, here as well: no fused multiplications but those that are asked for.
$(GPU_OBJECTS) $(call objects,tests/cuda/walk.c): NEEDS += -ffp-contract=off
$(GPU_OBJECTS) $(call objects,tests/cuda/walk.c): LTO :=
