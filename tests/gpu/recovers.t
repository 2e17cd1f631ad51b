#!/usr/bin/perl
# On a GPU: kernels that crash, hang or touch what is not theirs, every second time, cost no later kernel anything: not in one
# process that searches, not in processes one after the other. No verdict is lost, and each has its own name.
use strict;
use warnings;
use File::Basename;
use lib dirname(__FILE__) . '/../cheats';
use Control;

Control::start(0);
if (my $why = Control::health('device', 'nvidia') // 'this version has no such device') {
	chdir "/"; # or the folder could not be removed
	print "1..0 # SKIP $why\n";
	exit;
}
my $here = "$Control::top/tests/gpu";
my $task = "$Control::top/tests/cheats/tasks/affine.yaml";

# What faults.cu does at each MODE.
sub wanted {
	my ($mode) = @_;
	return 'ok' if $mode % 2 == 0;
	return 'runtime_error/timeout' if $mode == 5;
	return (qw(crash illegal_access misaligned))[$mode % 6 / 2] =~ s{^}{runtime_error/}r;
}

sub records {
	my ($store) = @_;
	my $r = Control::kwright('runs', 'verify', '--store', $store);
	return ($r->{code} // 99) == 0 && $r->{out} =~ /^(\d+) records, each as it was recorded/ ? $1 : "$r->{out}$r->{err}";
}

# Fifty processes, one after the other.
my @files = map { my $mode = $_; [ $mode, "$Control::tmp/mode$mode.cu" ] } 0, 1, 0, 3, 0, 5;
for my $f (@files) {
	open my $out, '>', $f->[1] or die "$f->[1]: $!\n";
	print $out Control::slurp("$here/faults.cu") =~ s{^(//\@ tune MODE .*default )0$}{$1$f->[0]}mr;
	close $out;
}
my @wrong;
for my $turn (0 .. 49) {
	my ($mode, $file) = @{$files[$turn % @files]};
	my $e = Control::evaluate($task, $file, { effort => 'screen', timeout => '1s' });
	my $name = $e->{fault} || $e->{verdict};
	push @wrong, "$turn: $name, not " . wanted($mode) if $name ne wanted($mode);
}
Control::ok(@wrong ? scalar(@wrong) . ' wrong' : '', 'fifty processes in a row: each has its own verdict', @wrong);
my $kept = records("$Control::tmp/store");
Control::ok($kept eq '50' ? '' : $kept, 'and the store has all of them');

# One process that judges many. A search takes forty of its points at most, and ends when twenty in a row brought nothing better: two of them.
@wrong = ();
my (%got, $verdicts);
for my $first (0, 60) {
	my $file = "$Control::tmp/from$first.cu";
	my $modes = join ', ', $first .. $first + 59;
	open my $out, '>', $file or die "$file: $!\n";
	print $out Control::slurp("$here/faults.cu") =~ s|^(//\@ tune MODE) .*|$1 in {$modes} default $first|mr;
	close $out;
	my $r = Control::kwright('patience', 330, 'tune', $task, $file, '--json', '--quiet', '--budget-time', '300s', '--store', "$Control::tmp/one");
	my $run = eval { JSON::PP->new->decode($r->{out}) } || {};
	Control::ok($r->{fault} || (($r->{code} // 99) == 0 ? '' : "exit code $r->{code}"), "a search through them from $first on ends well", $r->{err});
	$verdicts += @{$run->{verdicts} || []};
	for my $v (@{$run->{verdicts} || []}) {
		my ($mode) = ($v->{tune} // '') =~ /^MODE=(\d+)$/ or next;
		my $name = $v->{verdict} . ($v->{subclass} ? "/$v->{subclass}" : '');
		$got{$mode} = $name;
		push @wrong, "MODE=$mode: $name, not " . wanted($mode) if $name ne wanted($mode);
	}
}
Control::ok(@wrong ? "@wrong" : '', 'each point has its own verdict', @wrong);
my $faults = grep { $_ ne 'ok' } values %got;
Control::ok(keys %got >= 40 && $faults >= 10 ? '' : keys(%got) . " points, $faults faults", 'forty points and more, faults among them');
$kept = records("$Control::tmp/one");
Control::ok($kept eq $verdicts ? '' : "$kept, not $verdicts", 'the store has every verdict');
Control::finish();
