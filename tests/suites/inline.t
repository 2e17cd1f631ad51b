#!/usr/bin/perl
# What load_inline is given, compiled against the small header and called by PyTorch itself: inline.py. Skipped without torch.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename;
use File::Temp qw(tempdir);

my $here = dirname(abs_path($0));
my $python = $ENV{KWRIGHT_PYTHON} || 'python3';
my $found = system("$python -I -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec(\"torch\"))' >/dev/null 2>&1");
if ($found != 0) {
	print "1..0 # SKIP no Python with torch\n";
	exit;
}
my $tmp = tempdir(CLEANUP => 1);
$ENV{OMP_NUM_THREADS} = 1;
exit(system($python, "$here/inline.py", dirname(dirname($here)), $tmp) >> 8);
