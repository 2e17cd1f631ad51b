#!/usr/bin/perl
# A kernel of which no one tuned value is best for all sizes: a search splits it by size; `kwright tune` says so, and then the models are
# told. The answer is scripted; the kernel and its times are real: the wrong value costs a thousandfold.
use strict;
use warnings;
use File::Basename;
use Cwd qw(abs_path);
use lib dirname(abs_path(__FILE__));
use Loop;

my $sized = spew("$tmp/sized.yaml", <<'END');
name: sized
dims: { n: { min: 1, max: 1000000 } }
inputs:
  x: { dtype: f32, shape: [n] }
outputs:
  y: { dtype: f32, shape: [n] }
reference:
  expr: |
    y = x * 2
perf: [ { n: 100000 }, { n: 40000 } ]
check: [ { n: 1 }, { n: 17 } ]
END
my $kernel = <<'END';
//@ kernel sized args=(x, y, n:i64)
//@ tune PASSES in {1, 999} default 1
void sized(const float *x, float *y, int64_t n)
{
	int64_t passes = n > 60000 ? PASSES : 1000 - PASSES;

	for (int64_t k = 0; k < passes; k++) {
		for (int64_t i = 0; i < n; i++)
			y[i] = x[i] * 2;
		__asm__ volatile("" ::: "memory");
	}
}
END
my $line = qr/PASSES = n > 63245 \? 1 : 999/;

sub searched {
	my $code = kwright('optimize', $sized, '--backend', 'c', '--model', 'replay:' . record('run', [coder => fenced($kernel)]), '--store',
		"$tmp/a", '--seed', 7);
	my $text = $out;
	like($text, qr/a first kernel; split by size: $line/, 'the steps name it');
	like($text, qr/r1-coder: split by size \($line\): .* before /, 'both times are told');
	like($text, qr/^best: r1-coder_by_size: ok$/m, 'it is what is handed over');
	like(slurp("$tmp/a/results/1/r1_coder_by_size.c"), qr{^//\@ define $line$}m, 'with a define line');
	like($text, qr{right in 8 of 8 cases}, "right at sizes that nobody timed");
	ok($code == 0 || $code == 1, "the run ends by rule", $code);
}

# Where the split would serve fewer cases the models hear of it, and what comes of their change is of the mean over the cases.
sub advised {
	my $narrow = $kernel =~ s{1000 - PASSES;}{(1000 - PASSES) / 2 + 1;}r =~ s{(//\@ tune)}{//\@ where n != 17 || PASSES == 1\n$1}r;
	my $chooses = $kernel =~ s{//\@ tune.*\n}{//\@ define PASSES = n > 60000 ? 1 : 999\n}r;
	kwright('optimize', $sized, '--backend', 'c', '--store', "$tmp/c", '--seed', 7, '--budget-rounds', 2, '--model', 'replay:' .
		record('advised', [coder => fenced($narrow)], [planner => "STEP: [one_value_for_all_sizes] Take it from n.\n"], [coder => fenced($chooses)]));
	like($out, qr/r1-coder: not split by size \($line\): it would serve fewer cases/, 'it is told why there is no split');
	like($out, qr/one_value_for_all_sizes was applied in round 2: \d+% of the time of all perf cases predicted at most, \d+% measured/,
		'what came of the advice');
	my ($record) = @{JSON::PP->new->decode(scalar `$kwright memory rules --json --store $tmp/c`)};
	is($record->{rule}, 'one_value_for_all_sizes', 'its record');
	ok($record->{last_predicted} > 0.5 && $record->{last_measured} > 0.5, 'has what was predicted and measured',
		"$record->{last_predicted}, $record->{last_measured}");
}

sub tuned {
	my $file = spew("$tmp/sized.c", $kernel);
	kwright('tune', $sized, $file, '--store', "$tmp/b");
	like($out, qr/(n=100000 is fastest with PASSES=1|n=40000 is fastest with PASSES=999) .* no one point is best for all: `define $line` promises/, 'the tuner says so');
	for my $role (qw(planner coder)) {
		kwright('prompt', 'show', $role, $sized, '--from', $file, '--store', "$tmp/b");
		like($out, qr/\[one_value_for_all_sizes\] .*n=40000 with PASSES=999 .*`define $line`/, "the $role is told");
	}
}

searched();
advised();
tuned();
done();
