#!/usr/bin/perl
# Full and read-only disks, for real: a small tmpfs in a mount namespace of our own. A disk that is full is never a verdict
# about a candidate, and loses nothing that was judged.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename;
use File::Temp qw(tempdir);
use JSON::PP;

my $top = abs_path(dirname($0) . '/../..');
my $kwright = $ENV{KWRIGHT} || "$top/build/kwright";
my ($task, $file) = map { "$top/tests/cli/data/$_" } qw(twice.yaml twice.c);
if (!-e "$top/src/cmd/main.c") { print "1..0 # SKIP no command yet\n"; exit; }
if (!@ARGV) {
	# The same program again, where it may mount.
	my $granted = system('unshare', '-rm', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt 2>/dev/null && mount -o remount,ro /mnt') == 0;
	if (!$granted) { print "1..0 # SKIP no tmpfs may be mounted here\n"; exit; }
	exec 'unshare', '-rm', $^X, $0, 'inside' or die;
}

my $tmp = tempdir(CLEANUP => 1);
mkdir "$tmp/$_" for qw(home tmp disk);
@ENV{qw(HOME XDG_DATA_HOME TMPDIR LC_ALL)} = ("$tmp/home", "$tmp/home/data", "$tmp/tmp", 'C');
chdir $tmp or die;
my ($count, $serial) = (0, 0);

sub ok {
	my ($good, $name, @notes) = @_;
	printf "%s %d - %s\n", $good ? 'ok' : 'not ok', ++$count, $name;
	print map { "# $_\n" } map { split /\n/ } @notes unless $good;
}

sub mount_disk { system('mount', '-t', 'tmpfs', '-o', "size=$_[0]", 'tmpfs', "$tmp/disk") == 0 or die 'mount'; }
sub umount_disk { system('umount', "$tmp/disk") == 0 or die 'umount'; }

# (exit code, all that was said); a build cache of its own each time.
sub run {
	my ($words) = @_;
	my $text = `XDG_CACHE_HOME=$tmp/cache@{[++$serial]} $words 2>&1`;
	return ($? >> 8, $text);
}

# From a disk on which not even the header fits to one where all does.
sub full_while_compiling {
	my (%seen, @bad);
	for (my $kib = 24; $kib <= 96; $kib += 8) {
		mount_disk("${kib}k");
		my ($code, $text) = run("TMPDIR=$tmp/disk $kwright eval $task $file --case n=7 --store $tmp/s --quiet");
		$seen{$code}++;
		push @bad, "$kib KiB: exit code $code", $text
			unless $code == 0 || ($code == 3 && $text =~ /^error: \S+: .*(No space left|disk is full)/m);
		umount_disk();
	}
	ok(!@bad, 'a disk that fills up under the compiler is no verdict', @bad);
	ok($seen{0} && $seen{3}, 'some disks were too small, some were not', map { "$_: $seen{$_}" } keys %seen);
}

sub full_store {
	my (@bad, $cut);
	for my $kib (60, 200, 320) {
		mount_disk("${kib}k");
		my ($code, $text) = run("$kwright tune $task $top/tests/cli/data/twice_tuned.c --store $tmp/disk/s --quiet");
		push @bad, "$kib KiB: exit code $code", $text if $code != 0 && ($code != 3 || $text !~ /the disk is full/);
		my ($seen, $list) = run("$kwright runs list --json --store $tmp/disk/s");
		push @bad, "$kib KiB: list: exit code $seen", $list unless $seen == 0;
		my $runs = $seen == 0 ? decode_json($list) : [];
		if ($code == 3 && @$runs) {
			$cut++;
			push @bad, "$kib KiB: not how to go on", $text unless $text =~ /`kwright runs resume 1` goes on/;
			system('mount', '-o', 'remount,size=20m', "$tmp/disk");
			($code, $text) = run("$kwright runs resume 1 --json --store $tmp/disk/s --quiet");
			my $run = eval { decode_json($text) } || {};
			push @bad, "$kib KiB: resume: exit code $code", $text unless $run->{best} && $code == 0
				&& $run->{evaluations} >= $runs->[0]{evaluations};
			($code, $text) = run("$kwright runs verify --store $tmp/disk/s");
			push @bad, "$kib KiB: verify: $text" unless $text =~ /each as it was recorded/;
		}
		umount_disk();
	}
	ok(!@bad, 'a full store is told, keeps what was judged, and the run goes on where there is room', @bad);
	ok($cut, 'a run was cut off by a full disk');
}

sub read_only_store {
	mount_disk('20m');
	run("$kwright eval $task $file --case n=7 --store $tmp/disk/s --quiet");
	system('mount', '-o', 'remount,ro', "$tmp/disk");
	my ($code, $text) = run("$kwright eval $task $file --case n=7 --store $tmp/disk/s --quiet");
	ok($code == 3 && $text =~ /disk\/s\/store\.db: the store is read-only/, 'a read-only store is told before anything runs',
		"exit code $code", $text);
	($code, $text) = run("$kwright eval $task $file --case n=7 --store $tmp/disk/new --quiet");
	ok($code == 3 && $text =~ /cannot make folder/, 'so is one that cannot be made', "exit code $code", $text);
	($code, $text) = run("$kwright runs verify --store $tmp/disk/s");
	ok($code == 0 && $text =~ /^1 records/, 'it can be read', "exit code $code", $text);
	($code, $text) = run("$kwright doctor --store $tmp/disk/new");
	ok($code == 3 && $text =~ /store +BAD +\S+ cannot be written/, 'doctor says so', "exit code $code", $text);
	umount_disk();
}

$| = 1;
full_while_compiling();
full_store();
read_only_store();
print "1..$count\n";
