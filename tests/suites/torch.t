#!/usr/bin/perl
# Suites with PyTorch itself: problems in the forms of KernelBench and TritonBench, candidates as files with plan lines, as modules and as
# functions, and problems that raise, lack a package, exit or never end. Skipped where there is no Python with torch.
use strict;
use warnings;
no warnings "qw"; # a selection has commas
use Cwd qw(abs_path);
use File::Basename;
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use JSON::PP;

my $top = abs_path(dirname(__FILE__) . '/../..');
my $kwright = $ENV{KWRIGHT} || "$top/build/kwright";
my $n = 0;
sub skip_all { print "1..0 # SKIP $_[0]\n"; exit; }
sub ok { my ($pass, $name, $more) = @_; $n++; print $pass ? '' : 'not ', "ok $n - $name\n"; print "# $more\n" if !$pass && defined $more; return $pass; }
sub put { my ($path, $text) = @_; make_path(dirname($path)); open my $out, '>', $path or die "$path: $!"; print $out $text; close $out; }
sub slurp { local $/; open my $in, '<', $_[0] or return ''; return <$in> // ''; }

skip_all('no command yet') unless -x $kwright;
my $tmp = tempdir(CLEANUP => 1);
@ENV{qw(HOME XDG_DATA_HOME XDG_CACHE_HOME OMP_NUM_THREADS)} = ("$tmp/home", "$tmp/home", "$tmp/cache", 1);
make_path("$tmp/home", "$tmp/cache");

sub run {
	my (@args) = @_;
	my $out = qx{cd $tmp && $kwright @args --json 2>$tmp/err};
	return ($? >> 8, eval { decode_json($out) } // {}, slurp("$tmp/err"));
}

my $model = "import torch\nimport torch.nn as nn\n\nclass Model(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n";
put("$tmp/KernelBench/level1/1_Scale.py", $model .
    "        self.n = n\n\n    def forward(self, x):\n        return x * 2 + self.n\n\n" .
    "def get_inputs():\n    return [torch.rand(64, 100)]\n\ndef get_init_inputs():\n    return [1.0]\n");
put("$tmp/KernelBench/level1/2_Raises.py", "import torch\nraise ValueError('not today')\n");
put("$tmp/KernelBench/level1/3_Needs.py", "import a_package_that_is_nowhere\n");
put("$tmp/KernelBench/level1/4_Exits.py", "import sys\nsys.exit(3)\n");
put("$tmp/KernelBench/level1/5_Wants.py", $model .
    "\n    def forward(self, x):\n        return x + torch.ones(1 << 20, 1 << 20).sum()\n\ndef get_inputs():\n    return [torch.rand(64, 100)]\n\ndef get_init_inputs():\n    return [1]\n");
put("$tmp/KernelBench/level2/1_Loops.py", "import time\ntime.sleep(3600)\n");
put("$tmp/KernelBench/level2/2_Small.py", $model .
    "\n    def forward(self, x):\n        return x * 1e-6\n\ndef get_inputs():\n    return [torch.rand(64, 100)]\n\ndef get_init_inputs():\n    return [1]\n");

my ($rc, $j, $err) = run(qw(bench audit kernelbench --path . --select level1/1));
skip_all('no Python with torch') if ($j->{rows}[0]{failed} // '') =~ /no Python with torch/;
($rc, $j, $err) = run(qw(bench audit kernelbench --path . --select level1,level2/2));
my %text = map { $_->{name} => $_->{failed} // join(';', @{$_->{labels}}) } @{$j->{rows} // []};
ok($rc == 0 && $text{Scale} eq '', 'a problem is audited', "$rc $err " . ($text{Scale} // ''));
ok(($text{Small} // '') =~ /small_output/, 'one whose output is small is remarked', $text{Small});
ok(($text{Raises} // '') =~ /not today/, 'one that raises says what', $text{Raises});
ok(($text{Needs} // '') =~ /a_package_that_is_nowhere/, 'one that lacks a package says which', $text{Needs});
ok(($text{Exits} // '') =~ /exit/, 'one that exits says so', $text{Exits});

# A kernel with plan lines, a module, one that is wrong, and one that is close enough for the suite.
my $head = "//\@ kernel f args=(x, y)\nvoid f(const float *x, float *y)\n{\n\tfor (int i = 0; i < 6400; i++)\n\t\ty[i] = ";
put("$tmp/c/level_1_problem_1_sample_0_kernel.c", "$head x[i] * 2 + 1;\n}\n");
put("$tmp/c/level_1_problem_1_sample_1_kernel.py",
    "import torch\n\nclass ModelNew(torch.nn.Module):\n    def __init__(self, n=1.0):\n        super().__init__()\n\n    def forward(self, x):\n        return x * 2 + 1.0\n");
put("$tmp/c/level_1_problem_1_sample_2_kernel.c", "$head x[i] * 2;\n}\n");
put("$tmp/c/level_1_problem_1_sample_3_kernel.c", "$head x[i] * 2 + 1.00005f;\n}\n");
put("$tmp/c/level_2_problem_2_sample_0_kernel.c", "$head x[i] * 1e-6f;\n}\n");
put("$tmp/c/Raises.c", "$head 0;\n}\n");
put("$tmp/c/Wants.c", "$head 0;\n}\n");
($rc, $j, $err) = run(qw(bench kernelbench --path . --candidates c --select level1/1-2,level1/5,level2/2 --baselines naive,eager --verbose));
my @i = @{$j->{items} // []};
my @judged = split /bench: judge /, $err, 2;
ok($judged[0] =~ /the reference of $_ was checked ahead/, "before anything is judged the reference of $_ is checked", $err) for qw(1_Scale 2_Small);
ok($err !~ /triton_asked/, 'where no candidate names Triton, nothing of it is started', $err);
ok($rc == 0 && @i == 7, 'candidates of every form are judged', "$rc $err");
ok($i[0]{right} && $i[0]{verdict} eq 'ok', 'plan lines', $i[0]{text});
ok($i[1]{right}, 'a module', $i[1]{text});
ok(($j->{suite_baseline} // '') eq 'PyTorch eager' && exists $j->{scores}[0]{against}{'PyTorch eager'}, 'scored against eager PyTorch');
ok($i[2]{verdict} && $i[2]{verdict} eq 'wrong' && !$i[2]{suite_right}, 'wrong for both', $i[2]{text});
ok($i[3]{verdict} && $i[3]{verdict} eq 'wrong' && $i[3]{suite_right}, 'wrong here, right there', $i[3]{text});
ok($i[4]{state} && $i[4]{state} eq 'no_problem' && $i[4]{text} =~ /not today/, 'a problem that raises is none, and the run went on', $i[4]{text});
ok($i[5]{state} && $i[5]{state} eq 'no_problem' && $i[5]{text} =~ /out of memory/, 'nor is one whose reference raises when it is evaluated', $i[5]{text});

# The built-in author, and a problem that never ends.
($rc, $j, $err) = run(qw(bench kernelbench --path . --select level1/1,level2/1 --backend c --budget-evals 3 --limit 40s --baselines naive));
@i = @{$j->{items} // []};
ok($rc == 0 && $i[0]{right}, 'a kernel is found for a module', $i[0]{text} // $err);
ok($i[1] && !$i[1]{right} && $i[1]{state} =~ /^(time_limit|no_problem)$/, 'a problem that never ends is ended', $i[1]{text});

# TritonBench: an operator and its tests; a candidate is a function of that name.
my $line = '#' x 146;
my $tests = "import torch\n\ndef test_twice_plus():\n    results = {}\n    a = torch.rand(4, 5, device='cuda')\n    results['1'] = twice_plus(a)\n" .
	"    results['2'] = twice_plus(torch.randn(7, device='cuda'), other=3)\n    try:\n        twice_plus('no tensor')\n    except TypeError:\n        pass\n" .
	"    return results\n\ntest_results = test_twice_plus()\n";
put("$tmp/data/TritonBench_T_v1/twice_plus.py",
    "import torch\n\ndef twice_plus(x, other=1):\n    if not isinstance(x, torch.Tensor):\n        raise TypeError('x')\n    return x * 2 + other\n\n$line\n\n\n$tests");
put("$tmp/data/TritonBench_G_v1/sin_kernel.py", "import triton\nimport triton.language as tl\n\ndef sin(x):\n    pass\n$line\nsin(1)\n");
put("$tmp/t/twice_plus/sample0.py", "import torch\n\ndef twice_plus(x, other=1):\n    return x + x + other\n");
put("$tmp/t/twice_plus/sample1.py", "import torch\n\ndef twice_plus(x, other=1):\n    return x + x + 1\n");
put("$tmp/t/twice_plus/sample2.py", "def another(x):\n    return x\n");
put("$tmp/t/sin_kernel.py", "def sin(x):\n    return x\n");
my $triton = "import torch\nimport triton\nimport triton.language as tl\n\n\n\@triton.jit\ndef kernel(x, y, other, n, BLOCK: tl.constexpr):\n" .
	"    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n    v = tl.load(x + i, mask=i < n, other=0.0)\n";
my $store = "    tl.store(y + i, VALUE, mask=i < n)\n\n\n";
my $launch = "    y = torch.empty_like(x)\n    kernel[(triton.cdiv(x.numel(), 64),)](x, y, OTHER, x.numel(), BLOCK=64)\n    return y\n";
put("$tmp/t/twice_plus/sample3.py", $triton . $store =~ s/VALUE/v + v + other/r . "def twice_plus(x, other=1):\n" . $launch =~ s/OTHER/other/r);
($rc, $j, $err) = run(qw(bench tritonbench --path . --candidates t --baselines naive));
my %by = map { $_->{item} => $_ } @{$j->{items} // []};
ok($by{'T/twice_plus#0'}{right}, 'a function becomes a module that makes the calls of the tests', ($by{'T/twice_plus#0'}{text} // '') . $err);
ok(($by{'T/twice_plus#1'}{verdict} // '') eq 'wrong', 'wrong in one of the calls is wrong', $by{'T/twice_plus#1'}{text});
ok($by{'T/twice_plus#1'}{suite_right}, 'the suite takes what runs for right', $by{'T/twice_plus#1'}{text});
ok(($by{'T/twice_plus#2'}{state} // '') eq 'unusable' && $by{'T/twice_plus#2'}{text} =~ /defines no twice_plus/, 'no such function', $by{'T/twice_plus#2'}{text});
ok(($by{'G/sin_kernel#0'}{text} // '') =~ /its reference is a Triton kernel/, 'a reference that is a kernel itself is none', $by{'G/sin_kernel#0'}{text});
ok($by{'T/twice_plus#3'}{right}, 'a function that launches a Triton kernel', $by{'T/twice_plus#3'}{text});
ok(@{$j->{disagreements} // []} == 1, 'and the disagreement is listed');

# Data like that of the tests: matrices that can be solved, whole numbers that no integer holds, targets with the mark of those that do not count.
my $like = join "\n", "import torch", "", "def like_these(a, b, big, t):", "    return torch.linalg.solve(a, b), big * 2, torch.nn.functional.cross_entropy(a, t)", $line, "", "import torch",
	"like_these(torch.tensor([[3.0, 1.0], [1.0, 2.0]]), torch.tensor([9.0, 8.0]), torch.tensor([1e30, 1e28]), torch.tensor([-100, 1]))", "";
put("$tmp/data/TritonBench_T_v1/like_these.py", $like);
($rc, $j, $err) = run(qw(bench audit tritonbench --path . --select T/like_these));
my $failed = $j->{rows}[0]{failed} // ($j->{rows} ? '' : 'no rows');
ok($failed eq '', 'data are like those of the tests', "$failed $err");

# MultiKernelBench: answers of models, kept by language and run.
my $shift = "$model        self.by = n\n\n    def forward(self, x):\n        return torch.relu(x) + self.by\n";
put("$tmp/reference/activation/shift.py", "$shift\n\ndef get_inputs():\n    return [torch.randn(16, 100)]\n\n\ndef get_init_inputs():\n    return [0.5]\n");
put("$tmp/reference/broadcast/gone.py", "import a_package_that_is_nowhere\n");
my $new = "class ModelNew(torch.nn.Module):\n    def __init__(self, by):\n        super().__init__()\n        self.by = by\n\n    def forward(self, x):\n";
my $inline = "import torch\nfrom torch.utils.cpp_extension import load_inline\n\nextension = load_inline(name='shift', cpp_sources='torch::Tensor shift(torch::Tensor x);', " .
	"cuda_sources='''\n__global__ void kernel(const float *x, float *y, int n)\n{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        y[i] = fmaxf(x[i], 0.f) + 0.5f;\n}\n\n" .
	"torch::Tensor shift(torch::Tensor x)\n{\n    auto y = torch::empty_like(x);\n    kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());\n    return y;\n}\n''', " .
	"functions=['shift'])\n\n\n${new}        return extension.shift(x)\n";
sub answered { my ($path, $code) = @_; put("$tmp/output/$path", "Here it is:\n\n```python\n$code```\n\nIt is fast.\n"); }
for my $try ([0, 'tl.maximum(v, 0.0) + other'], [1, 'tl.maximum(v, 0.0) + other + 0.00004'], [2, 'v + other']) {
	answered("triton/some_model/run$try->[0]/shift.txt", $triton . $store =~ s/VALUE/$try->[1]/r . $new . $launch =~ s/OTHER/self.by/r =~ s/^    /        /gmr);
}
answered('cuda/some_model/run3/shift.txt', $inline);
put("$tmp/output/cuda/some_model/run0/gone.txt", "I cannot help with that.\n");
($rc, $j, $err) = run(qw(bench multikernelbench --path . --candidates output --baselines naive --verbose));
my $compilers = () = $err =~ /\(triton_asked\): \{"files"/g;
ok($compilers == 3, 'each of three modules with Triton has a compiler of its own, whether it was started ahead or not', "$compilers: $err");
%by = map { $_->{item} => $_ } @{$j->{items} // []};
ok($rc == 0 && $by{'activation/shift#0'}{right} && $by{'activation/shift#0'}{suite_right}, 'a Triton kernel in an answer', ($by{'activation/shift#0'}{text} // '') . $err);
ok(($by{'activation/shift#1'}{verdict} // '') eq 'wrong' && $by{'activation/shift#1'}{suite_right}, 'close enough for the suite', $by{'activation/shift#1'}{text});
ok(($by{'activation/shift#2'}{verdict} // '') eq 'wrong' && !$by{'activation/shift#2'}{suite_right}, 'wrong for both', $by{'activation/shift#2'}{text});
ok(@{$j->{disagreements} // []} == 1 && $j->{disagreements}[0]{item} eq 'activation/shift#1', 'the disagreement is listed');
my $gpu = ($by{'activation/shift#3'}{text} // '') =~ /this device is no GPU/;
ok($gpu ? !defined $by{'activation/shift#3'}{suite_right} : $by{'activation/shift#3'}{right}, 'CUDA where there is a GPU; elsewhere the suite could say nothing either',
	$by{'activation/shift#3'}{text});
ok(($by{'broadcast/gone#0'}{state} // '') =~ /^no_(problem|candidate)$/, 'words are no candidate', $by{'broadcast/gone#0'}{text});
print "1..$n\n";
