#!/usr/bin/perl
# A benchmark that is killed (SIGKILL) at random moments goes on by the same command: nothing is judged twice, nothing is lost, no
# process is left behind, and what it says in the end is what the store has.
use strict;
use warnings;
use File::Basename;
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use JSON::PP;
use POSIX qw(:sys_wait_h setpgid);
use Time::HiRes qw(sleep time);

my $top = dirname(__FILE__) . '/../..';
my $kwright = $ENV{KWRIGHT} || "$top/build/kwright";
my ($problems, $kills) = (6, 12);
my $n = 0;
if (!-x $kwright) {
	print "1..0 # SKIP no command yet\n";
	exit;
}
my $tmp = tempdir(CLEANUP => 1);
make_path("$tmp/home", "$tmp/cache", "$tmp/KernelBench/level1", "$tmp/c");
@ENV{qw(HOME XDG_DATA_HOME XDG_CACHE_HOME)} = ("$tmp/home", "$tmp/home", "$tmp/cache");

sub ok { my ($pass, $name) = @_; $n++; print $pass ? '' : 'not ', "ok $n - $name\n"; return $pass; }
sub put { my ($path, $text) = @_; open my $out, '>', $path or die "$path: $!"; print $out $text; close $out; }

for my $i (1 .. $problems) {
	put("$tmp/KernelBench/level1/${i}_Times_$i.yaml",
	    "name: times_$i\ndims: { n: { min: 0, max: 100000 } }\ninputs:\n  x: { dtype: f32, shape: [n] }\n" .
	    "reference:\n  expr: |\n    y = x * $i\nperf: [ { n: 20000 } ]\ncheck: [ { n: 7 } ]\n");
	my $factor = $i == 4 ? 9 : $i; # one is wrong
	put("$tmp/c/$i.c", "//@ kernel f args=(x, y, n:i64)\nvoid f(const float *x, float *y, int64_t n)\n{\n" .
	    "\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = x[i] * $factor;\n}\n");
	rename "$tmp/c/$i.c", "$tmp/c/Times_$i.c";
}
my @command = ($kwright, 'bench', 'kernelbench', '--path', $tmp, '--candidates', "$tmp/c", '--store', "$tmp/store", '--threads', '1',
	       '--quiet', '--json');

sub left_behind {
	my @pids;
	for my $file (glob '/proc/[0-9]*/cmdline') {
		open my $in, '<', $file or next;
		local $/;
		my $line = <$in> // '';
		push @pids, $file if $line =~ /__bench/ && index($line, "$tmp/store") >= 0;
	}
	return @pids;
}

# Ends the command after a while, unless it is done first; its output then.
sub run {
	my ($after) = @_;
	my $pid = fork // die;
	if (!$pid) {
		open STDOUT, '>', "$tmp/out";
		open STDERR, '>', "$tmp/err";
		exec @command or POSIX::_exit(127);
	}
	my $end = time + $after;
	while (time < $end) {
		return ($?, slurp("$tmp/out")) if waitpid($pid, WNOHANG) == $pid;
		sleep 0.005;
	}
	kill 'KILL', $pid;
	waitpid $pid, 0;
	return (undef, '');
}
sub slurp { local $/; open my $in, '<', $_[0] or return ''; return <$in> // ''; }

my ($killed, $stayed) = (0, 0);
for my $k (1 .. $kills) {
	my ($rc) = run(0.05 + rand 1.2);
	$killed++ unless defined $rc;
	my $until = time + 10;
	sleep 0.02 while left_behind() && time < $until;
	$stayed++ if left_behind();
}
ok($killed >= $kills / 3, "it was killed $killed times");
ok($stayed == 0, 'no process outlives it');
my ($rc, $out) = run(600);
my $j = eval { decode_json($out) } // {};
ok(defined $rc && $rc == 0, 'then it ends') or print '# ', slurp("$tmp/err"), "\n";
ok($j->{complete}, 'complete');
ok(@{$j->{items} // []} == $problems, 'with every item');
my @right = map { $_->{right} ? 1 : 0 } @{$j->{items} // []};
ok("@right" eq '1 1 1 0 1 1', "each with its own verdict: @right");
my %once = map { $_->{verdict_id} => 1 } grep { defined $_->{verdict_id} } @{$j->{items} // []};
ok(keys %once == $problems, 'and no verdict is two items\'');
my $runs = eval { decode_json(scalar `$kwright runs list --store $tmp/store --json`) } // [];
ok(@$runs == 1 && $runs->[0]{evaluations} == $problems, "nothing was judged twice: $runs->[0]{evaluations} verdicts in the store");
my ($again, $text) = run(600);
my $second = eval { decode_json($text) } // {};
ok(($second->{reused} // 0) == $problems, 'the same command again does nothing');
ok(JSON::PP->new->canonical->encode($second->{scores} // []) eq JSON::PP->new->canonical->encode($j->{scores} // []), 'and says the same');
print "1..$n\n";
