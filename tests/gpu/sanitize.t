#!/usr/bin/perl
# On a GPU with compute-sanitizer: kernels whose results are right, and that are wrong all the same. The judge alone passes each;
# --sanitize gives it its name, with the line. An honest one passes both.
use strict;
use warnings;
use File::Basename;
use lib dirname(__FILE__) . '/../cheats';
use Control;

Control::start(0);
my $why = Control::health('device', 'nvidia') // 'this version has no such device';
my $affine = "$Control::top/tests/cheats/tasks/affine.yaml";
my $head = "//\@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)\n";
my $f = 'extern "C" __global__ void candidate(const float *x, float *y, int64_t n)';
my %kernels = (
	honest => [ 'ok', 0, <<"END" ],
$head$f
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;
	if (i < n) y[i] = 2.0f * x[i] + 1.0f;
}
END
	# The other warps read long after the first one wrote, but nothing says so.
	race => [ 'wrong/race', 6, <<"END" ],
$head$f
{
	__shared__ float two;
	int64_t i = blockIdx.x * 256ll + threadIdx.x;
	if (threadIdx.x == 0) two = 2.0f;
	long long begin = clock64();
	while (clock64() - begin < 20000) ;
	if (i < n) y[i] = *(volatile float *)&two * x[i] + 1.0f;
}
END
	# What it reads from the workspace does not matter, unless it is this very number.
	uninitialised => [ 'wrong/uninitialised', 0, <<"END" ],
//\@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, w, n:i64)
//\@ workspace w f32[n + 1]
extern "C" __global__ void candidate(const float *x, float *y, const float *w, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;
	if (i < n) y[i] = 2.0f * x[i] + (w[i] == 1234.5f ? 2.0f : 1.0f);
}
END
	barrier => [ 'wrong/barrier', 0, <<"END" ],
$head$f
{
	__shared__ float part[256];
	int64_t i = blockIdx.x * 256ll + threadIdx.x;
	part[threadIdx.x] = i < n ? x[i] : 0;
	if (threadIdx.x % 32 < 16) __syncthreads();
	else __syncthreads();
	if (i < n) y[i] = 2.0f * part[threadIdx.x] + 1.0f;
}
END
);
if ($why) {
	chdir "/";
	print "1..0 # SKIP $why\n";
	exit;
}
for my $name (sort keys %kernels) {
	my ($want, $line, $text) = @{$kernels{$name}};
	my $file = "$Control::tmp/$name.cu";
	open my $out, '>', $file or die "$file: $!\n";
	print $out $text;
	close $out;
	my $plain = Control::evaluate($affine, $file, { effort => 'full', timeout => '5s' });
	Control::ok($plain->{fault} || ($plain->{verdict} eq 'ok' ? '' : $plain->{verdict}), "$name: right as far as the judge alone sees",
		Control::explain($plain));
	my $r = Control::evaluate($affine, $file, { effort => 'full', timeout => '5s' }, '--sanitize');
	if ((($r->{json} || {})->{error}{text} // '') . ($r->{err} // '') =~ /there is no compute-sanitizer here/) {
		Control::skip("$name under compute-sanitizer", 'it is not installed');
		next;
	}
	Control::ok($r->{fault} || ($r->{verdict} eq $want ? '' : "$r->{verdict}, not $want"), "$name: $want", Control::explain($r),
		@{($r->{json} || {})->{flags} || []});
	Control::ok(($r->{json}{evidence} // '') =~ /place: $name\.cu:\d+/ ? '' : 'no line', "$name: with its line", $r->{json}{evidence} // '')
		if $want ne 'ok' && !$r->{fault} && $r->{verdict} eq $want;
}
Control::finish();
