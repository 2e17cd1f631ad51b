#!/usr/bin/perl
# What a benchmark builds before it judges: candidates, and what the judge itself runs on a GPU, which it then finds in the build cache. The driver is
# tests/unit/fake_cuda.c, the compiler NVIDIA's; skipped where that is not there.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename;
use File::Path qw(make_path);
use File::Temp qw(tempdir);

my $top = abs_path(dirname(__FILE__) . '/../..');
my $kwright = $ENV{KWRIGHT} || "$top/build/kwright";
my $n = 0;
sub skip_all { print "1..0 # SKIP $_[0]\n"; exit; }
sub ok { my ($pass, $name, $more) = @_; $n++; print $pass ? '' : 'not ', "ok $n - $name\n"; print "# $more\n" if !$pass && defined $more; return $pass; }
sub put { my ($path, $text) = @_; make_path(dirname($path)); open my $out, '>', $path or die "$path: $!"; print $out $text; close $out; }

skip_all('no command yet') unless -x $kwright;
my $tmp = tempdir(CLEANUP => 1);
@ENV{qw(HOME XDG_DATA_HOME XDG_CACHE_HOME)} = ("$tmp/home", "$tmp/home", "$tmp/cache");
make_path("$tmp/home", "$tmp/cache", "$tmp/driver");
skip_all('no gcc') if system("gcc -O1 -w -shared -fPIC -D_GNU_SOURCE -DFAKE -I'$top/src' -o $tmp/driver/libcuda.so.1 '$top/tests/unit/fake_cuda.c' 2>$tmp/err");
$ENV{LD_LIBRARY_PATH} = "$tmp/driver";

# The first two are one task's, the third another's; the fourth is no kernel.
for my $i (1 .. 2) {
	my $more = $i == 2 ? ' + 0' : '';
	put("$tmp/KernelBench/level1/${i}_Same_$i.yaml", "name: same_$i\ndims: { n: { min: 1, max: 65536 } }\ninputs: { x: { dtype: i8, shape: [n] } }\n" .
	    "outputs: { y: { dtype: i8, shape: [n] } }\nreference:\n  expr: |\n    y = x$more\nperf: [ { n: 4096 } ]\ncheck: [ { n: 1000 } ]\n");
}
my $kernel = "//\@ kernel copy grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)\n" .
	"extern \"C\" __global__ void copy(const signed char *x, signed char *y, int64_t n)\n{\n" .
	"\tint64_t i = blockIdx.x * 256ll + threadIdx.x;\n\n\tif (i < n)\n\t\ty[i] = x[i];\n}\n";
put("$tmp/c/level_1_problem_1_sample_0_kernel.cu", $kernel);
put("$tmp/c/level_1_problem_1_sample_1_kernel.cu", "// Another.\n$kernel");
put("$tmp/c/level_1_problem_2_sample_0_kernel.cu", "// A third.\n$kernel");
put("$tmp/c/level_1_problem_2_sample_1_kernel.cu", $kernel =~ s/y\[i\] = /z[i] = /r);

sub bench {
	open my $in, '-|', "cd $tmp && $kwright bench kernelbench --path . --candidates c --store $_[0] --baselines none --verbose 2>&1" or die;
	return <$in>;
}

my @said = bench('first');
skip_all('no compiler for CUDA') if grep { /there is no CUDA compiler/ } @said;
my ($build) = grep { $said[$_] =~ /bench: build/ } 0 .. $#said;
my ($judge) = grep { $said[$_] =~ /bench: judge/ } 0 .. $#said;
if (!ok(defined $build && defined $judge && $build < $judge, 'it builds, then it judges', join '', @said)) {
	print "1..$n\n";
	exit 1;
}
my @ahead = @said[$build .. $judge];
my @later = @said[$judge .. $#said];
for my $part (qw(reference_f64 reference_f32)) {
	ok((grep { /built $part with NVRTC/ && !/\(cache\)/ } @ahead) == 2, "$part of both tasks is built before anything is judged", join '', @ahead);
	ok((grep { /built $part .*\(cache\)/ } @later) >= 3 && !(grep { /built $part/ && !/\(cache\)/ } @later), "and each judgement finds it", join '', @later);
}
ok((grep { /^level1\/1#[01] .* ok / } @said) == 2 && (grep { /^level1\/2#0 .* ok / } @said) == 1, 'what copies is right', join '', grep { /^level/ } @said);
ok((grep { /^level1\/2#1 .* build_error\/undefined / } @said) == 1, 'and what does not compile is told', join("", grep { /^level/ } @said));

@said = bench('second');
ok((grep { /built reference_f64 .*\(cache\)/ } @said) >= 3 && !(grep { /built (?:reference|level)/ && !/\(cache\)/ && !/level_1_problem_2_sample_1/ } @said), 'the second time nothing is built', join '', @said);
print "1..$n\n";
