# The package `stoker`, in $(B)/python: works with PYTHONPATH=build/python. Part of the Makefile.

PY_SOURCES := $(filter-out $(addprefix wrappers/python/core/,gpu/% samples/%),$(call of,wrappers/python/core))
PY_OBJECTS := $(call objects,$(PY_SOURCES))
PY_INCLUDE := $(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)
PY_TO := $(B)/python/stoker
PY_FILES := $(patsubst wrappers/python/stoker/%,%,$(wildcard $(addprefix wrappers/python/stoker/, \
	*.py */*.py *.pyi py.typed */check.bin))) site.zip _core.abi3.so _gpu_core.abi3.so
PY_GPU := $(call objects,$(call of,wrappers/python/core/gpu))
# Beside it, since it may need liblmdb at run time; not where LMDB's archive can be part of it.
PY_SAMPLES := $(call objects,$(call of,wrappers/python/core/samples) $(if $(findstring .a,$(LMDB_LIBS)),\
	store/archive/stderr.c))
ifneq ($(LMDB_LIBS),)
PY_FILES += _samples_core.abi3.so
endif

.PHONY: python
ifeq ($(wildcard $(PY_INCLUDE)/Python.h),)
python:
	@echo "  (no Python.h for $(PYTHON): the package stoker is not built; install python3-dev)"
PY_INSTALLED :=
else
python: $(addprefix $(PY_TO)/,$(PY_FILES)) ## build the Python package (into build/python/)
PY_INSTALLED := $(PY_FILES)
endif

# `make install` puts the package where the command looks for it.
define PY_NEWLINE


endef
PY_MANIFEST = $(subst @,$(PY_NEWLINE),$(foreach file,$(PY_INSTALLED),@644 $(B)/python/stoker/$(file) \
	lib/stoker/python/stoker/$(file)))

# One binary for all versions from 3.11 on. Python gives each function the module and arguments, wanted or not.
$(PY_OBJECTS) $(PY_SAMPLES) $(PY_GPU): wrappers/python/python.mk
$(PY_OBJECTS) $(PY_SAMPLES) $(PY_GPU): NEEDS += -DPy_LIMITED_API=0x030b0000 -isystem $(PY_INCLUDE) -Wno-unused-parameter

# Symbols stay inside: Pillow, OpenCV and torchvision bring a libjpeg of their own.
$(PY_TO)/_core.abi3.so: $(PY_OBJECTS) $(call objects,$(BASE) $(RING)) $(B)/libstokerdecode.a
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(LINK) -shared -o $@ $^ $(LDFLAGS) $(LINK_SAN) $(JPEG_LIBS) $(DEFLATE_LIBS) -pthread -Wl,-z,now \
		-Wl,-z,relro -Wl,-z,noexecstack

$(PY_TO)/_samples_core.abi3.so: $(PY_SAMPLES) $(call objects,$(BASE) $(STORE))
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(LINK) -shared -o $@ $^ $(LDFLAGS) $(LINK_SAN) $(LMDB_LIBS) -pthread -Wl,-z,now -Wl,-z,relro \
		-Wl,-z,noexecstack

$(PY_TO)/_gpu_core.abi3.so: $(PY_GPU) $(B)/libstokergpu.a $(call objects,$(BASE))
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(LINK) -shared -o $@ $^ $(LDFLAGS) $(LINK_SAN) -pthread -lm -ldl -Wl,-z,now -Wl,-z,relro \
		-Wl,-z,noexecstack

# For a Python that the package is not for (setup.py): what serves files, and says that it does no more.
.PHONY: files
files: arrows $(B)/stoker $(B)/libstoker.so $(PY_TO)/site.zip

# In a zip file, so that no Python writes bytecode beside it; not compressed, since that takes zlib; of no
# time, so that it is the same wherever it is made.
$(PY_TO)/site.zip: wrappers/python/sitecustomize.py wrappers/python/python.mk
	@mkdir -p $(@D)
	$(Q)$(PYTHON) -c 'import sys, zipfile; \
		info = zipfile.ZipInfo("sitecustomize.py"); \
		zipfile.ZipFile(sys.argv[1], "w").writestr(info, open(sys.argv[2]).read())' $@ $<

$(PY_TO)/%: wrappers/python/stoker/%
	@mkdir -p $(@D)
	$(Q)cp $< $@
