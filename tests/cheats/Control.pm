# Control.pm - evaluates one candidate with `kwright eval` and compares the verdict with the candidate's first lines.
# Used by tests/cheats/run and tests/cases/run.
#
#     //# task NAME             NAME.yaml in the folder of tasks
#     //# expect CLASS[/SUB]... what the verdict may be; more than one only where that is not for the judge to choose
#     //# why TEXT
#     //# effort final          the check before a kernel is handed over (default: full)
#     //# timeout SECONDS       of one call (default 1)
#     //# not-faster NAME       where the verdict is ok: its time may not be under a tenth of that control's
#     //# needs FLAG            a flag of /proc/cpuinfo, else skipped
package Control;
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename;
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use JSON::PP;
use POSIX ();
use Time::HiRes qw(time);

our $top = abs_path(dirname(__FILE__) . '/../..');
our ($kwright, $tmp);
my $count = 0;

sub slurp { local $/; open my $in, '<:raw', $_[0] or return ''; return <$in> // ''; }

# A folder of our own for store, cache and data: controls look for such things, and must not find the user's. A copy of
# the program too: the executable of a process then tells whether it is one of ours. Ends the test when there is none.
sub start {
	my ($keep) = @_;
	my $program = $ENV{KWRIGHT} || "$top/build/kwright";
	if (!-x $program) {
		print -e "$top/src/cmd/main.c" ? "1..1\nnot ok 1 - $program is not there\n"
			: "1..0 # SKIP no command yet\n";
		exit;
	}
	$tmp = tempdir('kw-controls-XXXXXX', TMPDIR => 1, CLEANUP => !$keep);
	chmod 0755, $tmp;
	$kwright = "$tmp/kwright";
	system('cp', $program, $kwright) == 0 or die "cannot copy $program\n";
	make_path("$tmp/data", "$tmp/cache", "$tmp/work");
	@ENV{qw(HOME XDG_DATA_HOME XDG_CACHE_HOME NO_COLOR LC_ALL)} = ($tmp, "$tmp/data", "$tmp/cache", 1, 'C');
	delete @ENV{qw(KW_FAIL_ALLOC KW_FAIL_WRITE KW_FAIL_EXEC)};
	chdir "$tmp/work" or die "$tmp/work: $!\n";
	print "# $tmp\n" if $keep;
	$| = 1;
}

sub header {
	my ($path) = @_;
	my %h = (effort => 'full', timeout => 1, expect => '', why => '');
	for my $line (split /\n/, slurp($path)) {
		next unless $line =~ m{^//# ([\w-]+) (.*)$};
		$h{$1} = $1 eq 'why' && $h{why} ? "$h{why} $2" : $2;
	}
	die "$path: no //# task or //# expect line\n" unless $h{task} && $h{expect};
	return \%h;
}

# Runs the program. Returns a hash: code (undef after a signal or a hang), out, err, seconds, fault.
sub kwright {
	my @args = @_;
	my ($out, $err, $start, $hung) = ("$tmp/out", "$tmp/err", time, 0);
	my $pid = fork // die "fork: $!";
	if (!$pid) {
		setpgrp(0, 0);
		open STDIN, '<', '/dev/null'; open STDOUT, '>', $out; open STDERR, '>', $err;
		exec $kwright, @args or POSIX::_exit(127);
	}
	local $SIG{ALRM} = sub { $hung = 1; kill 'KILL', -$pid; };
	alarm 120;
	1 while waitpid($pid, 0) != $pid;
	my $status = $?;
	alarm 0;
	my %r = (out => slurp($out), err => slurp($err), seconds => time - $start, fault => '');
	if ($hung) { $r{fault} = 'the program itself hung'; }
	elsif ($status & 127) { $r{fault} = 'the program died of signal ' . ($status & 127); }
	else { $r{code} = $status >> 8; }
	return \%r;
}

# kwright eval: adds json, verdict ("wrong/nan") and ns (of the first timed case) to the hash.
sub evaluate {
	my ($task, $file, $h, @more) = @_;
	my $r = kwright('eval', $task, $file, '--json', '--effort', $h->{effort} || 'full',
		'--timeout', $h->{timeout} || 1, '--store', "$tmp/store", @more);
	return $r if $r->{fault};
	$r->{json} = eval { JSON::PP->new->decode($r->{out}) };
	if (!$r->{json} || !$r->{json}{verdict}) {
		$r->{fault} = "exit code $r->{code} and no verdict: " . ((split /\n/, $r->{err})[0] // '');
		return $r;
	}
	my ($class, $sub) = @{$r->{json}}{qw(verdict subclass)};
	$r->{verdict} = $class . ($sub ? "/$sub" : '');
	$r->{fault} = "exit code $r->{code} for $r->{verdict}" if $r->{code} != ($class eq 'ok' ? 0 : 1);
	my @times = grep { $_ } map { $_->{median_ns} } @{$r->{json}{cases} || []};
	$r->{ns} = $times[0] || 0;
	return $r;
}

my $cpu = slurp('/proc/cpuinfo');
my %time_of;

# One control in the folder of tasks; returns the fault and what evaluate returned. find: path of a control by name.
sub check {
	my ($path, $tasks, $h, $find) = @_;
	my $r = evaluate("$tasks/$h->{task}.yaml", $path, $h);
	my %allowed = map { $_ => 1 } split ' ', $h->{expect};
	my $fault = $r->{fault};
	$fault = "verdict $r->{verdict}, not " . join(' or ', split ' ', $h->{expect})
		if !$fault && !$allowed{$r->{verdict}};
	if (!$fault && $r->{verdict} eq 'ok' && $h->{'not-faster'}) {
		my $name = $h->{'not-faster'};
		my $other = $time_of{$name} //= evaluate("$tasks/$h->{task}.yaml", $find->($name), {})->{ns};
		$fault = sprintf('%.0f ns, but %s takes %.0f', $r->{ns}, $name, $other)
			if !$r->{ns} || !$other || $r->{ns} < 0.1 * $other;
	}
	return ($fault, $r);
}

sub lacks { my ($h) = @_; return $h->{needs} && $cpu !~ /\b\Q$h->{needs}\E\b/; }

# Why OpenCL kernels cannot be judged here; '' when they can.
my $opencl;
sub lacks_opencl {
	return $opencl if defined $opencl;
	my $r = kwright('doctor');
	my ($health, $text) = $r->{out} =~ /^(?:backend)?\s+opencl\s+(\S+)\s+(.*)$/m;
	return $opencl = ($health // '') eq 'ok' ? '' : 'no OpenCL: ' . ($text // 'doctor does not name it');
}

sub ok {
	my ($fault, $name, @notes) = @_;
	printf "%s %d - %s\n", $fault ? 'not ok' : 'ok', ++$count, $name =~ s/#/\\#/gr;
	return !$fault unless $fault;
	print "# $_\n" for map { split /\n/ } $fault, @notes;
	return 0;
}
sub skip { my ($name, $why) = @_; print 'ok ', ++$count, " - $name # SKIP $why\n"; }

sub explain {
	my ($r) = @_;
	return ($r->{err} // '') unless $r->{json};
	return (($r->{json}{summary} // ''), ($r->{json}{evidence} // ''));
}

sub finish {
	chdir "/"; # or the folder could not be removed
	my @left = grep { (readlink("$_/exe") // '') =~ /^\Q$kwright\E/ } glob '/proc/[0-9]*';
	ok(@left ? "@left" : '', 'no process is left behind');
	print "1..$count\n";
}

1;
