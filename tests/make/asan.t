#!/bin/sh
# Says whether the unit tests were run again with ASan and UBSan; if they were, each is in the list
# of programs that make check runs.
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top" || exit 1
if [ -n "$KW_NO_SAN" ]; then
	echo "1..0 # SKIP the compiler has no ASan and UBSan runtime"
	exit
fi
if out=$(make -k B="${KW_B:-build}-asan" SAN=1 unit 2>&1); then
	echo "ok 1 - everything builds with ASan and UBSan"
else
	echo "not ok 1 - everything builds with ASan and UBSan"
	printf '%s\n' "$out" | tail -n 40 | sed 's/^/# /'
fi
echo 1..1
