#!/usr/bin/perl
# A run that is killed at any moment loses no verdict, and its continuation repeats none; two cannot
# run it at once; an interrupt ends with exit code 4 and says how to go on.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename;
use File::Temp qw(tempdir);
use JSON::PP;
use POSIX qw(setpgid);
use Time::HiRes qw(sleep time);

my $top = abs_path(dirname($0) . '/../..');
my $kwright = $ENV{KWRIGHT} || "$top/build/kwright";
my $task = "$top/tests/cli/data/twice.yaml";
my $count = 0;
if (!-e "$top/src/cmd/main.c") { print "1..0 # SKIP no command yet\n"; exit; }

my $tmp = tempdir(CLEANUP => 1);
mkdir "$tmp/$_" for qw(home tmp);
@ENV{qw(HOME XDG_DATA_HOME XDG_CACHE_HOME TMPDIR LC_ALL)} =
	("$tmp/home", "$tmp/home/data", "$tmp/home/cache", "$tmp/tmp", 'C');
chdir $tmp or die;

sub ok {
	my ($good, $name, @notes) = @_;
	printf "%s %d - %s\n", $good ? 'ok' : 'not ok', ++$count, $name;
	print map { "# $_\n" } map { split /\n/ } @notes unless $good;
	return $good;
}

# In a process group of its own, so that all of it can be killed.
sub start {
	my (@args) = @_;
	my $pid = fork // die "fork: $!";
	if (!$pid) {
		setpgid(0, 0);
		open STDOUT, '>', "$tmp/out"; open STDERR, '>', "$tmp/err"; open STDIN, '<', '/dev/null';
		exec $kwright, @args or POSIX::_exit(127);
	}
	setpgid($pid, $pid);
	return $pid;
}

sub finish { my ($pid) = @_; waitpid $pid, 0; return $? & 127 ? -($? & 127) : $? >> 8; }

sub slurp { local $/; open my $in, '<', $_[0] or return ''; return <$in> // ''; }

sub run_json { my $text = `$kwright runs show 1 --json 2>/dev/null`; return $? ? undef : decode_json($text); }

# What identifies a verdict, and the verdict's number.
sub verdicts {
	my $run = run_json() or return {};
	my %seen;
	for my $v (@{$run->{verdicts}}) {
		push @{$seen{join '|', @$v{qw(candidate tune effort)}}}, $v->{id};
	}
	return \%seen;
}

sub wait_for {
	my ($what, $limit) = @_;
	my $end = time + $limit;
	while (time < $end) { my $got = $what->(); return $got if $got; sleep 0.02; }
	return;
}

sub killed_at_random_moments {
	my (%before, @lost, @changed);
	for my $i (1 .. 6) {
		my @args = run_json() ? qw(runs resume 1) : ('optimize', $task, '--seed', 5);
		my $pid = start(@args);
		sleep(0.05 + rand($i < 3 ? 0.2 : 1.2));
		kill 'KILL', -$pid;
		finish($pid);
		my $now = verdicts();
		for my $key (keys %before) {
			push @lost, $key unless $now->{$key};
			push @changed, $key if $now->{$key} && "@{$now->{$key}}" ne "@{$before{$key}}";
		}
		%before = %$now;
	}
	ok(!@lost, 'no verdict is lost by six kills', @lost);
	ok(!@changed, 'none is judged again', @changed);
	my $code = finish(start(run_json() ? qw(runs resume 1) : ('optimize', $task)));
	my $slow = $code == 1 && slurp("$tmp/out") =~ /right, but slower than|"slower": ?true/; # this machine's speed is no matter here
	ok($code == 0 || $slow, 'the run ends well', "exit code $code", slurp("$tmp/err"));
	my $now = verdicts();
	my @twice = grep { @{$now->{$_}} > 1 } keys %$now;
	ok(!@twice, 'each point was judged once', @twice);
	ok(!(grep { !$now->{$_} || "@{$now->{$_}}" ne "@{$before{$_}}" } keys %before),
		'what was there before is there as it was');
	my $run = run_json();
	ok($run && $run->{best} && $run->{best}{verdict} eq 'ok', 'it has a best');
	ok($run && $run->{files} && -s $run->{files}{kernel}, 'and its kernel file');
	ok(`$kwright runs verify` =~ /each as it was recorded/, 'the chain of records is whole');
	ok(`$kwright runs list --json` =~ /"run": 1\b/ && `$kwright runs list --json` !~ /"run": 2\b/,
		'there is one run');
}

sub two_at_once {
	my $first = start('optimize', 'softmax', '--store', 'two');
	my $begun = wait_for(sub { `$kwright runs list --json --store two 2>/dev/null` =~ /"pid": \d/ }, 60);
	kill 'STOP', $first;
	ok($begun, 'a run is begun', slurp("$tmp/err"));
	my $text = `$kwright runs resume 1 --store two 2>&1`;
	ok($? >> 8 == 3, 'a second one is refused', $text);
	ok($text =~ /run 1 is being run by process $first\b/, 'and told who runs it', $text);
	$text = `$kwright runs rm 1 --store two 2>&1`;
	ok($? >> 8 == 3 && $text =~ /is being run by process $first\b/, 'nor can it be removed', $text);
	kill 'CONT', $first;
	kill 'KILL', -$first;
	finish($first);
	$text = `$kwright runs rm 1 --store two 2>&1`;
	ok($? >> 8 == 0, 'a dead owner does not matter', $text);
}

sub interrupted {
	my $pid = start('optimize', 'softmax', '--store', 'int');
	my $begun = wait_for(sub { `$kwright runs list --json --store int 2>/dev/null` =~ /"pid": \d/ }, 60);
	ok($begun, 'a run is begun', slurp("$tmp/err"));
	kill 'INT', $pid;
	my $code = finish($pid);
	ok($code == 4, 'an interrupt ends with exit code 4', "exit code $code", slurp("$tmp/err"));
	ok(slurp("$tmp/err") =~ /resume with kwright runs resume 1/, 'says how to go on', slurp("$tmp/err"));
	ok(`$kwright runs list --store int` =~ /interrupted/, 'the run is marked');
}

sub points {
	my ($store) = @_;
	my $text = `$kwright runs show 1 --json --store $store 2>/dev/null`;
	my $run = decode_json($text);
	return ($run, map { "$_->{tune} $_->{effort}" } @{$run->{verdicts}});
}

# One file tuned, and cut off when it has judged some points: by an interrupt, and by kill -9.
sub tuning_is_cut_off {
	my ($signal, $store, $expected) = @_;
	my @args = ('tune', $task, "$top/tests/cli/data/twice_tuned.c", '--seed', 7, '--store', $store);
	my $pid = start(@args);
	wait_for(sub { my (undef, @seen) = eval { points($store) }; @seen >= 2 }, 60);
	kill $signal, $signal eq 'KILL' ? -$pid : $pid;
	finish($pid);
	my ($cut, @before) = points($store);
	ok(@before >= 2 && !$cut->{files}, "$signal: cut off in the middle", "@before");
	ok(!$cut->{best} && $cut->{best_so_far}, "$signal: what it has is not called the best");
	my $code = finish(start('runs', 'resume', 1, '--store', $store));
	my ($run, @after) = points($store);
	ok($run->{best} && $code == 0 && $run->{state} eq 'nothing left to try', "$signal: resumed, it ends well",
		"exit code $code", slurp("$tmp/err"));
	ok("@after[0 .. $#before]" eq "@before", "$signal: what was judged stays");
	my (%count, %first);
	$count{$_}++ for @after;
	$first{$_} = 1 for grep { / screen$/ } @after;
	ok(!(grep { $_ > 1 } values %count), "$signal: nothing is judged twice", @after);
	ok(join('|', sort keys %first) eq $expected, "$signal: every point is tried, as without it", sort keys %first);
	ok($run->{best}{seed} == 7, "$signal: with the seed that it was started with");
}

sub tuning_uninterrupted {
	my $code = finish(start('tune', $task, "$top/tests/cli/data/twice_tuned.c", '--seed', 7, '--store', 'whole'));
	my ($run, @all) = points('whole');
	ok($run->{best} && $code == 0, 'a file is tuned', "exit code $code", slurp("$tmp/err"));
	my %first = map { $_ => 1 } grep { / screen$/ } @all;
	return join '|', sort keys %first;
}

$| = 1;
killed_at_random_moments();
two_at_once();
interrupted();
my $expected = tuning_uninterrupted();
tuning_is_cut_off('INT', 'cut_int', $expected);
tuning_is_cut_off('KILL', 'cut_kill', $expected);
print "1..$count\n";
