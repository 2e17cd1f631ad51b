# Kernelwright. Nothing here lists sources: src/*/*.c are the program, tests/unit/test_*.c the
# unit tests, tests/*/run and tests/*/*.t the other tests, and knowledge/ tasks/ prompts/ python/
# are embedded, as is src/backend/builtin/.
#
#   make                 build/kwright (and build/libkw.a, all but main.c, for the tests)
#   make check           every test        make check-quick   unit tests only
#   make check-gpu       what needs an NVIDIA GPU; KWRIGHT=PATH tests that program and builds nothing; PART='NAME...': some of it
#   make install PREFIX=/usr/local [DESTDIR=]
#   make portable        one binary that needs only libc, in a tarball
#   make bench           figures of this machine     make clean
#
# B=DIR builds elsewhere; CC=clang another compiler; SAN=1 with ASan and UBSan.

B := build
VERSION := $(shell cat VERSION)
ifeq ($(origin CC),default)
CC := gcc
endif
PREFIX := /usr/local
PKG_CONFIG := pkg-config
PKGS := jansson libfyaml sqlite3 libseccomp libcrypto libxxhash

WARN := -Wall -Wextra -Wpedantic -Werror -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes \
	-Wconversion -Wno-sign-conversion -Wformat=2 -Wwrite-strings -Wcast-qual -fno-common
OPT := -O2 -g
ifdef SAN
OPT := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
endif
# FUZZ=1 CC=clang: for the fuzz targets. Without libFuzzer it is a plain build.
ifdef FUZZ
FUZZ_OK := $(shell echo 'int LLVMFuzzerTestOneInput(void){return 0;}' | \
	$(CC) -fsanitize=fuzzer,address,undefined -x c - -o /dev/null 2>/dev/null && echo yes)
ifneq ($(FUZZ_OK),)
OPT := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
endif
endif

NEEDS_PKGS := $(if $(MAKECMDGOALS),$(filter-out clean bench-help $(if $(KWRIGHT),check-gpu),$(MAKECMDGOALS)),all)
ifneq ($(NEEDS_PKGS),)
MISSING := $(shell command -v $(PKG_CONFIG) >/dev/null || echo pkg-config; \
	for p in $(PKGS); do $(PKG_CONFIG) --exists $$p 2>/dev/null || echo $$p; done)
ifneq ($(MISSING),)
$(error missing: $(MISSING). `tools/setup --build` installs what is needed)
endif
endif

CPPFLAGS := -D_GNU_SOURCE -Isrc -include src/base/banned.h -DKW_VERSION='"$(VERSION)"' \
	$(shell $(PKG_CONFIG) --cflags $(PKGS))
CFLAGS := -std=c17 $(OPT) $(WARN) $(EXTRA_CFLAGS)
LIBS := -Wl,--as-needed $(shell $(PKG_CONFIG) --libs $(PKGS)) -lm -ldl -lpthread

MAIN := $(wildcard src/cmd/main.c)
LIB_SRCS := $(filter-out src/cmd/main.c,$(wildcard src/*/*.c))
LIB_OBJS := $(LIB_SRCS:%.c=$(B)/%.o)
TEST_SRCS := $(wildcard tests/unit/test_*.c)
TESTS := $(TEST_SRCS:%.c=$(B)/%)
FUZZ_SRCS := $(wildcard tests/fuzz/fuzz_*.c)
FUZZERS := $(if $(FUZZ_OK),$(FUZZ_SRCS:%.c=$(B)/%))
SCRIPTS := $(wildcard tests/*/run tests/*/*.t)
DATA := $(shell find knowledge tasks prompts python src/backend/builtin $(wildcard src/judge/*.cu) -type f \
	! -name '*.pyc' ! -name '.*' 2>/dev/null | LC_ALL=C sort)

# V=1 shows the commands.
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' $(1) $@)

.PHONY: all objects unit fuzz check check-quick check-gpu install portable bench clean
.SECONDARY:
.DELETE_ON_ERROR:

all: $(B)/libkw.a $(if $(MAIN),$(B)/kwright)

objects: $(LIB_OBJS) $(MAIN:%.c=$(B)/%.o) $(TESTS:%=%.o) $(FUZZ_SRCS:%.c=$(B)/%.o)
unit: $(TESTS)
fuzz: $(FUZZERS)

# Rebuild when the compiler or a flag changes, not when this file does.
$(B)/flags: FORCE
	@mkdir -p $(B)
	@printf '%s\n' '$(subst ','\'',$(CC) $(CPPFLAGS) $(CFLAGS))' | cmp -s - $@ || \
	 printf '%s\n' '$(subst ','\'',$(CC) $(CPPFLAGS) $(CFLAGS))' > $@
.PHONY: FORCE
FORCE:

$(B)/src/base/alloc.o: CPPFLAGS += -DKW_BASE_UNSAFE

$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

# The list of files is a prerequisite too: a file that went away must go away here.
$(B)/embedded.list: FORCE
	@mkdir -p $(B)
	@printf '%s\n' $(DATA) | cmp -s - $@ || printf '%s\n' $(DATA) > $@

$(B)/embedded.c: tools/embed $(B)/embedded.list
	$(Q)tools/embed $(B)/embedded.list > $@

$(B)/embedded.o: $(B)/embedded.c $(B)/flags $(DATA)
	$(call say,CC)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

$(B)/libkw.a: $(LIB_OBJS) $(B)/embedded.o
	@rm -f $@
	$(call say,AR)
	$(Q)ar rcs $@ $^

$(B)/kwright: $(B)/src/cmd/main.o $(B)/libkw.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/tests/unit/%: $(B)/tests/unit/%.o $(B)/libkw.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/tests/fuzz/%: $(B)/tests/fuzz/%.o $(B)/libkw.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(LIBS)

# The tests learn where things are from these. Controls in OpenCL are in tests/cheats/opencl.t.
TEST_ENV = KW_TOP='$(CURDIR)' KW_B='$(B)' KWRIGHT='$(abspath $(B)/kwright)' \
	KW_FUZZ_B='$(abspath $(B)-clang)' \
	KW_CONTROLS='--but cl' ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
	LSAN_OPTIONS=suppressions=$(CURDIR)/tests/lsan.supp:print_suppressions=0

check-quick: all unit
	@$(TEST_ENV) tools/run-tests $(TESTS)

check-gpu: $(if $(KWRIGHT),,all)
	@$(if $(KWRIGHT),,KWRIGHT='$(abspath $(B)/kwright)') tools/check-gpu

# Further builds may fail here: the scripts in tests/make then fail and say why. Scripts come first: they take long.
check: SAN_OK = $(shell echo 'int main(void){return 0;}' | \
	$(CC) -fsanitize=address,undefined -x c - -o /dev/null 2>/dev/null && echo yes)
check: all unit
	$(if $(SAN_OK),@$(MAKE) -k B='$(B)-asan' SAN=1 unit || true)
	$(if $(shell command -v clang),@$(MAKE) -k B='$(B)-clang' CC=clang FUZZ=1 objects fuzz || true)
	@$(if $(SAN_OK),,KW_NO_SAN=1) $(TEST_ENV) tools/run-tests $(SCRIPTS) $(TESTS) \
		$(if $(SAN_OK),$(TESTS:$(B)/%=$(B)-asan/%))

install: all
	install -d '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(PREFIX)/share/doc/kernelwright'
	install -m 755 '$(B)/kwright' '$(DESTDIR)$(PREFIX)/bin/kwright'
	install -m 644 LICENSE README.md '$(DESTDIR)$(PREFIX)/share/doc/kernelwright'

# Our libraries from their .a files; what glibc is made of stays shared.
STATIC_LIBS = -Wl,-Bstatic $(filter -l%,$(shell $(PKG_CONFIG) --libs $(PKGS))) -Wl,-Bdynamic \
	-static-libgcc -Wl,--as-needed -lm -ldl -lpthread
PORTABLE := kwright-$(VERSION)-x86_64-linux

portable: $(B)/$(PORTABLE).tar.gz

$(B)/$(PORTABLE)/kwright: $(B)/src/cmd/main.o $(B)/libkw.a
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -s -o $@ $^ $(STATIC_LIBS)

$(B)/$(PORTABLE).tar.gz: $(B)/$(PORTABLE)/kwright LICENSE README.md
	cp LICENSE README.md $(B)/$(PORTABLE)
	tar -C $(B) --owner=0 --group=0 -czf $@ $(PORTABLE)
	@echo $@

# Figures of this machine; no test.
bench: all
	@if [ -x bench/run ]; then $(TEST_ENV) bench/run; else echo 'no bench/run yet' >&2; exit 1; fi

clean:
	rm -rf '$(B)' '$(B)-asan' '$(B)-clang'

-include $(LIB_OBJS:.o=.d) $(TESTS:%=%.d) $(FUZZ_SRCS:%.c=$(B)/%.d) $(MAIN:%.c=$(B)/%.d)
