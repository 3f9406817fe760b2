# The device's side of batches, where there is no device. Part of tests/tests.mk.

$(B)/tests/libgpu.so: $(call objects,tests/cuda/library.c tests/cuda/walk.c $(GPU) $(BASE))
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(LINK) -shared -o $@ $^ $(LDFLAGS) $(LINK_SAN) -lm -ldl -Wl,--no-undefined

.PHONY: test-cuda
test-cuda: $(B)/tests/unit $(B)/tests/libgpu.so ## tests of gpu/: the kernel's grid on this processor, against torch
	@$(B)/tests/unit kernel
	@STOKER_BUILD=$(B) $(PYTHON) -m pytest -q --tb=short tests/cuda $(if $(T),-k '$(T)')
