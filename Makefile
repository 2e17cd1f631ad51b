# Kernelwright. Nothing here lists sources: src/*/*.c are the program, tests/unit/test_*.c the
# unit tests, tests/*/run and tests/*/*.t the other tests, and knowledge/ tasks/ prompts/ python/
# are embedded, as is src/backend/builtin/.
#
#   make                 build/kwright (and build/libkw.a, all but main.c, for the tests)
#   make check           every test        make check-quick   unit tests only
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

NEEDS_PKGS := $(if $(MAKECMDGOALS),$(filter-out clean bench-help,$(MAKECMDGOALS)),all)
ifneq ($(NEEDS_PKGS),)
MISSING := $(shell for p in $(PKGS); do $(PKG_CONFIG) --exists $$p 2>&1 || echo $$p; done)
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
DATA := $(shell find knowledge tasks prompts python src/backend/builtin -type f \
	! -name '*.pyc' ! -name '.*' 2>/dev/null | LC_ALL=C sort)

# V=1 shows the commands.
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' $(1) $@)

.PHONY: all objects unit check check-quick install portable bench clean
.SECONDARY:
.DELETE_ON_ERROR:

all: $(B)/libkw.a $(if $(MAIN),$(B)/kwright)

objects: $(LIB_OBJS) $(MAIN:%.c=$(B)/%.o) $(TESTS:%=%.o)
unit: $(TESTS)

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

check: check-quick

check-quick: all unit
	KW_B='$(B)' tools/run-tests $(TESTS)

clean:
	rm -rf $(B) build-asan build-clang build-fuzz build-portable

-include $(LIB_OBJS:.o=.d) $(TESTS:%=%.d) $(MAIN:%.c=$(B)/%.d)
