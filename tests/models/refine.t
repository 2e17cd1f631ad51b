#!/usr/bin/perl
# The loop with scripted answers, through the real judge: what is right is handed over, what is wrong is repaired or dropped, and
# what is of no use is named, asked for once more, and ends the run after three in a row.
use strict;
use warnings;
use File::Basename;
use Cwd qw(abs_path);
use lib dirname(abs_path(__FILE__));
use Loop;

my $head = "//\@ kernel twice args=(x, y, n:i64)\nvoid twice(const float *x, float *y, int64_t n)\n{\n";
my $right = "$head\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = x[i] * 2;\n}\n";
my $wrong = "$head\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = x[i] * 3;\n}\n";
my $cheat = "$head\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = x[i];\n}\n";
my $broken = "$head\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = x[i] * 2\n}\n";
my $number = 0;

# Plays a recording; returns the exit code and the run.
sub play {
	my ($calls, @more) = @_;
	my $name = 'run' . ++$number;
	my $code = kwright('optimize', $task, '--backend', 'c', '--model', 'replay:' . record($name, @$calls), '--store', "$tmp/$name",
		'--seed', 7, @more);
	return ($code, run_json("$tmp/$name"));
}

sub outcomes { my ($r) = @_; return join ' ', map { "$_->{slot}=$_->{outcome}" } @{$r->{calls}}; }

sub right_first {
	my ($code, $r) = play([[coder => fenced($right)]]);
	is($code, 0, 'a right kernel is handed over');
	is($r->{best}{verdict}, 'ok', 'it is the best');
	is($r->{strategy}, 'refine', 'refine is the strategy where there is a model');
	is(outcomes($r), 'r1/coder=source', 'one call is stored');
	my $c = $r->{calls}[0];
	ok($c->{tokens_in} > 500 && $c->{tokens_out} > 10, 'with its tokens', "$c->{tokens_in} $c->{tokens_out}");
	is($c->{note}, 'scripted', 'marked as what it is');
	is($c->{model}, 'a-script', 'and who answered');
	like($out, qr/^models: 1 call, about \d+ tokens in, \d+ out; answers by a-script \(scripted\)$/m, 'the report says so');
	like($out, qr/a first kernel/, 'and what the round did');
	like($err, qr/asks coder/, 'progress names the role');
	is($r->{state}, 'nothing left to try', 'a recording that is used up ends the run');
	ok(-s "$tmp/run$number/results/1/r1_coder.c", 'the kernel is a file', `ls $tmp/run$number/results/1`);
}

# Right, and slow on any machine; not so slow that there would be too few samples to know it by, where others work too.
my $slow = "$head\tfor (int64_t i = 0; i < n; i++) {\n\t\tvolatile float v = 0;\n\n" .
	"\t\tfor (int k = 0; k < 40; k++)\n\t\t\tv = x[i] * 2;\n\t\ty[i] = v;\n\t}\n}\n";

sub right_and_slower {
	my (undef, $r) = play([[coder => fenced($slow)]]);
	is($ended, 1, 'a right kernel that is slower than the baseline is a no');
	is($r->{best}{verdict}, 'ok', 'it is right');
	ok($r->{best}{slower}, 'and slower, as JSON');
	like($out, qr/^  right, but slower than naive -O3( openmp)?: keep the baseline$/m, 'and in words');
	like(scalar `$kwright report --store $tmp/run$number`, qr/^  right, but slower than naive/m, 'in the report too');
	ok(-s "$tmp/run$number/results/1/r1_coder.c", 'the kernel is a file all the same');
}

sub two_blocks {
	my ($code, $r) = play([[coder => "Draft:\n```c\n$wrong```\nNo, better:\n```c\n$right```\nRun it:\n```sh\nmake\n```\n"]]);
	is($code, 0, 'of two kernels the last is judged');
	is($r->{best}{verdict}, 'ok', 'and it is right');
}

sub truncated {
	my $cut = substr fenced($right), 0, -30;
	my ($code, $r) = play([{role => 'coder', text => $cut, finish => 'length'}, [coder => fenced($right)]]);
	is($code, 0, 'a truncated answer is asked for again');
	is(outcomes($r), 'r1/coder=truncated r1/coder/again=source', 'once, and the second is used');
	my $prompt = `$kwright runs show 1 --calls --store $tmp/run$number`;
	like($prompt, qr/Your last answer could not be used.{1,4}the answer ends in the middle/s, 'the second prompt gives the reason');
}

sub repaired {
	my ($code, $r) = play([[coder => fenced($broken)], [debugger => fenced($right)]]);
	is($code, 0, 'what does not build is repaired');
	is(outcomes($r), 'r1/coder=source r1/debugger=source', 'by the debugger, in the same round');
	is(scalar @{$r->{rounds}}, 1, 'one round');
	my $calls = `$kwright runs show 1 --calls --store $tmp/run$number`;
	like($calls, qr/expected .{1,12};/, 'who is told what the compiler said');
}

sub wrong_twice {
	my ($code, $r) = play([[coder => fenced($right)], [coder => fenced($wrong)], [debugger => fenced($cheat)],
		[coder => fenced($right =~ s/\* 2/+ x[i]/r)]]);
	is($code, 0, 'a right kernel survives wrong ones');
	like(outcomes($r), qr/r2\/coder=source r2\/debugger=source/, 'the wrong one had one repair');
	my %counts = map { ("$_->{verdict}/$_->{subclass}" => $_->{count}) } @{$r->{counts}};
	ok($counts{'wrong/mismatch'} && $counts{'cheat/copied_input'}, 'the verdicts say wrong and cheat', join ' ', %counts);
}

sub cheating_only {
	my ($code, $r) = play([[coder => fenced($cheat)]]);
	is($code, 1, 'a cheat is not handed over');
	ok(!defined $r->{best}, 'there is no best');
	is($r->{state}, 'no candidate was right', 'and the run says so');
}

sub same_again {
	my ($code, $r) = play([map { [coder => fenced($right)] } 1 .. 5]);
	is($code, 0, 'the same kernel again and again');
	like(outcomes($r), qr/^r1\/coder=source r2\/coder=same r3\/coder=same$/, 'is named, and not judged again');
	is($r->{state}, 'two rounds in a row gained under 5%', 'the run ends by its rule');
}

sub useless {
	my ($code, $r) = play([[coder => ''], [coder => "I'm sorry, I can't help with that."], [coder => "```python\nprint(1)\n```\n"],
		[coder => fenced($right)]]);
	is($code, 1, 'three answers of no use in a row end the run');
	is($r->{state}, 'three answers in a row were of no use', 'it says why');
	is(outcomes($r), 'r1/coder=empty r1/coder/again=refused r2/coder=no_entry', 'each is named, and nobody is asked a fourth time');
	like($out, qr/three answers in a row were of no use/, 'people are told too');
	like($out, qr/I'm sorry/, 'with what was said');
}

sub useless_with_a_best {
	my ($code, $r) = play([[coder => fenced($right)], [coder => 'no'], [coder => 'no'], [coder => 'no']]);
	is($code, 0, 'what was right before is handed over all the same');
	is($r->{state}, 'three answers in a row were of no use', 'though the run ended so');
}

sub plan_only {
	my $tuned = $right =~ s/\n/\n\/\/\@ flags -O2\n/r;
	my ($code, $r) = play([[coder => fenced($right)], [coder => fenced($tuned)]]);
	is($code, 0, 'a model that edits plan lines only');
	like(outcomes($r), qr/r2\/coder=source/, 'has made another candidate, which is judged');
	my $bad = $right =~ s/n:i64/m:i64/r;
	($code, $r) = play([[coder => fenced($bad)], [coder => fenced($right)]]);
	is(outcomes($r), 'r1/coder=bad_plan r1/coder/again=source', 'plan lines that cannot be used are asked for again');
}

sub edits {
	my ($code, $r) = play([[coder => fenced($right)],
		[coder => "```\n<<<<<<< SEARCH\n\t\ty[i] = x[i] * 2;\n=======\n\t\ty[i] = x[i] + x[i];\n>>>>>>> REPLACE\n```\n"],
		[coder => "```\n<<<<<<< SEARCH\n\tnot there\n=======\n\tx\n>>>>>>> REPLACE\n```\n"]]);
	is($code, 0, 'edits of the parent');
	like(outcomes($r), qr/r2\/coder=source/, 'make a kernel');
}

sub planner {
	my ($code, $r) = play([[coder => fenced($right)],
		[planner => "1. STEP: Unroll the loop by hand. EXPECT: 0.9\n2. STEP: Use streaming stores. EXPECT: 0.7\n"],
		[coder => fenced($right =~ s/\{\n/{\n#pragma GCC unroll 4\n/r)], [coder => fenced($right =~ s/\{\n/{\n#pragma omp simd\n/r)]]);
	is($code, 0, 'the planner names steps');
	like($out, qr/Unroll the loop by hand/, 'each is a round, by its words');
	my $calls = `$kwright runs show 1 --calls --store $tmp/run$number`;
	like($calls, qr/The change to make now\\nUnroll the loop/, 'the coder is told one step');
	like($out, qr/Unroll the loop by hand\. EXPECT: 0\.9 +\d+ +0\.90x +\d/, 'the table has what was predicted beside what was measured');
	is($r->{rounds}[1]{predicted}, 0.9, 'as JSON too');
	ok($r->{rounds}[1]{measured_ns} > 0, 'in times');
	($code, $r) = play([[coder => fenced($right)], [planner => "NOTHING: it moves its bytes once.\n"], [coder => fenced($wrong)]]);
	is($code, 0, 'a planner that sees nothing left');
	is($r->{state}, 'nothing left to try', 'ends the run');
	like($out, qr/the planner sees nothing left to gain: it moves its bytes once/, 'and says why');
}

sub reviewer {
	my ($code, $r) = play([[coder => fenced($right)], [reviewer => "OBJECT: no comment gives a reason.\n"],
		[coder => fenced($right =~ s/\{\n/{\n\t\/* one pass: each element is read once *\/\n/r)], [reviewer => 'ACCEPT: fine.']], '--review');
	is($code, 0, 'a reviewer objects');
	like($out, qr/A reviewer objects: no comment gives a reason/, 'the next change answers it');
	is($r->{best}{verdict}, 'ok', 'the verdict stays the judge\'s');
}

sub argues {
	my ($code, $r) = play([[coder => fenced($right)], [reviewer => "OBJECT: no comment gives a reason.\n"],
		[coder => "I disagree: the kernel is right, and comments cost time.\n"], [coder => "As I said, the reviewer is mistaken.\n"],
		[coder => "No.\n"], [coder => fenced($wrong)]], '--review');
	is($code, 0, 'a model that argues with the reviewer');
	is($r->{state}, 'three answers in a row were of no use', 'ends the run by the rule of three');
	is($r->{best}{verdict}, 'ok', 'and what was right is handed over');
	like($out, qr/nothing came of it: there is no code in it/, 'each answer is named');
}

sub from_a_kernel {
	my ($code, $r) = play([[coder => fenced($right)]], '--from', spew("$tmp/mine.c", $right =~ s/x\[i\] \* 2/x[i] + x[i]/r));
	is($code, 0, 'a run starts at the user\'s own kernel');
	is($r->{rounds}[0]{step}, 'the kernel that it starts from', 'which is the first round');
	my $calls = `$kwright runs show 1 --calls --store $tmp/run$number`;
	like($calls, qr/The kernel so far\\n```\\n.{0,200}x\[i\] \+ x\[i\]/s, 'and the coder is shown it');
	($code, $r) = play([[coder => fenced($right)]], '--from', spew("$tmp/bare.c", $right =~ s{^//\@.*\n}{}mgr));
	is($code, 0, 'also at one that has no plan lines');
	$calls = `$kwright runs show 1 --calls --store $tmp/run$number`;
	like($calls, qr{The kernel so far\\n```\\n//\@ kernel twice args=\(x, y, n:i64\)\\n}, 'which gets them');
	is((play([[coder => fenced($right)]], '--from', spew("$tmp/odd.c", "void k(const float *a, double q)\n{\n}\n")))[0], 2, 'what nobody can guess');
	like($err, qr/odd\.c: .*say it by --arg NAME=EXPR.*`kwright import` takes what is missing/, 'is asked for');
}

sub recorded {
	my ($code) = play([[coder => fenced($broken)], [debugger => fenced($right)]], '--record', "$tmp/made.jsonl");
	is($code, 0, 'a run is recorded');
	$code = kwright('optimize', $task, '--model', "replay:$tmp/made.jsonl", '--store', "$tmp/replayed", '--seed', 7);
	is($code, 0, 'its recording is replayed');
	is(outcomes(run_json("$tmp/replayed")), 'r1/coder=source r1/debugger=source', 'call for call');
	$code = kwright('optimize', $task, '--model', "replay:$tmp/made.jsonl", '--store', "$tmp/replayed", '--record', "$tmp/made.jsonl");
	is($code, 2, 'a recording is not overwritten');
	like($err, qr/made\.jsonl: is there already/, 'and says so');
}

sub budgets {
	my @calls = map { [coder => fenced($right =~ s/\{\n/{\n\t\/* $_ *\/\n/r)] } 1 .. 9;
	my ($code, $r) = play(\@calls, '--budget-tokens', 10);
	is($r->{state}, 'token budget spent', 'a budget of tokens ends a run');
	is(scalar @{$r->{calls}}, 1, 'before the next call');
	is($code, 0, 'and what was right is handed over');
	($code, $r) = play([map { {role => 'coder', text => $_->[1], model => 'claude-sonnet-4-5', tokens_in => 1000, tokens_out => 1000} }
		@calls], '--budget-usd', 0.017);
	is($r->{state}, 'money budget spent', 'a budget of money too');
	ok(abs($r->{calls}[0]{cost_usd} - 0.018) < 1e-9, 'by the table of prices');
	($code, $r) = play(\@calls, '--budget-rounds', 1);
	is($r->{state}, 'its rounds are used up', 'and one of rounds');
}

sub bad_recordings {
	is(kwright('optimize', $task, '--model', "replay:$tmp/nowhere.jsonl"), 2, 'a recording that is not there');
	like($err, qr/nowhere\.jsonl/, 'is named');
	is(kwright('optimize', $task, '--model', 'replay:' . spew("$tmp/bad.jsonl", "{\"role\": \"coder\"}\n")), 2, 'a call without a text');
	like($err, qr/bad\.jsonl:1: a call of a recording has at least "role" and "text"/, 'has its line');
	is(kwright('optimize', $task, '--model', 'replay:' . spew("$tmp/bad.jsonl", "{\"recording\": 2}\n")), 2, 'a later version');
	is(kwright('optimize', $task, '--model', 'replay:' . spew("$tmp/bad.jsonl", "\n")), 2, 'an empty recording');
	is(kwright('optimize', $task, '--model', 'replay:' . spew("$tmp/bad.jsonl", "hello\n")), 2, 'no JSON');
	ok(!-e "$tmp/.kernelwright/store.db" || !run_json("$tmp/.kernelwright"), 'none of them began a run');
	is(kwright('optimize', $task, '--strategy', 'refine'), 2, 'refine without a model');
	like($err, qr/strategy refine needs a model/, 'says what it needs');
	is(kwright('optimize', $task, '--model', 'replay'), 2, 'a provider without its argument');
	is(kwright('optimize', $task, '--model', 'reply:x'), 2, 'an unknown provider');
	like($err, qr/no provider 'reply' of models; did you mean 'replay'\?/, 'gets the nearest');
	is(kwright('optimize', $task, '--strategy', 'best_of', '--store', "$tmp/other", '--model', 'replay:' .
		spew("$tmp/other.jsonl", '{"role": "coder", "slot": "r1/coder", "text": "none"}' . "\n")), 1, "a recording of another strategy's calls");
	like($out, qr/has no answer to any call of this strategy/, 'says that it answers none');
	my @much = ('--model', 'replay:' . record('much', [coder => '']), '--strategy', 'best_of', '--store', "$tmp/much");
	is(kwright('optimize', $task, @much, '--width', 65), 2, 'too many kernels for a round');
	like($err, qr/--width 65: a round has at most 64 kernels/, 'are refused');
	is(kwright('optimize', $task, @much, '--parallel', 65), 2, 'too many calls at once');
	like($err, qr/--parallel 65: at most 64 calls/, 'too');
	is(kwright('optimize', $task, '--model', 'none', '--budget-evals', 1), 0, 'none is the built-in author');
}

sub opencl {
	return ok(1, 'kernels in OpenCL # SKIP no OpenCL here') if `$kwright doctor --json` !~ /"part": "backend",\s*"name": "opencl",[^}]*"health": "ok"/s;
	my $kernel = "//\@ kernel twice grid=(cdiv(n, 64)) block=(64) args=(x, y, n:i32)\n__kernel void twice(__global const float *x, "
		. "__global float *y, int n)\n{\n\tint i = get_global_id(0);\n\tif (i < n)\n\t\ty[i] = x[i] * 2;\n}\n";
	my ($code, $r) = play([[coder => fenced($kernel =~ s/\* 2/* 3/r)], [debugger => fenced($kernel)]], '--backend', 'opencl');
	is($code, 0, 'kernels in OpenCL are written, refused and repaired likewise');
	is($r->{backend}, 'opencl', 'on that backend');
}

my @tests = (opencl => \&opencl, right_first => \&right_first, right_and_slower => \&right_and_slower, two_blocks => \&two_blocks, truncated => \&truncated, repaired => \&repaired, wrong_twice => \&wrong_twice, cheating_only => \&cheating_only, same_again => \&same_again, useless => \&useless, useless_with_a_best => \&useless_with_a_best, plan_only => \&plan_only, edits => \&edits, planner => \&planner, reviewer => \&reviewer, argues => \&argues, from_a_kernel => \&from_a_kernel, recorded => \&recorded, budgets => \&budgets, bad_recordings => \&bad_recordings);
while (my ($name, $test) = splice @tests, 0, 2) { $test->() if !@ARGV || grep { $_ eq $name } @ARGV; }
done();
