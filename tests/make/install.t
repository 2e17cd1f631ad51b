#!/bin/sh
# make install and make portable: the program works away from its sources, and the portable one
# needs nothing but what glibc brings.
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top" || exit 1
b=${KW_B:-build}
if [ ! -e src/cmd/main.c ]; then
	echo "1..0 # SKIP no command yet"
	exit
fi
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
n=0
ok() { # STATUS NAME
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; sed 's/^/# /' "$tmp/log"; fi
}
works() { # PROGRAM: lists the embedded tasks where no source is near
	(cd / && env -i HOME="$tmp" PATH=/usr/bin:/bin "$1" task list) > "$tmp/out" 2> "$tmp/log" &&
		grep -q softmax "$tmp/out"
}

make B="$b" install DESTDIR="$tmp/root" PREFIX=/usr > "$tmp/log" 2>&1
ok $? "make install"
works "$tmp/root/usr/bin/kwright"
ok $? "the installed program knows its tasks"
[ -s "$tmp/root/usr/share/doc/kernelwright/LICENSE" ]
ok $? "the licence is installed"

make B="$b" portable > "$tmp/log" 2>&1
ok $? "make portable"
tar -xzf "$b/kwright-$(cat VERSION)-x86_64-linux.tar.gz" -C "$tmp" > "$tmp/log" 2>&1
ok $? "the tarball unpacks"
portable=$tmp/kwright-$(cat VERSION)-x86_64-linux/kwright
works "$portable"
ok $? "the portable program knows its tasks"
readelf -d "$portable" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
	grep -vE '^(libc|libm|libdl|libpthread|librt)\.so\.[0-9]+$|^ld-linux' > "$tmp/log"
[ ! -s "$tmp/log" ] && readelf -d "$portable" | grep -q NEEDED
ok $? "it needs no library but glibc's"
echo "1..$n"
