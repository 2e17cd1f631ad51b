#!/bin/sh
# The runners themselves: what should fail does fail. A runner that passes everything proves nothing.
top=$(cd "$(dirname "$0")/../.." && pwd)
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
n=0
ok() { # STATUS NAME
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then echo "ok $n - $2"; return; fi
	echo "not ok $n - $2"
	sed 's/^/# /' "$tmp/out"
}

# tests/cli/run with a kwright of our own.
mkdir "$tmp/bin"
cat > "$tmp/bin/kwright" <<'END'
#!/bin/sh
case $1 in
say) shift; echo "$*" ;;
json) echo '{"verdict":"ok","cases":[{"case":"a","n":3}],"none":null,"yes":true}' ;;
fail) echo "bad.yaml:1:1: wrong" >&2; exit 2 ;;
cat) cat ;;
home) echo "$HOME"; ls -A "$XDG_DATA_HOME"; touch "$XDG_DATA_HOME/trace" ;;
sleep) sleep 100 ;;
crash) kill -SEGV $$ ;;
esac
END
chmod +x "$tmp/bin/kwright"
cli() { # EXPECTED-FAILURES NAME; the case on standard input
	{ echo '== case'; cat; } > "$tmp/x.test"
	KWRIGHT=$tmp/bin/kwright "$top/tests/cli/run" "$tmp/x.test" > "$tmp/out" 2>&1
	[ "$(grep -c '^not ok' "$tmp/out")" -eq "$1" ] && grep -q '^1\.\.[1-9]' "$tmp/out"
	ok $? "cli: $2"
}
cli 0 "what holds passes" <<'END'
file sub/in.txt
|one
|two
$ kwright say hello world
out hello
out~ ^hello w.rld$
out! bye
err-empty
$ kwright fail
exit 2
err bad.yaml:1:1
out-empty
$ kwright cat < sub/in.txt
out~ ^one\ntwo\n$
$ kwright cat
< typed
out typed
$ kwright json
json verdict ok
json cases.0.n 3
json cases.# 1
json none null
json yes true
json~ cases.0.case ^[a-z]$
$ kwright home
$ kwright home
out trace
END
cli 1 "a wrong exit code fails" <<'END'
$ kwright fail
END
cli 1 "a missing text fails" <<'END'
$ kwright say x
out y
END
cli 1 "an unwanted text fails" <<'END'
$ kwright say x
out! x
END
cli 1 "an unmatched regex fails" <<'END'
$ kwright say x
out~ ^y
END
cli 1 "output where none is wanted fails" <<'END'
$ kwright say x
out-empty
END
cli 1 "a wrong JSON value fails" <<'END'
$ kwright json
json verdict wrong
END
cli 1 "a missing JSON key fails" <<'END'
$ kwright json
json verdict.x 1
END
cli 1 "what is no JSON fails" <<'END'
$ kwright say {
json a 1
END
cli 1 "a crash fails" <<'END'
$ kwright crash
END
cli 1 "a program that hangs is killed and fails" <<'END'
timeout 1
$ kwright sleep
END
cli 0 "a program that is not there skips the case" <<'END'
needs kw-no-such-program
$ kwright fail
END
printf '$ kwright say x\n' > "$tmp/y.test"
! KWRIGHT=$tmp/bin/kwright "$top/tests/cli/run" "$tmp/y.test" > "$tmp/out" 2>&1
ok $? "cli: a command outside a case is refused"

# tools/run-tests.
program() { # NAME BODY
	printf '#!/bin/sh\n%s\n' "$2" > "$tmp/$1"
	chmod +x "$tmp/$1"
}
counts() { # WANT STATUS NAME PROGRAM...
	want=$1 status=$2 name=$3
	shift 3
	KW_TEST_TIMEOUT=2 KW_SUMMARY=$tmp/summary "$top/tools/run-tests" "$@" > "$tmp/out" 2>&1
	[ $? -eq "$status" ] && [ "$(tail -n 1 "$tmp/out")" = "$want" ] &&
		[ "$(cat "$tmp/summary")" = "$want" ]
	ok $? "run-tests: $name"
}
program good 'echo ok 1; echo "ok 2 # SKIP no"; echo 1..2'
program bad 'echo ok 1; echo not ok 2; echo 1..2; exit 1'
program crash 'echo ok 1; kill -SEGV $$'
program short 'echo 1..3; echo ok 1'
program silent ':'
program hang 'echo ok 1; sleep 100'
program none 'echo "1..0 # SKIP not here"'
counts '1 passed, 0 failed, 1 skipped' 0 "a good program" "$tmp/good"
counts '2 passed, 1 failed, 1 skipped' 1 "a failed test" "$tmp/good" "$tmp/bad"
counts '2 passed, 1 failed, 1 skipped' 1 "a crash" "$tmp/good" "$tmp/crash"
counts '2 passed, 1 failed, 1 skipped' 1 "fewer tests than planned" "$tmp/good" "$tmp/short"
counts '1 passed, 1 failed, 1 skipped' 1 "no output" "$tmp/good" "$tmp/silent"
counts '2 passed, 1 failed, 1 skipped' 1 "a hang" "$tmp/good" "$tmp/hang"
counts '1 passed, 1 failed, 1 skipped' 1 "no such program" "$tmp/good" "$tmp/gone"
counts '1 passed, 0 failed, 2 skipped' 0 "a program that skips itself" "$tmp/good" "$tmp/none"
counts '0 passed, 0 failed, 1 skipped' 1 "nothing at all is no success" "$tmp/none"

# Ends by itself only when its first line has been seen.
program shown "echo ok 1; for i in \$(seq 600); do grep -q '^ok 1' '$tmp/out' && break; sleep 0.1; done
	grep -q '^ok 1' '$tmp/out' || printf 'not '; echo ok 2; echo 1..2"
: > "$tmp/out"
V=1 JOBS=1 "$top/tools/run-tests" "$tmp/shown" 2>&1 | cat >> "$tmp/out"
grep -q '^2 passed, 0 failed, 0 skipped$' "$tmp/out"
ok $? "run-tests: a line is shown when its test ends"
program alone "echo \$\$ > '$tmp/pid'; echo ok 1; exec sleep 100"
: > "$tmp/out"
V=1 JOBS=1 "$top/tools/run-tests" "$tmp/alone" >> "$tmp/out" 2>&1 &
i=0
while [ $i -lt 600 ] && ! grep -q '^ok 1' "$tmp/out"; do sleep 0.1; i=$((i + 1)); done
kill $!
wait $! 2> /dev/null
i=0
while [ $i -lt 600 ] && kill -0 "$(cat "$tmp/pid")" 2> /dev/null; do sleep 0.1; i=$((i + 1)); done
[ -s "$tmp/pid" ] && ! kill -0 "$(cat "$tmp/pid")" 2> /dev/null && grep -q '^ok 1' "$tmp/out"
ok $? "run-tests: cut off, it has shown what there was and its programs end too"

# tests/cheats/run.
cat > "$tmp/bin/judge" <<'END'
#!/bin/sh
case $1 in
doctor) echo "{\"facts\":[{\"part\":\"backend\",\"name\":\"cuda\",\"health\":\"ok\",\"text\":\"\"},
	{\"part\":\"device\",\"name\":\"nvidia\",\"health\":\"$FAKE_GPU\",\"text\":\"no such thing\"}]}" ;;
eval)
	i=0
	case $3 in *"${FAKE_SLOW:-none}".cu)
		while [ $i -lt 600 ] && ! grep -q "$FAKE_SHOWN" "$FAKE_OUT"; do sleep 0.1; i=$((i + 1)); done ;;
	esac
	case $FAKE_VERDICT in
	env) echo '{"error":{"status":"KW_ERR_ENV"}}'; exit 3 ;;
	input) echo '{"error":{"status":"KW_ERR_INPUT"}}'; exit 2 ;;
	esac
	echo "{\"verdict\":\"${FAKE_VERDICT%/*}\",\"subclass\":\"${FAKE_VERDICT#*/}\",\"flags\":[\"$FAKE_FLAG\"],
		\"cases\":[{\"median_ns\":100}]}"
	[ "$FAKE_VERDICT" = ok/ ] ;;
esac
END
chmod +x "$tmp/bin/judge"
controls() { # EXPECTED-FAILURES EXPECTED-SKIPS NAME VERDICT WORDS...
	failures=$1 skips=$2 name=$3 verdict=$4
	shift 4
	KWRIGHT=$tmp/bin/judge FAKE_VERDICT=$verdict "$top/tests/cheats/run" "$@" > "$tmp/out" 2>&1
	[ "$(grep -c '^not ok' "$tmp/out")" -eq "$failures" ] && [ "$(grep -c '# SKIP' "$tmp/out")" -eq "$skips" ] &&
		grep -q '^1\.\.[1-9]' "$tmp/out"
	ok $? "controls: $name"
}
two="cu_never_written cu_copied_input"
export FAKE_GPU=ok FAKE_FLAG=none
controls 0 0 "the right verdict passes" wrong/unwritten cu_never_written
controls 1 0 "another one fails" wrong/unwritten $two
controls 2 0 "a cheat that is ok fails" ok/ $two
controls 2 0 "an error of the machine fails" env $two
controls 1 0 "a plan that is refused where a verdict is wanted fails" input cu_pdl_first cu_trap
controls 0 0 "a kernel as fast as another passes" ok/ cu_warm_policy
controls 1 0 "a remark that is missing fails" ok/ cu_pdl_pair
FAKE_FLAG="needs a person's eye" controls 0 0 "and one that is there passes" ok/ cu_pdl_pair
: > "$tmp/out"
FAKE_SLOW=cu_never_written FAKE_SHOWN=cu_copied_input FAKE_OUT=$tmp/out \
	controls 1 0 "several at once: the same" wrong/unwritten --jobs 3 $two
[ "$(sed -n 's/^.*ok [0-9]* - \(cu_[a-z_]*\).*/\1/p' "$tmp/out" | tr '\n' ' ')" = "cu_copied_input cu_never_written " ]
ok $? "controls: each is shown when it ends, whatever the one before it waits for"
FAKE_GPU=missing controls 0 2 "without the device they are skipped" ok/ $two
KW_CONTROLS='--only cu' FAKE_GPU=missing controls 0 "$(ls "$top"/tests/cheats/*.cu "$top"/tests/cheats/honest/*.cu | wc -l)" \
	"all of one language" ok/
FAKE_GPU=missing KWRIGHT=$tmp/bin/judge "$top/tools/check-gpu" > "$tmp/out" 2>&1 && grep -q '0 passed, 0 failed, 1 skipped' "$tmp/out"
ok $? "check-gpu: nothing runs without a GPU, and it says so"
KWRIGHT=$tmp/gone "$top/tools/check-gpu" > "$tmp/out" 2>&1
[ $? -eq 2 ]
ok $? "check-gpu: a program that is not there is an error"
# With a GPU, as far as doctor's text goes: a part of it, and its sum.
cat > "$tmp/bin/gpu" <<'END'
#!/bin/sh
[ "$*" = doctor ] && echo "device  nvidia  ok  a GPU" && exit 0
echo '{"facts":[{"part":"backend","name":"cuda","health":"ok","text":""},
	{"part":"device","name":"nvidia","health":"missing","text":"no such thing"}]}'
END
chmod +x "$tmp/bin/gpu"
KWRIGHT=$tmp/bin/gpu PART='killed controls:1/40' "$top/tools/check-gpu" > "$tmp/out" 2>&1 &&
	grep -q '^check-gpu: killed [0-9]* s, controls:1/40 [0-9]* s$' "$tmp/out" &&
	grep -q '^1 passed, 0 failed, [2-9] skipped$' "$tmp/out" && ! grep -q 'passed, 1 failed' "$tmp/out"
ok $? "check-gpu: a part of it, and the sum of both"
PART=nonsense KWRIGHT=$tmp/bin/gpu "$top/tools/check-gpu" > "$tmp/out" 2>&1
[ $? -eq 2 ] && grep -q 'no part nonsense' "$tmp/out"
ok $? "check-gpu: a part that is not there is an error"
! KWRIGHT=$tmp/bin/gpu "$top/tests/cheats/run" --part 3/2 > "$tmp/out" 2>&1
ok $? "controls: there is no third half"
echo "1..$n"
