#!/bin/sh
# clang compiles everything without a warning too (make check has built it just before).
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top" || exit 1
if ! command -v clang > /dev/null; then
	echo "1..0 # SKIP no clang"
	exit
fi
if out=$(make -k B="${KW_B:-build}-clang" CC=clang FUZZ=1 objects fuzz 2>&1); then
	echo "ok 1 - clang compiles everything"
else
	echo "not ok 1 - clang compiles everything"
	printf '%s\n' "$out" | tail -n 40 | sed 's/^/# /'
fi
echo 1..1
