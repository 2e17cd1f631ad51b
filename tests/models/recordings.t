#!/usr/bin/perl
# What a capable model answered to real prompts (tests/models/recordings/BACKEND-TASK.jsonl; bench/results/models/README.md says how
# that came about) is replayed through the whole loop: every answer gets the class of verdict that it had when it was recorded, its
# "verdict" there; the best kernel is right; the run ends by a rule. Times are not compared: the tasks are made small here, and what a
# tuner would search is left at its default, which others test. KW_WHOLE_RECORDINGS=1 replays the answers to the letter.
use strict;
use warnings;
use File::Basename;
use JSON::PP;
use POSIX qw(setpgid);
use lib dirname(__FILE__);
use Loop;

my $at_once = 3; # a replay mostly waits: for a compiler, a player, a clock
my $size_max = 270;
my %timed = (
	attention_causal => '{ batch: 1, heads: 2, seq: 64, width: 32 }',
	cross_entropy => '{ rows: 64, classes: 256 }',
	matmul_bias_relu => '{ m: 96, n: 96, k: 96 }',
);
my %ends = map { $_ => 1 } ('two rounds in a row gained under 5%', 'its rounds are used up', 'nothing left to try');
my $json = JSON::PP->new->utf8;

sub is_small { my ($case) = @_; return $case !~ /large/ && !grep { $_ > $size_max } $case =~ /\d+/g; }

# The task with one small timed case, every third of the small ones of its other cases, ranges to match and no goal: whether a
# goal is met is a matter of times, and would end a run before all answers are judged.
sub small_task {
	my ($name) = @_;
	my $text = slurp("$top/tasks/$name.yaml");
	my $case = $timed{$name} // '{ rows: 64, cols: 256 }';
	$text =~ s/^goal:.*\n//m;
	$text =~ s/^perf:\n(?:  - .*\n)+/perf:\n  - $case\n/m or die "$name: no timed cases";
	$text =~ s/^(  \w+: \{ min: \d+, max: )(\d+)/$1 . ($2 > $size_max ? $size_max : $2 == 64 ? 4 : $2)/gem;
	my $count = 0;
	my @lines = grep { !/^  - / || is_small($_) && $count++ % 3 == 0 } split /^/, $text; # the first is the timed one
	return spew("$tmp/$name.yaml", join '', @lines);
}

# The recording with each tune line's default as its only value, in whole files and in both halves of edits.
sub pinned {
	my ($file) = @_;
	return $file if $ENV{KW_WHOLE_RECORDINGS};
	my $text = slurp($file) =~ s/(\@ tune \w+ in \{)[^}]*(\} default )(\d+)/$1$3$2$3/gr;
	return spew("$tmp/" . basename($file), $text);
}

sub begin {
	my ($r) = @_;
	my $pid = fork // die "fork: $!";
	return $pid if $pid;
	setpgid(0, 0);
	open STDOUT, '>', "$tmp/$r->{name}.out"; open STDERR, '>', "$tmp/$r->{name}.err"; open STDIN, '<', '/dev/null';
	exec $kwright, 'optimize', $r->{task}, '--backend', $r->{backend}, '--model', "replay:$r->{file}", '--budget-rounds', 3,
		'--seed', 7, '--quiet', '--store', "$tmp/$r->{name}" or POSIX::_exit(127);
}

sub replay_all {
	my (%running, @waiting);
	@waiting = @_;
	while (@waiting || %running) {
		while (@waiting && keys %running < $at_once) {
			my $r = shift @waiting;
			$running{begin($r)} = $r;
		}
		my $pid = waitpid -1, 0;
		$running{$pid}{code} = $? & 127 ? -($? & 127) : $? >> 8 if $running{$pid};
		delete $running{$pid};
	}
}

# Edits of a kernel that was not kept here, because it was no faster on this machine, cannot fit; the recording had kept it.
sub lost_parent {
	my ($run, $slot) = @_;
	my ($before) = grep { $_->{round} == ($slot =~ /^r(\d+)/)[0] - 1 } @{$run->{rounds}};
	return class_of($run, $slot) eq 'bad_edit' && $before && $before->{best_ns_before} == $before->{best_ns_after};
}

sub check {
	my ($r) = @_;
	my $run = run_json("$tmp/$r->{name}");
	my @notes = (slurp("$tmp/$r->{name}.out"), slurp("$tmp/$r->{name}.err"));
	# How fast this machine is at the moment is no matter here: right but slower than the baseline ends with 1.
	ok($run && $run->{best} && $r->{code} == ($run->{best}{slower} ? 1 : 0) && $run->{best}{verdict} eq 'ok', "$r->{name}: the best kernel is right", "exit code $r->{code}",
		@notes) or return;
	ok($ends{$run->{state}}, "$r->{name}: it ends by a rule", $run->{state});
	for my $c (grep { $_->{verdict} } @{$r->{calls}}) {
		my $got = class_of($run, $c->{slot});
		if (lost_parent($run, $c->{slot})) {
			ok(1, "$r->{name}: $c->{slot} # SKIP the step before it gained nothing on this machine");
			next;
		}
		ok($got eq $c->{verdict}, "$r->{name}: $c->{slot} is $c->{verdict}", "it is $got", @notes);
	}
	ok((grep { $_->{model} =~ /\S/ && !$_->{note} } @{$run->{calls}}) == @{$run->{calls}}, "$r->{name}: the model is named");
}

my $doctor = $json->decode(`$kwright doctor --json 2>/dev/null` || '{}');
my %here = map { $_->{name} => 1 } grep { $_->{part} eq 'backend' && $_->{health} eq 'ok' } @{$doctor->{facts} // []};
my @recordings;
for my $file (sort glob "$top/tests/models/recordings/*.jsonl") {
	my ($backend, $task) = basename($file, '.jsonl') =~ /^([a-z]+)-(\w+)$/ or die "$file: BACKEND-TASK.jsonl";
	my (undef, @calls) = map { $json->decode($_) } split /\n/, slurp($file);
	push @recordings, {name => "$backend-$task", backend => $backend, task => small_task($task), file => pinned($file), calls => \@calls};
}
ok(@recordings >= 10, 'there are recordings');
ok($here{c}, 'there is a C compiler (kwright doctor)');
replay_all(grep { $here{$_->{backend}} } @recordings);
for my $r (@recordings) {
	if ($here{$r->{backend}}) {
		check($r);
	} else {
		ok(1, "$r->{name} # SKIP no $r->{backend} here (kwright doctor)");
	}
}
done();
