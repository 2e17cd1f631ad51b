#!/usr/bin/perl
# Players that somebody else ends: the case begins anew, and when it happens every time the machine is to blame and not the
# candidate. What a candidate does to itself is in raises_a_signal.c, kills_itself.c and memory_flood.c.
use strict;
use warnings;
use File::Basename;
use lib dirname(__FILE__);
use Control;

Control::start(0);
my $tmp = $Control::tmp;
my $task = "$Control::top/tests/cheats/tasks/affine.yaml";

sub candidate {
	my ($name, $before) = @_;
	open my $f, '>', "$tmp/$name.c" or die "$tmp/$name.c: $!\n";
	print $f "//\@ kernel candidate args=(x, y, n:i64)\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n",
		"#include <unistd.h>\nvoid candidate(const float *x, float *y, int64_t n)\n{\n$before\n",
		"\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = 2.0f * x[i] + 1.0f;\n}\n";
	close $f;
	return "$tmp/$name.c";
}

sub check {
	my ($what, $good, $r) = @_;
	Control::ok($good ? '' : ($r->{fault} // "exit code " . ($r->{code} // 'none') . ", $r->{kills} killed, " .
		($r->{json}{verdict} // 'no verdict') . ": " . ($r->{json}{summary} // $r->{err})), $what);
}

# A player that waits for its call is stopped (T): it has started.
my $slow = candidate('slow', "\tusleep(20000);");
my $done = 0;
my $r = Control::watched($task, $slow, sub {
	my ($p) = @_;
	my @ready = grep { $p->{$_}[0] eq 'T' } keys %$p;
	return if $done || !@ready;
	$done = 1;
	return @ready;
});
check('killed once: it is judged all the same', ($r->{json}{verdict} // '') eq 'ok' && $r->{code} == 0 && $r->{kills} > 0, $r);
check('and the verdict says that a case was begun anew',
	scalar(grep { /begun anew: a process was ended from outside by signal 9/ } @{$r->{json}{flags} || []}), $r);

$r = Control::watched($task, $slow, sub { my ($p) = @_; return grep { $p->{$_}[0] eq 'T' } keys %$p; });
check('killed each time: no verdict', !$r->{json}{verdict} && $r->{code} == 3, $r);
check('and who is to blame', $r->{err} =~ /ended from outside by signal 9/, $r);

# While it starts it is not stopped yet.
$done = 0;
$r = Control::watched($task, $slow, sub { my ($p) = @_; return $done++ ? () : keys %$p if %$p; return (); });
check('killed at first sight: it is judged all the same', ($r->{json}{verdict} // '') eq 'ok' && $r->{code} == 0 && $r->{kills} > 0, $r);
check('and the verdict says that a player was begun anew',
	scalar(grep { /begun anew: a process was ended from outside by signal 9/ } @{$r->{json}{flags} || []}), $r);
$r = Control::watched($task, $slow, sub { my ($p) = @_; return keys %$p; });
check('killed whenever one is seen: no verdict', !$r->{json}{verdict} && $r->{code} == 3, $r);
check('and who is to blame', $r->{err} =~ /ended from outside by signal 9/, $r);

# Where it held much memory of its own each time, that is why.
my $large = candidate('large', "\tvoid *volatile p = malloc(400u << 20);\n\tmemset(p, 1, 400u << 20);\n\tusleep(300000);\n\tfree(p);");
$r = Control::watched($task, $large, sub { my ($p) = @_; return grep { $p->{$_}[1] > 350 } keys %$p; });
check('killed each time with much memory: out of memory', ($r->{json}{verdict} // '') eq 'launch_error' &&
	($r->{json}{subclass} // '') eq 'out_of_memory' && $r->{code} == 1, $r);
Control::finish();
