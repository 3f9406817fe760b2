# Pixels, against Pillow's. Part of tests/tests.mk.

$(B)/tests/libdecode.so: $(call objects,tests/decode/library.c) $(B)/libstokerdecode.a
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(CC) -shared -fno-lto -o $@ $^ $(LDFLAGS) $(LINK_SAN) $(JPEG_LIBS) -Wl,--no-undefined

.PHONY: test-decode
test-decode: $(B)/tests/libdecode.so ## tests of decoding and resizing against Pillow
	@STOKER_BUILD=$(B) $(PYTHON) -m pytest -q --tb=short tests/decode $(if $(T),-k '$(T)')

# One environment for each order of the passes that Pillow has had, besides Debian's own.
PILLOWS := 11.3.0 12.3.0 13.0.0
EXACT_CASES ?= 10000

build/venv-pillow-%/ready:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet pillow==$* numpy
	@touch $@

.PHONY: test-exact
test-exact: $(B)/tests/libdecode.so $(PILLOWS:%=build/venv-pillow-%/ready) ## 10,000 random images against each of four Pillows
	@for python in $(PYTHON) $(PILLOWS:%=build/venv-pillow-%/bin/python); do \
		STOKER_BUILD=$(B) $$python tests/decode/exact.py --cases $(EXACT_CASES) || exit 1; done
