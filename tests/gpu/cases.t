#!/usr/bin/perl
# On a GPU: the reported cases (tests/cases) that need one. B01: offsets of a batch in 32 bits, where the tensor has more than
# 2^31 elements. B08: a missing barrier that results do not show and racecheck does. A11, A13: times that grow with the work and
# hold no flush.
use strict;
use warnings;
use File::Basename;
use lib dirname(__FILE__) . '/../cheats';
use Control;

Control::start(0);
if (my $why = Control::health('device', 'nvidia') // 'this version has no such device') {
	chdir "/";
	print "1..0 # SKIP $why\n";
	exit;
}

sub file {
	my ($name, $text) = @_;
	open my $f, '>', "$Control::tmp/$name" or die "$name: $!\n";
	print $f $text;
	close $f;
	return "$Control::tmp/$name";
}

sub is_verdict {
	my ($name, $r, $want) = @_;
	Control::ok($r->{fault} || ($r->{verdict} =~ /^(?:$want)$/ ? '' : "$r->{verdict}, not $want"), "$name: " . ($r->{verdict} // 'none'),
		Control::explain($r));
}

# B01
my $batches = file('batches.yaml', <<'END');
name: batches
dims: { b: { min: 1, max: 320 } }
inputs: { x: { dtype: i8, shape: [b, 7864320], dist: integers, range: [-100, 100] } }
outputs: { y: { dtype: i8, shape: [b, 7864320] } }
reference:
  expr: |
    y = x
perf: [ { b: 320 } ]
check: [ { b: 2 } ]
END
my $copy = <<'END';
//@ kernel copy grid=(7680, b) block=(256) args=(x, y)
__global__ void copy(const signed char *x, signed char *y)
{
	TYPE first = (TYPE)blockIdx.y * 7864320 + blockIdx.x * 1024 + threadIdx.x;

	for (int i = 0; i < 4; i++)
		y[first + i * 256] = x[first + i * 256];
}
END
my %opts = (effort => 'full', timeout => '5s');
is_verdict('B01: offsets in 64 bits', Control::evaluate($batches, file('wide.cu', $copy =~ s/TYPE/long long/gr), \%opts), 'ok');
is_verdict('B01: offsets in 32 bits', Control::evaluate($batches, file('narrow.cu', $copy =~ s/TYPE/int/gr), \%opts),
	'runtime_error/illegal_access|wrong/(?:unwritten|out_of_bounds|mismatch|input_modified)'); # where 2 GiB before the output lies is chance

# B08. In f32, as reported: its atomic addition reads first. Of atomic additions of whole numbers, which are one instruction, racecheck (2025.3)
# says nothing.
my $counts = file('counts.yaml', <<'END');
name: counts
dims: { rows: { min: 1, max: 4096 } }
inputs: { x: { dtype: i32, shape: [rows, 256], dist: integers, range: [0, 1] } }
outputs: { y: { dtype: i32, shape: [rows] } }
reference:
  expr: |
    y = i32(sum(x, axis=-1))
perf: [ { rows: 1024 } ]
check: [ { rows: 3 } ]
END
my $histogram = <<'END';
//@ kernel count grid=(rows) block=(256) args=(x, y)
__global__ void count(const int *x, int *y)
{
	__shared__ float bins[2];

	if (threadIdx.x < 2)
		bins[threadIdx.x] = 0;
	BARRIER;
	atomicAdd(&bins[x[blockIdx.x * 256 + threadIdx.x] & 1], 1.0f);
	__syncthreads();
	if (threadIdx.x == 0)
		y[blockIdx.x] = (int)bins[1];
}
END
my $r = Control::evaluate($counts, file('with.cu', $histogram =~ s/BARRIER/__syncthreads()/r), \%opts, '--sanitize');
if ((($r->{json} || {})->{error}{text} // '') =~ /there is no compute-sanitizer here/) {
	Control::skip('B08 under compute-sanitizer', 'it is not installed');
} else {
	is_verdict('B08: with the barrier', $r, 'ok');
	$r = Control::evaluate($counts, file('without.cu', $histogram =~ s/BARRIER/__nanosleep(2000)/r), \%opts, '--sanitize');
	is_verdict('B08: without it', $r, 'wrong/race');
	Control::ok(($r->{json}{summary} // '') =~ /without\.cu:7 and without\.cu:9|without\.cu:9 and without\.cu:7/ ? '' : 'other places',
		'B08: both places are named', Control::explain($r)) if ($r->{verdict} // '') eq 'wrong/race';
}

# A11
sub task_at {
	my ($folder, $name, $n) = @_;
	my $text = Control::slurp((glob "$Control::top/tests/cases/$folder*/$name.yaml")[0]);
	$text =~ s/^perf:.*/perf: [ { n: $n } ]/m;
	$text =~ s/max: \d+/max: 268435456/;
	return file("at$n.yaml", $text);
}
my $product = file('product.cu', <<'END');
//@ kernel product grid=(cdiv(n, 16), cdiv(n, 16)) block=(16, 16) args=(a, b, c, n:i32)
__global__ void product(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
	float s = 0.0f;

	if (i >= n || j >= n)
		return;
	for (int k = 0; k < n; k++)
		s = fmaf(a[i * n + k], b[k * n + j], s);
	c[i * n + j] = s;
}
END
my @ns = map { Control::evaluate(task_at('A11', 'matmul_32', $_), $product, \%opts)->{ns} || 0 } 256, 1024;
Control::ok($ns[0] > 0 && $ns[1] > 8 * $ns[0] ? '' : 'other times', "A11: 64 times the work is more than 8 times the time: @ns ns");

# A13
my $affine = file('affine.cu', <<'END');
//@ kernel affine grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
__global__ void affine(const float *x, float *y, long long n)
{
	long long i = blockIdx.x * 256ll + threadIdx.x;

	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
}
END
@ns = map { Control::evaluate(task_at('A13', 'affine_64', $_), $affine, \%opts)->{ns} || 0 } 64, 134217728;
Control::ok($ns[0] > 0 && 20 * $ns[0] < $ns[1] ? '' : 'other times', "A13: a cold tiny call is far under a large one: @ns ns");
Control::finish();
