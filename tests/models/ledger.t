#!/usr/bin/perl
# A run that applies what a finding advises keeps what was predicted and what was measured: `kwright memory rules` has it, the
# verdict has it, and the next prompt is ranked by it. The answers are scripted; the kernels and their times are real.
use strict;
use warnings;
use File::Basename;
use Cwd qw(abs_path);
use lib dirname(abs_path(__FILE__));
use Loop;

my $place = "$top/bench/faults/atomic_in_loop";
my $slow = slurp("$place/fault.c") =~ s{^// (planted|expected):.*\n}{}mgr;
my $fast = slurp("$place/repaired.c") =~ s{^// repaired:.*\n}{}mgr;
my $number = 0;
my $store = "$tmp/store";    # which is the memory too

sub play {
	my (@calls) = @_;
	my $name = 'run' . ++$number;
	my $code = kwright('optimize', "$place/task.yaml", '--backend', 'c', '--model', 'replay:' . record($name, @calls), '--store', $store,
		'--seed', 7, '--budget-rounds', 2);
	return ($code, $out . $err);
}

sub rules { my $json = `$kwright memory rules --json --store $store`; return JSON::PP->new->decode($json); }

sub by_the_planner {
	my ($code, $text) = play([coder => fenced($slow)], [planner => "STEP: [atomics_in_cpu_loops] A sum a thread. EXPECT: 0.2\n"],
		[coder => fenced($fast)]);
	my $list;
	is($code, 0, 'a kernel is handed over');
	like($text, qr/atomics_in_cpu_loops was applied in round 2: \d+% of the time of .* predicted at most, -?\d+% measured/, 'what came of it is told');
	$list = rules();
	is(scalar @$list, 1, 'one rule has a record');
	is($list->[0]{rule}, 'atomics_in_cpu_loops', 'the one that the planner named');
	is($list->[0]{applied}, 1, 'once');
	ok($list->[0]{last_predicted} > 0.02 && $list->[0]{last_predicted} <= 1, 'with what was predicted', $list->[0]{last_predicted});
	ok($list->[0]{last_measured} > 0.2 && $list->[0]{last_measured} < 1, 'and what was measured', $list->[0]{last_measured});
	ok(abs($list->[0]{kept} - $list->[0]{last_measured} / $list->[0]{last_predicted}) < 1e-6, 'kept is their ratio', $list->[0]{kept});
	like(scalar `$kwright memory rules --store $store`, qr/^atomics_in_cpu_loops: applied 1 time, kept \d+% of what it promised/m, 'as a person reads it');
	my $kept = `$kwright runs show 1 --calls --store $store`;
	like($kept, qr/\[atomics_in_cpu_loops\]/, 'the prompt names its findings');
}

# A comment of the kernel says it too; the same answers again are a second try.
sub by_the_coder {
	my ($code) = play([coder => fenced($slow)], [planner => "STEP: A sum a thread.\n"],
		[coder => fenced($fast =~ s{^}{// applied: atomics_in_cpu_loops\n}r)]);
	is($code, 0, 'a kernel is handed over');
	is(rules()->[0]{applied}, 2, 'a comment of the coder names it as well');
}

sub nobody_said_so {
	my ($code) = play([coder => fenced($slow)], [planner => "STEP: atomics_in_cpu_loops, or so\n"], [coder => fenced($fast)]);
	is($code, 0, 'a kernel is handed over');
	is(rules()->[0]{applied}, 2, 'words that name nothing in brackets are no record');
	($code) = play([coder => fenced($slow)], [planner => "STEP: [bank_conflicts_load] Pad the tile.\n"], [coder => fenced($fast)]);
	is(scalar @{rules()}, 1, 'a finding that this kernel does not have is none either');
	($code) = play([coder => fenced($slow)], [planner => "STEP: [atomics_in_cpu_loops] A sum a thread.\n"],
		[coder => fenced($slow =~ s/\+= /= /r)]);
	is(rules()->[0]{applied}, 2, 'what is refused has no effect to be kept');
	# What is left is the slow kernel, and the report says why it is behind.
	like($out, qr/^where it falls short of the best baseline:\n  .*: [\d.]+ \w+ against [\d.]+ \w+ of .*: 1 #pragma omp atomic .*\n    missing: reduction/m,
		'a run says where its best falls short, and why');
	my $run = JSON::PP->new->decode(scalar `$kwright report 5 --json --store $store`);
	is($run->{falls_short}[0]{case}, 'n=4194304', 'for programs too');
}

by_the_planner();
by_the_coder();
nobody_said_so();
done();
