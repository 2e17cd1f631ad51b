#!/usr/bin/perl
# A run on a second, similar task starts from what the first one learnt: the kernel that won, and what did not work.
use strict;
use warnings;
use File::Basename;
use Cwd qw(abs_path);
use lib dirname(abs_path(__FILE__));
use Loop;

my $head = "//\@ kernel twice args=(x, y, n:i64)\nvoid twice(const float *x, float *y, int64_t n)\n{\n";
my $won = "$head\t/* whole vectors: the loop has no other dependence */\n#pragma omp simd\n\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = x[i] * 2;\n}\n";
my $lost = "$head\tfor (int64_t i = 0; i <= n; i++)\n\t\ty[i] = x[i] * 2;\n}\n";
my $second = spew("$tmp/thrice.yaml", slurp($task) =~ s/name: twice/name: thrice/r =~ s/x \* 2/x * 3/r);

my $code = kwright('optimize', $task, '--seed', 7, '--store', "$tmp/s", '--model', 'replay:' . record('first', [coder => fenced($lost)],
	[debugger => fenced($won)], [planner => 'NOTHING: it is at the roof']));
is($code, 0, 'a first task');
like(slurp($second), qr/x \* 3/, 'and a second one like it');
$code = kwright('optimize', $second, '--seed', 7, '--store', "$tmp/s", '--model', 'replay:' . record('second', [coder =>
	fenced($won =~ s/\* 2/* 3/r)]));
is($code, 0, 'is solved too');
ok(`$kwright runs show 1 --calls --store $tmp/s` !~ m/DID NOT WORK: r1-coder/, 'what a run did itself is its history, not what was learnt earlier');
my $calls = `$kwright runs show 2 --calls --store $tmp/s`;
like($calls, qr/what won on the task twice \(f32, .{1,200}whole vectors: the loop has no other dependence/s, 'its first prompt shows the kernel that won');
like($calls, qr/DID NOT WORK: r1-coder/, 'and what did not work, as such');
like($calls, qr/task twice \(pointwise, f32\)/, 'with the task that it was for');
$code = kwright('memory', 'search', 'kernel', 'twice', '--store', "$tmp/s", '--json');
like($out, qr/"kind": "kernel"/, 'it is found by its words');
done();
