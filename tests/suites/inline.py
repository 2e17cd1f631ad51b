"""The builder of load_inline (python/module_build.py): TAP. Arguments: the top of the tree and a folder to build in.

Nothing is compared with a time. CUDA sources are compiled where there is nvcc; what they launch needs a GPU, but the rest of their functions
is called here, on the processor."""
import importlib.util
import os
import subprocess
import sys

TOP, FOLDER = sys.argv[1:3]
HEADERS = ("kw_torch.h", "kw_torch_python.h")
number = 0

spec = importlib.util.spec_from_file_location("module_build", TOP + "/python/module_build.py")
builder = importlib.util.module_from_spec(spec)
spec.loader.exec_module(builder)


def ok(right, name, more=""):
    global number
    number += 1
    print(f"{'ok' if right else 'not ok'} {number} - {name}")
    if not right:
        print("# " + str(more).replace("\n", "\n# "))


class Watched(builder.Builder):
    """Only the small header, and what was tried is kept."""

    def __init__(self, source=""):
        texts = {n: open(f"{TOP}/src/backend/builtin/{n}").read() for n in HEADERS}
        super().__init__({"headers": texts, "arch": "sm_90", "source": source, "file": "k.py"})
        self.tried = []

    def compile(self, name, given, cpp, cuda, small):
        if small is None:
            return "error: its own headers are needed"
        self.tried.append(super().compile(name, given, cpp, cuda, small))
        return self.tried[-1]


def made(**given):
    """The module and the builder; None and the failure."""
    b = Watched()
    try:
        one = b.build(**given)
    except builder.Failed as e:
        return None, e
    s = importlib.util.spec_from_file_location(one["name"], os.path.abspath(one["path"]))
    module = importlib.util.module_from_spec(s)
    s.loader.exec_module(module)
    return module, b


def error(function, *args):
    try:
        return f"no error but {function(*args)}"
    except Exception as e:
        return f"{type(e).__name__}: {e}"


HOST = r"""
torch::Tensor add(torch::Tensor a, torch::Tensor b)
{
    TORCH_CHECK(a.sizes() == b.sizes(), "sizes ", a.sizes(), " and ", b.sizes(), " differ: ", a.dtype(), ' ', 1.5, " ", true, " ",
                a.device(), std::string("!"));
    auto c = torch::empty_like(a);
    for (int64_t i = 0; i < a.numel(); i++)
        c.data_ptr<float>()[i] = a.data_ptr<float>()[i] + std::max(b.data_ptr<float>()[i], -1e30f);
    return c;
}
std::vector<torch::Tensor> several(torch::Tensor a, std::vector<int64_t> shape, bool flag, double x, int64_t n)
{
    auto y = torch::ones({n, 2}, torch::TensorOptions().dtype(torch::kInt32).device(torch::kCPU));
    return { torch::zeros(shape, a.options()).view(-1), y.transpose(0, 1).contiguous(),
             a.unsqueeze(0).expand({2, a.size(0), a.size(-1)}), torch::zeros_like(a).fill_(flag ? x : 0) };
}
std::tuple<torch::Tensor, int64_t> pair_of(torch::Tensor a) { return { a.t(), a.stride(0) * 1000 + a.stride(1) }; }
int64_t whole(torch::Tensor a) { return a.item<int64_t>(); }
double real(torch::Tensor a) { return a.item<float>(); }
std::string joined(std::string s, c10::optional<torch::Tensor> t) { return s + (t.has_value() ? "yes" : "no"); }
void raises() { throw std::runtime_error("boom"); }
torch::Tensor by_dtype(torch::Tensor a)
{
    auto b = a;
    b = a.clone();
    AT_DISPATCH_FLOATING_TYPES(b.scalar_type(), "by_dtype", [&] { b.data_ptr<scalar_t>()[0] = scalar_t(7); });
    return b;
}
"""
DECLARED = """
torch::Tensor add(torch::Tensor a, torch::Tensor b);
std::vector<torch::Tensor> several(torch::Tensor a, std::vector<int64_t> shape, bool flag, double x, int64_t n);
std::tuple<torch::Tensor, int64_t> pair_of(torch::Tensor a);
int64_t whole(torch::Tensor a);
double real(torch::Tensor a);
std::string joined(std::string s, c10::optional<torch::Tensor> t);
void raises();
torch::Tensor by_dtype(torch::Tensor a);
"""
NAMES = ["add", "several", "pair_of", "whole", "real", "joined", "raises", "by_dtype"]
DEVICE = r"""
__constant__ float table[4];
template <int N> __global__ void mixed(float *a) { a[N] = __shfl_xor_sync(~0u, a[0], 1) + table[N & 3]; }
static void launch(torch::Tensor a)
{
    mixed<3><<<1, 32, 0, at::cuda::getCurrentCUDAStream()>>>(a.data_ptr<float>());
    C10_CUDA_CHECK(cudaGetLastError());
}
torch::Tensor launched(torch::Tensor a)
{
    if (a.is_cuda())
        launch(a);
    return a.clone();
}
"""


def check(m, what):
    import torch

    a, b = torch.rand(3, 4), torch.rand(3, 4)
    ok(torch.equal(m.add(a, b), a + b), f"{what}: what it computes arrives")
    said = error(m.add, a, torch.rand(2))
    ok(said == "RuntimeError: sizes [3, 4] and [2] differ: Float 1.5 1 cpu!", f"{what}: a failed check says what a stream would", said)
    said = error(m.add, a.double(), b.double())
    ok(said == "RuntimeError: expected scalar type Float but found Double", f"{what}: another dtype is told", said)
    ok("takes 2 arguments (1 given)" in error(m.add, a), f"{what}: too few arguments")
    ok("a int where a torch.Tensor is expected" in error(m.add, a, 3), f"{what}: an argument of another type")
    got = m.several(a, [5, 6], True, 2.5, 3)
    shapes = [tuple(t.shape) for t in got]
    ok(shapes == [(30,), (2, 3), (2, 3, 4), (3, 4)] and got[1].dtype == torch.int32 and got[3][0, 0] == 2.5,
       f"{what}: new tensors and views", shapes)
    first, second = m.pair_of(a)
    ok(torch.equal(first, a.t()) and second == 4001, f"{what}: a tuple")
    ok(m.whole(torch.tensor(2**53 + 1)) == 2**53 + 1 and m.real(torch.tensor(1.5)) == 1.5, f"{what}: numbers out of tensors")
    ok(m.joined("q", None) == "qno" and m.joined("q", a) == "qyes", f"{what}: text, and what may be missing")
    ok(error(m.raises) == "RuntimeError: boom", f"{what}: an exception")
    changed = m.by_dtype(a.double())
    ok(changed[0, 0] == 7 and a[0, 0] != 7, f"{what}: a dispatch over dtypes, on a copy")
    ok("not implemented for 'Int'" in error(m.by_dtype, torch.zeros(2, dtype=torch.int32)), f"{what}: a dtype that it does not have")


def standard():
    of = builder.standard_of
    ok(of("std::vector<int64_t> f(std::string s)") == ["STRING", "VECTOR"], "headers of the standard library by what is named")
    ok(of("float x = 1;") == [] and of("std::move(x)") == [], "none where nothing is named but what is there")
    ok(of("std::max(1, std::numeric_limits<int>::max())") == ["LIMITS", "MINMAX"], "not even max and the limits")
    every, left_out = list(builder.STANDARD), builder.NO_SPECIAL
    ok(of("std::deque<int> q;") == every and of("using namespace std;") == every, "all for a name that is not known")
    ok(of("std::legendre(1, 2.0)") == every and left_out not in builder.defines("std::legendre(1, 2.0)", of, True)
       and left_out in builder.defines("std::sqrt(2.0)", of, True), "Bessel functions and the like are left out where nobody names them")
    for text in ("CUdeviceptr p;", "cuInit(0);", "#if CUDA_VERSION >= 12000", "#include <cub/cub.cuh>", '#include "cudaTypedefs.h"', "cu##f()"):
        ok(builder.names_driver(text), f"cuda.h is there for {text}")
    for text in ("cudaMalloc(&p, 4); int current, cu;", "#if __CUDA_ARCH__ >= 800",
                 "#include <cuda_fp16.h>\n# include <cmath>\n#include <ATen/ATen.h>"):
        ok(not builder.names_driver(text), f"and left out for {text!r}")
    ok(set(of("c10::optional<int> x; catch (const c10::Error &e)")) == {"OPTIONAL", "STDEXCEPT"}, "and for PyTorch's names of them")


def without_cuda():
    m, b = made(cpp_sources=HOST, functions=NAMES)
    ok(m is not None and b.tried == [None], "C++ at the first attempt", b)
    if m:
        check(m, "C++")
    m, e = made(cpp_sources="torch::Tensor f(torch::Tensor x) { return torch::softmax(x, -1); }", functions=["f"])
    ok(m is None and "its own headers" in str(e), "what the small header lacks goes to PyTorch's own", e)
    m, b = made(cpp_sources="#define S std\nint64_t f() { S::map<int, int> q; q[1] = 3; return q[1]; }\n", functions=["f"])
    ok(m is not None and len(b.tried) == 2 and m.f() == 3, "a name behind a macro: the standard library's headers are all tried", b)


def with_cuda():
    import torch

    try:
        builder.cuda_home()
    except builder.Failed:
        print("# no nvcc: CUDA sources are left out")
        return
    split, runs = builder.halves_of, []
    builder.halves_of = lambda command: runs.append(split(command)) or runs[-1]
    m, b = made(cpp_sources=DECLARED + "torch::Tensor launched(torch::Tensor a);", cuda_sources=HOST + DEVICE, functions=NAMES + ["launched"])
    ok(m is not None and b.tried == [None], "CUDA at the first attempt", b)
    ok(len(runs) == 1 and runs[0] is not None, "and its halves are compiled side by side", runs)
    if m:
        check(m, "CUDA")
        ok(m.launched(torch.ones(2)).sum() == 2, "CUDA: a function beside a launch")
    del runs[:]
    bound = 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("launched", &launched, "a word"); }'
    m, b = made(cpp_sources="", cuda_sources=DEVICE + bound)
    ok(m is not None and m.launched(torch.ones(2)).sum() == 2 and m.launched.__doc__ == "a word", "a binding in the CUDA source", b)
    del runs[:]
    m, b = made(cpp_sources="torch::Tensor launched(torch::Tensor a);", cuda_sources=DEVICE, functions=["launched"],
                extra_cuda_cflags=["-gencode=arch=compute_80,code=sm_80"])
    ok(m is not None and runs == [None] and m.launched(torch.ones(2)).sum() == 2, "for two GPUs nvcc does it as it likes", b)
    named = "double f(double x) { return std::legendre(2, x) + std::max(x, 0.) + (CUDA_VERSION > 9000); }"
    m, b = made(cpp_sources="double f(double x);", cuda_sources=named, functions=["f"])
    ok(m is not None and b.tried == [None] and m.f(2.0) == 8.5, "what is left out elsewhere is there for who names it", b)
    b = Watched()
    b.write("kw_e.cpp", ["#include <torch/extension.h>"])
    for what, text, place in (("the device's half", "#ifdef __CUDA_ARCH__\n__device__ int f() { return q; }\n#endif", "cuda_sources:2"),
                              ("the host's half", "#ifndef __CUDA_ARCH__\nint f() { return q; }\n#endif", "cuda_sources:2"),
                              ("the assembler", '__global__ void f() { asm("nonsense;"); }', "nonsense")):
        said = b.compile("kw_e", {"cuda_sources": text}, "", text, builder.standard_of) or ""
        ok(place in said, f"an error of {what} is told", said)


def without_driver():
    """What players for a GPU are copies of has everything imported, and has not asked the driver: it could not be used in a copy. What is
    not needed is not there: PyTorch's compiler takes as long as PyTorch."""
    text = ("import sys; exec(compile(open(sys.argv[1]).read().rpartition('if __name__')[0], 'player', 'exec'))\n"
            "import torch; before = torch.cuda.is_available; prepare(1, 0)\n"
            "print(torch.cuda.is_available is before, 'torch.utils.cpp_extension' in sys.modules, torch.cuda.is_initialized(),"
            " 'libcuda.so' in open('/proc/self/maps').read(), 'libnvidia-ml' in open('/proc/self/maps').read())\n"
            "exec(open(sys.argv[2]).read())\n"
            "class Counted(Watching):\n"
            "    seen = 0\n"
            "    def __torch_dispatch__(self, func, types, args=(), kwargs=None):\n"
            "        Counted.seen += 1\n"
            "        return func(*args, **(kwargs or {}))\n"
            "with Counted(): torch.ones(2) * 2\n"
            "print(Counted.seen > 0, 'torch._dynamo' in sys.modules)\n"
            "torch.backends.cuda.is_built = lambda: False\n"
            "try: Cuda(0)\n"
            "except Exception as e: print(words_of(e))\n")
    said = subprocess.run([sys.executable, "-c", text, TOP + "/python/module_player.py", TOP + "/python/watching.py"], capture_output=True,
                          text=True, check=False)
    lines = said.stdout.splitlines() + ["", "", ""]
    ok(lines[0].split() == ["True", "True", "False", "False", "False"], "players for a GPU are made without its driver", said)
    ok(lines[1].split() == ["True", "False"], "what watches operations imports no compiler", said)
    ok(lines[2].startswith("PyTorch ") and lines[2].endswith("is built without CUDA and cannot use this GPU; install one with CUDA"),
       "a PyTorch without CUDA is told in a sentence", said)


os.chdir(FOLDER)
standard()
without_driver()
without_cuda()
with_cuda()
print(f"1..{number}")
