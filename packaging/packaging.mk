# Packages: a wheel, a tarball, a Debian package. Part of the Makefile.
#
# All are made of one build, in build/release, which runs with glibc 2.17 and later (packaging/link.sh),
# and has no names of this machine in it. What they hold besides is in the manifest of `make install`.

VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
# The time that everything in a package has: that of the last commit.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 1767225600)
RELEASE := build/release
PACKAGES ?= build/packages
RELEASE_MAKE = $(MAKE) --no-print-directory B=$(RELEASE) SAN= CPPFLAGS= LDFLAGS=-s \
	CFLAGS=-ffile-prefix-map=$(CURDIR)=. LINK='MAPS=$(RELEASE)/maps packaging/link.sh $(CC) -fno-lto'

.PHONY: release wheel tarball deb packages test-packages
release:
	@scripts/deps.sh build packages
	@mkdir -p $(RELEASE)/maps
	@$(RELEASE_MAKE) all
	@packaging/sbom.py $(VERSION) $(RELEASE)/maps >$(RELEASE)/stoker.cdx.json

wheel: release ## a binary wheel for CPython 3.11 and later, in build/packages/
	@packaging/wheel.sh $(RELEASE) $(PACKAGES)

packages: wheel ## all packages

test-packages: packages ## each package as somebody would use it who has nothing else of ours
	@$(PYTHON) -m pytest -q -rs --tb=short tests/packages $(if $(T),-k '$(T)')
