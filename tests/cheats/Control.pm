# Control.pm - evaluates one candidate with `kwright eval` and compares the verdict with the candidate's first lines.
# Used by tests/cheats/run and tests/cases/run.
#
# In Python these lines begin with `#//`.
#
#     //# task NAME             NAME.yaml in the folder of tasks
#     //# expect CLASS[/SUB]... what the verdict may be; more than one only where that is not for the judge to choose.
#                           `refused`: none at all, the plan lines cannot be read
#     //# why TEXT
#     //# effort final          the check before a kernel is handed over (default: full)
#     //# timeout SECONDS       of one call (default 1)
#     //# not-faster NAME [S]   where the verdict is ok: its time may not be under S (a tenth) of that control's
#     //# flag TEXT             the verdict has a remark with this text
#     //# patience SECONDS  of the whole (default 120)
#     //# needs FLAG            a flag of /proc/cpuinfo, sm_NN: a GPU from there on, landlock, or host-memory: an OpenCL device whose
#                           buffers are the host's (elsewhere what is read beside one is not seen); else skipped
#     //# alone yes             never beside others
#     //# only DEVICE           a module that is made for this one
package Control;
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename;
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use JSON::PP;
use POSIX ();
use Time::HiRes qw(sleep time);

our $top = abs_path(dirname(__FILE__) . '/../..');
our ($kwright, $tmp);
our $device = ''; # where modules run; '': where the program takes them
my $count = 0;
my $place = ''; # of a process that works beside others
# What the files are written in, and what runs them: names that `doctor` has.
my %language = (
	c  => { backend => 'c' },
	cu => { backend => 'cuda', device => 'nvidia' },
	cl => { backend => 'opencl', device => 'opencl' },
	py => { backend => 'module' },
	tr => { backend => 'triton' }, # tr_NAME.py: on a GPU, else by the interpreter
);
sub endings { return ('py', grep { $_ ne 'py' && $_ ne 'tr' } sort keys %language); }
sub language { my ($path) = @_; return basename($path) =~ /^tr_/ ? 'tr' : $path =~ /\.(\w+)$/ ? $1 : ''; }

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
		next unless $line =~ m{^(?://\#|\#//) ([\w-]+) (.*)$};
		$h{$1} = $1 eq 'why' && $h{why} ? "$h{why} $2" : $2;
	}
	die "$path: no //# task or //# expect line\n" unless $h{task} && $h{expect};
	return \%h;
}

# Runs the program. Returns a hash: code (undef after a signal or a hang), out, err, seconds, fault.
sub kwright {
	my @args = @_;
	my $patience = 120;
	$patience = (splice @args, 0, 2)[1] if $args[0] eq 'patience';
	my ($out, $err, $start, $hung) = ("$tmp/out$place", "$tmp/err$place", time, 0);
	my $pid = fork // die "fork: $!";
	if (!$pid) {
		setpgrp(0, 0);
		open STDIN, '<', '/dev/null'; open STDOUT, '>', $out; open STDERR, '>', $err;
		exec $kwright, @args or POSIX::_exit(127);
	}
	local $SIG{ALRM} = sub { $hung = 1; kill 'KILL', -$pid; };
	alarm $patience;
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
	my $r = kwright('patience', $h->{patience} || 120, 'eval', $task, $file, '--json', '--baselines', 'naive', '--effort', $h->{effort} || 'full',
		'--timeout', $h->{timeout} || 1, '--store', "$tmp/store$place", $device && language($file) eq 'py' ? ('--device', $device) : (), @more);
	return $r if $r->{fault};
	$r->{json} = eval { JSON::PP->new->decode($r->{out}) };
	if ($r->{code} == 2 && (($r->{json} || {})->{error}{status} // '') eq 'KW_ERR_INPUT') {
		$r->{verdict} = 'refused';
		return $r;
	}
	if (!$r->{json} || !$r->{json}{verdict}) {
		$r->{fault} = "exit code $r->{code} and no verdict: " . ((split /\n/, $r->{err})[0] // '');
		return $r;
	}
	my ($class, $sub) = @{$r->{json}}{qw(verdict subclass)};
	$r->{verdict} = $class . ($sub ? "/$sub" : '');
	$r->{fault} = "exit code $r->{code} for $r->{verdict}" if $r->{code} != ($class eq 'ok' ? 0 : 1);
	# What a module's kernels are compiled in is time of building, once.
	$r->{fault} = "its times do not add up: building $r->{json}{build_ns}, the rest $r->{json}{judge_ns} ns"
		if $file =~ /mo_triton/ && $class eq 'ok' && ($r->{json}{build_ns} <= 0 || $r->{json}{judge_ns} < 0);
	my @times = grep { $_ } map { $_->{median_ns} } @{$r->{json}{cases} || []};
	$r->{ns} = $times[0] || 0;
	return $r;
}

# The players of a process: pid => [state, MiB that it holds].
sub players {
	my ($parent) = @_;
	my %found;
	for my $file (glob '/proc/[0-9]*/status') {
		my ($pid) = $file =~ m{(\d+)};
		my $text = slurp($file);
		next unless $text =~ /^PPid:\s+$parent$/m && slurp("/proc/$pid/cmdline") =~ /__player/;
		my ($state) = $text =~ /^State:\s+(\w)/m;
		$found{$pid} = [ $state, $text =~ /^VmRSS:\s+(\d+)/m ? $1 / 1024 : 0 ];
	}
	return \%found;
}

# kwright eval of a task and a file, while look->(players) says which ones to kill. What the judge says of its steps is in $tmp/err.
sub watched {
	my ($task, $file, $look) = @_;
	my $pid = fork // die "fork: $!";
	if (!$pid) {
		open STDIN, '<', '/dev/null'; open STDOUT, '>', "$tmp/out"; open STDERR, '>', "$tmp/err";
		exec $kwright, 'eval', $task, $file, '--json', '--store', "$tmp/store", '--timeout', '10', '--verbose'
			or POSIX::_exit(127);
	}
	my ($end, $kills) = (time + 120, 0);
	while (waitpid($pid, POSIX::WNOHANG()) == 0) {
		if (time > $end) { kill 'KILL', $pid; waitpid $pid, 0; return { fault => 'it hung' }; }
		my @now = $look->(players($pid));
		$kills += kill 'KILL', @now if @now;
		sleep 0.005;
	}
	return { code => $? >> 8, kills => $kills, err => slurp("$tmp/err"),
		json => eval { JSON::PP->new->decode(slurp("$tmp/out")) } || {} };
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
	$fault = "no remark has the text '$h->{flag}'"
		if !$fault && $h->{flag} && !grep { index($_, $h->{flag}) >= 0 } @{$r->{json}{flags} || []};
	if (!$fault && $r->{verdict} eq 'ok' && $h->{'not-faster'}) {
		my ($name, $share) = split ' ', $h->{'not-faster'};
		# What is faster by noise is so once, not four times.
		for my $look (1 .. 4) {
			my $ns = $look == 1 ? $r->{ns} : evaluate("$tasks/$h->{task}.yaml", $path, $h)->{ns};
			delete $time_of{$name} if $look > 1;
			my $other = $time_of{$name} //= evaluate("$tasks/$h->{task}.yaml", $find->($name), {})->{ns};
			$r->{other} = $other;
			$fault = !$ns || !$other || $ns < ($share // 0.1) * $other
				? sprintf('%.0f ns, but %s takes %.0f', $ns, $name, $other) : '';
			last unless $fault;
		}
	}
	return ($fault, $r);
}

# ", 1234 ns, 98% of the ceiling" of the first timed case.
sub figures {
	my ($r) = @_;
	my ($c) = grep { $_->{median_ns} } @{($r->{json} || {})->{cases} || []};
	return '' unless $c;
	my $text = sprintf(', %.0f ns', $c->{median_ns});
	$text .= sprintf(' beside %.0f', $r->{other}) if $r->{other};
	$text .= sprintf(', %.1f%% of the ceiling', 100 * $c->{sol}) if $c->{sol};
	return $text;
}

my $doctor;
sub facts {
	if (!$doctor) {
		my $r = kwright('doctor', '--json');
		$doctor = eval { JSON::PP->new->decode($r->{out}) } or die "doctor says nothing that is JSON: $r->{err}\n";
	}
	return @{$doctor->{facts}};
}

# What doctor says of a part; '' when it is well, undef when it is not named.
sub health {
	my ($part, $name) = @_;
	my ($f) = grep { $_->{part} eq $part && $_->{name} eq $name } facts();
	return $f && ($f->{health} eq 'ok' ? '' : $f->{text});
}
sub words {
	my ($part, $name) = @_;
	my ($f) = grep { $_->{part} eq $part && $_->{name} eq $name } facts();
	return $f ? $f->{text} : '';
}

# A right kernel that asks for it says whether this device is so new.
my %newer;
sub older_than {
	my ($sm) = @_;
	return $newer{$sm} if defined $newer{$sm};
	open my $f, '>', "$tmp/needs.cu" or die "$tmp/needs.cu: $!\n";
	print $f "//\@ kernel f grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)\n//\@ require sm >= $sm\n",
		'extern "C" __global__ void f(const float *x, float *y, int64_t n)', "\n",
		'{ int64_t i = blockIdx.x * 256ll + threadIdx.x; if (i < n) y[i] = 2.0f * x[i] + 1.0f; }', "\n";
	close $f;
	my $r = evaluate("$top/tests/cheats/tasks/affine.yaml", "$tmp/needs.cu", { effort => 'screen' });
	die "whether this is sm_$sm could not be seen: $r->{fault}$r->{verdict}\n" unless $r->{verdict} =~ /^(ok|not_applicable)$/;
	return $newer{$sm} = $r->{verdict} eq 'ok' ? '' : "this device is older than sm_$sm";
}

# Why this control cannot be judged here; '' when it can.
sub lacks {
	my ($path, $h) = @_;
	my $l = $language{language($path)};
	my $backend = health('backend', $l->{backend}) // 'this version does not build it';
	return "$l->{backend}: $backend" if $backend;
	my $where = language($path) eq 'py' ? $device : $l->{device};
	return "it is made for the device $h->{only}" if $h->{only} && $h->{only} ne ($device || 'cpu');
	my $missing = $where ? health('device', $where) // "there is no device called $where" : '';
	return $missing if $missing;
	my $needs = $h->{needs} or return '';
	return older_than($1) if $needs =~ /^sm_(\d+)$/;
	return health('sandbox', 'landlock') if $needs eq 'landlock';
	return words('device', 'opencl') =~ /\(opencl cpu\)/ ? '' : 'what is read beside a buffer of this device is not seen' if $needs eq 'host-memory';
	return $cpu =~ /\b\Q$needs\E\b/ ? '' : "this processor has no $needs";
}

# work->(item) for each, so many at once, those that are `alone` at the end; done->(item, what work returned) as each ends: a run
# that is cut off has shown what it found.
sub each_of {
	my ($jobs, $items, $work, $done) = @_;
	my ($next, $shown, %running) = (0, 0);
	my @order = ((grep { !$_->{alone} } @$items), (grep { $_->{alone} } @$items));
	while ($shown < @order) {
		my $most = $next < @order && $order[$next]{alone} ? 1 : $jobs;
		if ($jobs < 2) {
			$done->($order[$next], $work->($order[$next]));
			$next++;
			$shown++;
		} elsif ($next < @order && keys %running < $most) {
			my $pid = fork // die "fork: $!";
			if (!$pid) {
				$place = ".$next";
				my @got = $work->($order[$next]);
				open my $f, '>', "$tmp/result$place" or POSIX::_exit(1);
				print $f JSON::PP->new->encode(\@got);
				close $f;
				POSIX::_exit(0);
			}
			$running{$pid} = $next++;
		} else {
			my $which = delete $running{ waitpid(-1, 0) };
			my $text = slurp("$tmp/result.$which");
			$done->($order[$which], $text ? @{JSON::PP->new->decode($text)} : ('its process ended', ''));
			$shown++;
		}
	}
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
