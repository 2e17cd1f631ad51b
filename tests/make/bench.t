#!/bin/sh
# The benchmark's own program still compiles: no other test builds it.
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top" || exit 1
if out=$(${CC:-gcc} -std=c17 -D_GNU_SOURCE -Wall -Werror -fsyntax-only -Isrc bench/parts.c \
	$(pkg-config --cflags jansson libfyaml sqlite3 libseccomp libcrypto libxxhash) 2>&1); then
	echo "ok 1 - bench/parts.c compiles"
else
	echo "not ok 1 - bench/parts.c compiles"
	printf '%s\n' "$out" | sed 's/^/# /'
fi
perl -c bench/run 2> /dev/null && echo "ok 2 - bench/run parses" || echo "not ok 2 - bench/run parses"
perl -c bench/gpu 2> /dev/null && echo "ok 3 - bench/gpu parses" || echo "not ok 3 - bench/gpu parses"
echo 1..3
