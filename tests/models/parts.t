#!/usr/bin/perl
# Tasks of several operations: what a capable model answered to the prompts of each part (tests/models/recordings/parts) is replayed
# through the whole loop, where every answer must get the class that it had when it was recorded, its "verdict" there; then the same with
# one part that is never right, a division that is none, and a run that is killed in the middle. Times are not compared; the tasks are small and tune lines stay at their defaults.
use strict;
use warnings;
use File::Basename;
use JSON::PP;
use POSIX qw(setpgid);
use lib dirname(__FILE__);
use Loop;

my %small = (
	mlp_block => ["perf:\n  - { rows: 24, width: 40, hidden: 64 }\ncheck:\n  - { rows: 3, width: 33, hidden: 63 }\n", 'width: { min: 1, max: 64 }'],
	attention_block => ["perf:\n  - { batch: 2, steps: 33, width: 32 }\ncheck:\n  - { batch: 1, steps: 5, width: 7 }\n", 'width: { min: 1, max: 48 }'],
);
my $json = JSON::PP->new->utf8;

sub small_task {
	my ($name) = @_;
	my $text = slurp("$top/tasks/$name.yaml") =~ s/^perf:.*//msr;
	$text =~ s/(min: \d+, max: )(\d+)/$1 . ($2 > 64 ? 64 : $2)/ge;
	$text =~ s/width: \{ min: 1, max: 64 \}/$small{$name}[1]/;
	return spew("$tmp/$name.yaml", $text . $small{$name}[0]);
}

# The calls of a recording, tune lines at their defaults.
sub calls {
	my ($name) = @_;
	my @lines = grep { /"slot"/ } split /^/, slurp("$top/tests/models/recordings/parts/$name.jsonl");
	return map { $json->decode(s/(\@ tune \w+ in \{)[^}]*(\} default )(\d+)/$1$3$2$3/gr) } @lines;
}

sub optimize { my ($name, $backend, $recording, $store) = @_; return kwright('optimize', small_task($name), '--backend', $backend, '--model', "replay:$recording",
	'--budget-rounds', 1, '--seed', 7, '--quiet', '--json', '--store', "$tmp/$store"); }

# The run that asked for it: the whole, or its part's own, whose number depends on which began first.
sub run_of {
	my ($store, $slot) = @_;
	my @runs = map { $json->decode(scalar `$kwright report $_ --json --store $store`) } $slot =~ /^part/ ? (2 .. 4) : 1;
	return (grep { grep { $_->{slot} eq $slot } @{$_->{calls}} } @runs)[0];
}

sub own { my ($r) = @_; return join ' ', map { $_->{own} ? $_->{part} : '-' } @{$r->{parts}{parts}}; }

my %has = (c => 1, opencl => scalar(`$kwright doctor 2>/dev/null` =~ /opencl player\s+ok/));
for my $backend (qw(c opencl)) {
	for my $name (sort keys %small) {
		next unless $has{$backend};
		my @calls = calls("$backend-$name");
		my $recording = record("$backend-$name", @calls);

		is(optimize($name, $backend, $recording, "$backend-$name"), 0, "$backend $name: there is a right kernel");
		my $r = eval { $json->decode($out) } // {};
		is(own($r), 'part1 part2 part3', 'every part has its own');
		is($r->{best}{verdict} // '', 'ok', 'the whole is right against the whole');
		is($r->{parts}{divided_by}, 'Claude (Anthropic)', 'as the model divided it');
		for my $c (@calls) {
			is(class_of(run_of("$tmp/$backend-$name", $c->{slot}), $c->{slot}), $c->{verdict}, "$c->{slot} is $c->{verdict}");
		}
		is(kwright('report', '2', '--store', "$tmp/$backend-$name"), 0, 'a part has a report');
		like($out, qr/best of this part: .*its final check is that of the whole, run 1$/ms, 'which says where it is proven');
		is(kwright('runs', 'resume', '2', '--store', "$tmp/$backend-$name"), 2, 'a part is not resumed by itself');
		like($err, qr/run 2 is a part of run 1; `kwright runs resume 1`/, 'and that is said');
	}
}

# One part is wrong, and its repair too.
my $wrong = fenced("//\@ kernel k args=(mid1, b1, mid3, rows:i64, hidden:i64)\nvoid k(const float *a, const float *b, float *y, int64_t n, int64_t m)\n"
	. "{ for (int64_t i = 0; i < n * m; i++) y[i] = a[0] + b[0]; }\n");
my @failing = map { $_->{slot} eq 'part2/r1/coder' ? {%$_, text => $wrong, model => 'a-script'} : $_ } calls('c-mlp_block');
is(optimize('mlp_block', 'c', record('failing', @failing), 'failing'), 0, 'one part is wrong: there is a right kernel all the same');
my $r = $json->decode($out);
is(own($r), 'part1 - part3', 'with the plain kernel for that part');
like(join(' ', @{$r->{reasons}}), qr/part2 \(.*gelu.*\) keeps the baseline's kernel: no kernel of its own was right/, 'and the report says so');
is(kwright('report', '1', '--store', "$tmp/failing"), 0, 'as text');
like($out, qr/part2 keeps the baseline's kernel/, 'too');

# A division that is none, twice.
my @nonsense = map { $_->{slot} eq 'manager' ? ({%$_, text => 'PART: 1 3'}, {%$_, slot => 'manager/again', text => 'All in one go!'}) : $_ } calls('c-mlp_block');
is(optimize('mlp_block', 'c', record('nonsense', @nonsense), 'nonsense'), 0, 'a division that is none');
$r = $json->decode($out);
is($r->{parts}{divided_by}, 'rule', 'the rule divides');
like(join(' ', @{$r->{reasons}}), qr/divided the task in a way that cannot be used/, 'and it is said');

# Killed in the middle, as soon as the store has so many verdicts; then resumed.
my $recording = record('killed', calls('c-mlp_block'));
my $store = "$tmp/killed";
my $pid = fork // die;
if (!$pid) {
	setpgid(0, 0);
	open STDOUT, '>', '/dev/null'; open STDERR, '>', '/dev/null';
	exec $kwright, 'optimize', small_task('mlp_block'), '--backend', 'c', '--model', "replay:$recording", '--budget-rounds', 1, '--seed', 7, '--store', $store
		or POSIX::_exit(127);
}
for (1 .. 1200) {
	last if -s "$store/store.db" && `$kwright runs show 1 --json --store $store 2>/dev/null` =~ /"evaluations":\s*[3-9]/;
	select undef, undef, undef, 0.1;
}
kill 'KILL', -$pid;
waitpid $pid, 0;
is(kwright('runs', 'resume', '1', '--json', '--quiet', '--store', $store), 0, 'a run that was killed in the middle goes on');
$r = $json->decode($out);
is(own($r), 'part1 part2 part3', 'to the same end');
my %slots;
$slots{$_->{slot}}++ for @{$r->{calls}};
is(join(' ', map { "$_=$slots{$_}" } sort keys %slots), 'manager=1 part1/r1/coder=1 part2/r1/coder=1 part3/r1/coder=1', 'and nobody was asked twice');

is(kwright('optimize', 'relu', '--strategy', 'parts', '--backend', 'c'), 2, 'one operation is not divided');
like($err, qr/the task is not divided: it is one operation/, 'which is said');
is(kwright('optimize', 'layernorm_backward', '--strategy', 'parts', '--backend', 'c'), 2, 'nor is a backward pass');
like($err, qr/backward pass is not divided/, 'which is said');
done();
