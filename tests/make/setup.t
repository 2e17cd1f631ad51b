#!/bin/sh
# tools/setup, with a dpkg-query, apt-get, id and sudo of our own: installs what is missing, all of
# it, nothing else, without a question; says so; and knows what to do without root.
top=$(cd "$(dirname "$0")/../.." && pwd)
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/bin" "$tmp/sudo"
export TMP_LOG="$tmp/log" HAVE='' UID_IS=0 APT_FAILS=''
fake() { # PATH BODY
	printf '#!/bin/sh\n%s\n' "$2" > "$tmp/$1"
	chmod +x "$tmp/$1"
}
fake bin/dpkg-query 'for p; do :; done; case " $HAVE " in *" $p "*) printf installed ;; *) exit 1 ;; esac'
fake bin/apt-get 'echo "$DEBIAN_FRONTEND $*" >> "$TMP_LOG"; case "$*" in *" $APT_FAILS"*) exit ${APT_FAILS:+100} ;; esac; exit 0'
fake bin/id 'echo $UID_IS'
fake sudo/sudo 'echo "sudo" >> "$TMP_LOG"; exec "$@"'
# The real sudo must not be found; the tools that setup calls must.
for tool in sh env sort printf dirname; do ln -s "$(command -v $tool)" "$tmp/bin/$tool" 2> /dev/null; done

n=0
ok() { # STATUS NAME
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then echo "ok $n - $2"; return; fi
	echo "not ok $n - $2"
	sed 's/^/# log: /' "$TMP_LOG"
	sed 's/^/# said: /' "$tmp/said"
}
setup() { # [OPTION...]; status in $status, output in $tmp/said
	: > "$TMP_LOG"
	PATH=$tmp/bin$sudo /bin/sh "$top/tools/setup" "$@" > "$tmp/said" 2>&1
	status=$?
}
sudo=
setup --list --build --test
all=$(tr '\n' ' ' < "$tmp/said")
case $all in *clang*gcc*make*) ok 0 "--list" ;; *) ok 1 "--list" ;; esac
[ ! -s "$TMP_LOG" ]
ok $? "--list installs nothing"
setup --wrong
[ $status -eq 2 ] && grep -q 'unknown option --wrong' "$tmp/said"
ok $? "an unknown option is named"

HAVE=$all
setup --build --test
[ $status -eq 0 ] && [ ! -s "$TMP_LOG" ] && [ ! -s "$tmp/said" ]
ok $? "nothing is missing: no call, no word"

HAVE=$(printf %s "$all" | sed 's/make //; s/libfyaml-dev //')
setup --build
[ $status -eq 0 ] && grep -q '^noninteractive -q -y update$' "$TMP_LOG" &&
	grep -q '^noninteractive -q -y install --no-install-recommends make libfyaml-dev$' "$TMP_LOG"
ok $? "what is missing is installed, and only that"
grep -q '^setup: installing Debian packages: make libfyaml-dev$' "$tmp/said"
ok $? "and named"

UID_IS=1000
setup --build
[ $status -eq 3 ] && [ ! -s "$TMP_LOG" ] &&
	grep -q 'as root run: apt-get install make libfyaml-dev' "$tmp/said"
ok $? "neither root nor sudo: says what to do"
sudo=:$tmp/sudo
setup --build
[ $status -eq 0 ] && grep -q '^sudo$' "$TMP_LOG" && grep -q ' install ' "$TMP_LOG"
ok $? "not root: sudo"

UID_IS=0 APT_FAILS=install
setup --build
[ $status -eq 3 ] && grep -q 'could not be installed: make libfyaml-dev' "$tmp/said"
ok $? "a failed installation ends with exit code 3"
UID_IS=0 APT_FAILS=update
setup --build
[ $status -eq 0 ] && grep -q ' install ' "$TMP_LOG"
ok $? "old package lists are tried as they are"

rm "$tmp/bin/apt-get"
setup --build
[ $status -eq 0 ] && grep -q 'no Debian system' "$tmp/said"
ok $? "another system: says what is needed"
echo "1..$n"
