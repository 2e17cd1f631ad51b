#!/usr/bin/perl
# What load_inline is given, compiled against the small header and called by PyTorch itself: inline.py. Skipped without torch.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename;
use File::Temp qw(tempdir);

my $here = dirname(abs_path($0));
my $top = dirname(dirname($here));
my $find = "-I -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec(\"torch\"))' >/dev/null 2>&1";
my @there = grep { defined && length } $ENV{KWRIGHT_PYTHON}, $ENV{VIRTUAL_ENV} && "$ENV{VIRTUAL_ENV}/bin/python", "$top/.venv/bin/python", 'python3';
my ($python) = grep { system("$_ $find") == 0 } @there;
if (!$python) {
	print "1..0 # SKIP no Python with torch\n";
	exit;
}
my $tmp = tempdir(CLEANUP => 1);
$ENV{OMP_NUM_THREADS} = 1;
exit(system($python, "$here/inline.py", $top, $tmp) >> 8);
