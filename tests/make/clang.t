#!/bin/sh
# clang compiles everything without a warning too (make check has built it just before), and links it without sanitizers.
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top" || exit 1
if ! command -v clang > /dev/null; then
	echo "1..0 # SKIP no clang"
	exit
fi
tell() { # NUMBER NAME STATUS OUTPUT
	if [ "$3" = 0 ]; then
		echo "ok $1 - $2"
	else
		echo "not ok $1 - $2"
		printf '%s\n' "$4" | tail -n 40 | sed 's/^/# /'
	fi
}
out=$(make -k B="${KW_B:-build}-clang" CC=clang FUZZ=1 objects fuzz 2>&1)
tell 1 "clang compiles everything" $? "$out"
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
out=$(make -k B="$tmp" CC=clang OPT=-O0 2>&1 && "$tmp/kwright" task show softmax 2>&1)
tell 2 "make CC=clang gives a program that runs" $? "$out"
echo 1..2
