# The device's side of batches, where there is no device. Part of tests/tests.mk.

$(B)/tests/libgpu.so: $(call objects,tests/gpu/library.c tests/gpu/walk.c tests/gpu/image.c $(GPU) $(BASE))
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(LINK) -shared -o $@ $^ $(LDFLAGS) $(LINK_SAN) -lm -ldl -Wl,--no-undefined

# The driver of the tests: the unit tests look for it beside themselves.
$(B)/tests/gpu/libcuda.so.1: $(call objects,tests/gpu/driver.c tests/gpu/walk.c)
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(LINK) -shared -Wl,-soname,$(@F) -o $@ $^ $(LDFLAGS) $(LINK_SAN) -pthread -lm

# All of what stands for a GPU.
CUDA_OF_TESTS := $(B)/tests/gpu/libcuda.so.1

$(B)/tests/unit: $(CUDA_OF_TESTS)

# ---- where there is one ----

$(B)/tests/device: $(call objects,tests/gpu/device.c $(BASE)) $(B)/libstokergpu.a
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(LINK) -o $@ $^ $(LDFLAGS) $(LINK_SAN) -pthread -lm -ldl

# A finding of compute-sanitizer in a session is an error as well.
COMPUTE_SANITIZER := $(firstword $(wildcard /usr/local/cuda/bin/compute-sanitizer) \
	$(shell command -v compute-sanitizer 2>/dev/null))

.PHONY: test-gpu test-cuda
test-gpu: $(B)/tests/device python ## on a machine with a GPU: equality, rates, stoker.Loader (PYTHON= has torch), compute-sanitizer where there is one
	@mkdir -p build/gpu
	@$(B)/tests/device >build/gpu/device.txt; status=$$?; cat build/gpu/device.txt; \
		if [ $$status = 77 ]; then exit 0; fi; [ $$status = 0 ] || exit $$status; \
		$(PYTEST) -rs tests/wrappers/loader/test_on_device.py || exit 1; \
		if [ -z "$(COMPUTE_SANITIZER)" ]; then echo "skipped: no compute-sanitizer"; else \
		$(COMPUTE_SANITIZER) --error-exitcode 1 --leak-check full $(B)/tests/device --equality; fi; \
		status=$$?; echo "(the table is in build/gpu/device.txt)"; exit $$status

test-cuda: gpu $(B)/tests/device $(CUDA_OF_TESTS) $(B)/tests/libgpu.so ## tests of gpu/ beside its unit tests: against torch, and what nvcc made
	@$(PYTEST) tests/gpu $(if $(T),-k '$(T)')
