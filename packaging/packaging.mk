# Packages: a wheel, a tarball, a Debian package. Part of the Makefile.
#
# All are made of one build, in build/release, which runs with glibc 2.17 and later (packaging/link.sh),
# and has no names of this machine in it. The manifest of `make install` has all else that they hold.
# CROSS=aarch64 makes those of arm64, in build/release-aarch64.

VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
# The time that everything in a package has: that of the last commit. Only here, since other programs,
# such as mksquashfs, know the variable as well.
release wheel tarball deb packages test-packages: export SOURCE_DATE_EPOCH ?= \
	$(shell git log -1 --format=%ct 2>/dev/null || echo 1767225600)
CROSS ?=
PACKAGED := $(or $(CROSS),$(MACHINE))
RELEASE := build/release$(CROSS:%=-%)
PACKAGES ?= build/packages
TARBALL := stoker-$(VERSION)-linux-$(PACKAGED)
RELEASE_CC := $(if $(CROSS),$(CROSS)-linux-gnu-gcc,$(CC))
RELEASE_MAKE = $(MAKE) --no-print-directory B=$(RELEASE) SAN= STRIP= CC=$(RELEASE_CC) CPPFLAGS= LDFLAGS='-s $(CROSS_LIBS)' \
	CFLAGS='-ffile-prefix-map=$(CURDIR)=. $(CROSS_HEADERS)' $(CROSS_VARIABLES) \
	LINK='MAPS=$(RELEASE)/maps packaging/link.sh $(RELEASE_CC) -fno-lto'

# Headers and archives of the other machine, unpacked from Debian's packages; xxHash is headers alone.
ifneq ($(CROSS),)
CROSS_ROOT := $(RELEASE)/packages/usr
CROSS_PACKAGES := libjpeg62-turbo-dev libdeflate-dev liblmdb-dev libpython3.11-dev libexpat1-dev zlib1g-dev
CROSS_HEADERS := -isystem $(CROSS_ROOT)/include -isystem $(CROSS_ROOT)/include/$(CROSS)-linux-gnu
CROSS_LIBS := -L$(CROSS_ROOT)/lib/$(CROSS)-linux-gnu
CROSS_VARIABLES = AR=$(CROSS)-linux-gnu-ar NEEDED=jpeg PY_INCLUDE=$(CROSS_ROOT)/include/python3.11

$(CROSS_ROOT)/ready:
	@scripts/deps.sh arm64
	@for package in $(CROSS_PACKAGES); do \
		scripts/arm64-package.sh $$package $(RELEASE)/packages || exit 1; done
	@cp /usr/include/xxhash.h $(CROSS_ROOT)/include
	@touch $@
endif

# The parts of which all, or these, of the binaries are made.
bill = CC=$(RELEASE_CC) FLAGS='$(CROSS_HEADERS)' packaging/sbom.py $(VERSION) $(RELEASE)/maps $(2) >$(RELEASE)/$(1)

.PHONY: release wheel tarball deb packages test-packages
release: $(if $(CROSS),$(CROSS_ROOT)/ready)
	@scripts/deps.sh build packages
	@mkdir -p $(RELEASE)/maps
	@+$(RELEASE_MAKE) all
	@$(call bill,stoker.cdx.json,)
	@$(call bill,stoker-files.cdx.json,stoker.map)

wheel: release ## binary wheels, in build/packages/: for CPython 3.11 and later, and, for files alone, for others
	@packaging/wheel.sh $(RELEASE) $(PACKAGED) $(PACKAGES)

LEGAL = LICENSE packaging/licenses/*.txt $(RELEASE)/stoker.cdx.json
# Each package has a directory of its own, which `make install` fills.
tarball deb: STAGE = $(RELEASE)/stage/$@
stage = rm -rf $(STAGE) && $(RELEASE_MAKE) -s install DESTDIR=$(CURDIR)/$(STAGE) PREFIX=$(1)

tarball: release ## a tarball that works wherever it is unpacked
	@+$(call stage,/$(TARBALL))
	@install -D -m 644 -t $(STAGE)/$(TARBALL)/share/doc/stoker $(LEGAL)
	@mkdir -p $(PACKAGES)
	@tar -C $(STAGE) --sort=name --mtime=@$(SOURCE_DATE_EPOCH) --owner=0 --group=0 --numeric-owner \
		--format=gnu -c $(TARBALL) | gzip -n9 >$(PACKAGES)/$(TARBALL).tar.gz
	@ls $(PACKAGES)/$(TARBALL).tar.gz

deb: release ## a Debian package
	@+$(call stage,/usr) LIBRARY=lib/stoker/libstoker.so
	@packaging/deb.sh $(STAGE) $(VERSION) $(PACKAGED) $(PACKAGES) $(LEGAL)

packages: wheel tarball deb ## all packages (CROSS=aarch64: those of arm64)

test-packages: packages ## each package as somebody would use it who has nothing else of ours
	@$(PYTHON) -m pytest -q -rs --tb=short tests/packages $(if $(T),-k '$(T)')
