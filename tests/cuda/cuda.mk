# The device's side of batches, where there is no device. Part of tests/tests.mk.

$(B)/tests/libgpu.so: $(call objects,tests/cuda/library.c tests/cuda/walk.c tests/cuda/image.c $(GPU) $(BASE))
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(LINK) -shared -o $@ $^ $(LDFLAGS) $(LINK_SAN) -lm -ldl -Wl,--no-undefined

# The driver of the tests: the unit tests look for it beside themselves.
$(B)/tests/cuda/libcuda.so.1: $(call objects,tests/cuda/driver.c tests/cuda/walk.c)
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(LINK) -shared -Wl,-soname,$(@F) -o $@ $^ $(LDFLAGS) $(LINK_SAN) -pthread -lm

$(B)/tests/unit: $(B)/tests/cuda/libcuda.so.1

.PHONY: test-cuda
test-cuda: gpu $(B)/tests/unit $(B)/tests/libgpu.so ## tests of gpu/: the kernel's grid and the way to a device, without one
	@$(B)/tests/unit kernel
	@$(B)/tests/unit gpu
	@STOKER_BUILD=$(B) $(PYTHON) -m pytest -q --tb=short tests/cuda $(if $(T),-k '$(T)')
