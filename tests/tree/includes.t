#!/bin/sh
# The rules of tools/check-includes hold, and it notices when they do not.
cd "$(dirname "$0")/../.." || exit 1
n=0
ok() { # STATUS NAME
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

found=$(tools/check-includes 2>&1)
ok $? "the tree keeps its rules"
[ -z "$found" ] || printf '%s\n' "$found" | sed 's/^/# /'

tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/src/base" "$tmp/src/core"
printf '| `src/base/` | x |\n| `src/core/` | x |\n' > "$tmp/ARCHITECTURE.md"

breaks() { # FILE TEXT EXPECTED
	printf "$2" > "$tmp/src/$1"
	got=$(tools/check-includes "$tmp" 2>&1)
	[ $? -eq 1 ] && printf '%s' "$got" | grep -q "$3"
	ok $? "notices: $3"
	rm "$tmp/src/$1"
}
printf '#include "base/b.h"\n' > "$tmp/src/core/good.c"
tools/check-includes "$tmp" > /dev/null
ok $? "a downward include is fine"
breaks base/a.c '#include "core/c.h"\n' 'src/base/a.c:1: upward include'
breaks base/a.c '#include "b.h"\n' 'does not carry its folder'
breaks base/a.c '#include "nowhere/b.h"\n' 'no folder nowhere'
: > "$tmp/src/base/a.h"
breaks base/a.c '#include <stdio.h>\n#include "base/a.h"\n' 'own header is not the first'
breaks core/s.c '#include <sqlite3.h>\n' 'outside src/store'
breaks core/s.c '\tprintf("x");\n' 'printf() outside src/cmd'
breaks core/s.c '\texit(1);\n' 'exit() outside src/cmd'
mkdir "$tmp/src/odd"
breaks odd/a.c '\n' 'not in the table'
echo "1..$n"
