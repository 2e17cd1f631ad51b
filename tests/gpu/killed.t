#!/usr/bin/perl
# On a GPU: players that somebody else ends while a kernel runs. The case begins anew, and when it happens every time the machine
# is to blame and not the candidate. As tests/cheats/killed.t on the processor.
use strict;
use warnings;
use File::Basename;
use lib dirname(__FILE__) . '/../cheats';
use Control;

Control::start(0);
if (my $why = Control::health('device', 'nvidia') // 'this version has no such device') {
	chdir "/";
	print "1..0 # SKIP $why\n";
	exit;
}
my $task = "$Control::top/tests/cheats/tasks/affine.yaml";
# Long in the timed case, which comes last.
my $slow = "$Control::tmp/slow.cu";
open my $f, '>', $slow or die "$slow: $!\n";
print $f <<'END';
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;
	long long begin = clock64();

	while (n > 50000 && blockIdx.x == 0 && clock64() - begin < 200000000)
		;
	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
}
END
close $f;

sub check {
	my ($what, $good, $r) = @_;
	Control::ok($good ? '' : ($r->{fault} // "exit code " . ($r->{code} // 'none') . ", $r->{kills} killed, " .
		($r->{json}{verdict} // 'no verdict') . ": " . ($r->{json}{summary} // $r->{err})), $what);
}

# All, each time that those of a timed case have been loaded, or the first time only: it lasts for many long calls from there.
sub loaded_ones {
	my ($once) = @_;
	my $done = 0;
	return sub {
		my ($p) = @_;
		my $loaded = () = Control::slurp("$Control::tmp/err") =~ /the candidate and the baselines are loaded/g;
		return if $loaded <= $done || ($once && $done) || !%$p;
		$done = $loaded;
		return keys %$p;
	};
}

my $r = Control::watched($task, $slow, sub { () });
check('left alone it is right', ($r->{json}{verdict} // '') eq 'ok' && $r->{code} == 0, $r);
$r = Control::watched($task, $slow, loaded_ones(1));
check('killed once: it is judged all the same', ($r->{json}{verdict} // '') eq 'ok' && $r->{code} == 0 && $r->{kills} > 0, $r);
check('and the verdict says that a case was begun anew',
	scalar(grep { /begun anew: a process was ended from outside by signal 9/ } @{$r->{json}{flags} || []}), $r);
$r = Control::watched($task, $slow, loaded_ones(0));
check('killed each time: no verdict', !$r->{json}{verdict} && ($r->{code} // -1) == 3, $r);
check('and who is to blame', ($r->{err} // '') =~ /ended from outside by signal 9/, $r);
# A context takes a while to be made: one that has just been seen has none yet.
my $first = 1;
$r = Control::watched($task, $slow, sub { my ($p) = @_; return if !$first || !%$p; $first = 0; return keys %$p; });
check('killed while it starts: it is judged all the same', ($r->{json}{verdict} // '') eq 'ok' && $r->{code} == 0 && $r->{kills} > 0, $r);
check('and the verdict says that a player was begun anew',
	scalar(grep { /begun anew: a process was ended from outside by signal 9/ } @{$r->{json}{flags} || []}), $r);
$r = Control::watched($task, $slow, sub { my ($p) = @_; return keys %$p; });
check('killed whenever one is seen: no verdict', !$r->{json}{verdict} && ($r->{code} // -1) == 3, $r);
check('and who is to blame', ($r->{err} // '') =~ /ended from outside by signal 9/, $r);
$r = Control::evaluate($task, $slow, { timeout => 10 });
check('the next one is judged as before', ($r->{verdict} // '') eq 'ok', $r);
Control::finish();
