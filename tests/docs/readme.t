#!/usr/bin/perl
# The examples of README.md and docs/*.md run, and print what the page says. An example is a fenced
# block marked "console":
#
#     $ build/kwright task show softmax        # exit 0 if nothing is said; else "  # exit N"
#     softmax ...                              its output, as far as the page shows it
#
# Lines are compared in order, with each number taken as any number and blanks squeezed; a line
# "..." stands for any lines. Blocks of one page share a folder. ./demo, ./check, make and git are not
# run here: other tests do that.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename;
use File::Temp qw(tempdir);

my $top = abs_path(dirname($0) . '/../..');
my $kwright = $ENV{KWRIGHT} || "$top/build/kwright";
my $count = 0;
if (!-e "$top/src/cmd/main.c") { print "1..0 # SKIP no command yet\n"; exit; }

my $tmp = tempdir(CLEANUP => 1);
mkdir "$tmp/$_" for qw(home tmp bin);
symlink $kwright, "$tmp/bin/kwright";
@ENV{qw(HOME XDG_DATA_HOME XDG_CACHE_HOME TMPDIR NO_COLOR LC_ALL)} =
	("$tmp/home", "$tmp/home/data", "$tmp/home/cache", "$tmp/tmp", 1, 'C');
$ENV{PATH} = "$tmp/bin:$ENV{PATH}";

sub mask {
	my ($line) = @_;
	$line =~ s/[0-9][0-9.,]*/N/g;
	$line =~ s/\s+/ /g;
	$line =~ s/^ | $//g;
	# Units follow their number.
	$line =~ s/N (ns|us|ms|s|min|B|KiB|MiB|GiB)\b/N UNIT/g;
	return $line;
}

sub check_example {
	my ($page, $dir, $e) = @_;
	my $command = $e->{command};
	my $want_code = $command =~ s/\s+# exit (\d+)$// ? $1 : 0;
	return if $command =~ m{^(\./demo|\./check|make|git)\b};
	local @ENV{qw(DIR COMMAND)} = ($dir, $command);
	my $text = `cd "\$DIR" && timeout 250 sh -c "\$COMMAND" 2>&1 < /dev/null`;
	my $code = $? >> 8;
	$code = 0 if $code == 1 && $text =~ /^  right, but slower than /m; # how fast this machine is at the moment is no matter here
	my @got = map { mask($_) } split /\n/, $text;
	my (@missing, $at);
	for my $line (grep { $_ ne '...' && $_ ne '' } map { mask($_) } @{$e->{output}}) {
		my $i = $at // 0;
		$i++ while $i < @got && $got[$i] ne $line;
		if ($i < @got) { $at = $i + 1; } else { push @missing, $line; }
	}
	my $good = $code == $want_code && !@missing;
	printf "%s %d - %s: %s\n", $good ? 'ok' : 'not ok', ++$count, $page, $command =~ s/#/\\#/gr;
	return if $good;
	print "# exit code $code, not $want_code\n" if $code != $want_code;
	print "# not printed: $_\n" for @missing;
	print "# $_\n" for split /\n/, $text;
}

sub check_page {
	my ($path) = @_;
	my $page = $path =~ s{^\Q$top\E/}{}r;
	my $dir = "$tmp/page$count" . $page =~ tr{/.}{__}r;
	my ($inside, $example);

	mkdir $dir;
	symlink dirname($kwright), "$dir/build";
	symlink "$top/$_", "$dir/$_" for qw(tasks knowledge tests docs);
	open my $in, '<', $path or die "$path: $!\n";
	while (<$in>) {
		chomp;
		if (/^```(.*)/) {
			check_example($page, $dir, $example) if $example;
			undef $example;
			$inside = !$inside && $1 eq 'console';
		} elsif ($inside && s/^\$ //) {
			check_example($page, $dir, $example) if $example;
			$example = {command => $_, output => []};
		} elsif ($inside && $example) {
			push @{$example->{output}}, $_;
		}
	}
}

$| = 1;
check_page($_) for "$top/README.md", sort glob "$top/docs/*.md";
print $count ? "1..$count\n" : "1..0 # SKIP no examples yet\n";
