# What the tests are built from and how they run. Part of the Makefile.

$(B)/slowfs: $(wildcard tests/slowfs/*.c) $(wildcard tests/slowfs/*.h)
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(CFLAGS) $(WARNINGS) $(filter %.c,$^) \
		$$(pkg-config --cflags --libs fuse3) -o $@
