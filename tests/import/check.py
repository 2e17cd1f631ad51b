"""Tests of python/describe.py with a real PyTorch, as TAP: expressions against PyTorch, what a description says, bad files; and that what
python/baseline.py compiles stays compiled."""
import os
import sys
import tempfile

import compare

compare.package()

import torch                            # noqa: E402
from kwright import aten, baseline, describe    # noqa: E402

import problems                         # noqa: E402

count = failed = 0
tap = os.fdopen(os.dup(1), "w")         # ours alone: problems print too
os.dup2(2, 1)
# Names of the table that other versions of PyTorch have in their graphs, or none: the rest must be used here.
ELSEWHERE = set("""_adaptive_avg_pool2d _adaptive_avg_pool3d _batch_norm_no_update _batch_norm_with_update_functional
    _convolution _fused_rms_norm _log_softmax _prelu_kernel _reshape_alias _safe_softmax _softmax adjoint alias alpha_dropout
    batch_norm bernoulli bitwise_and bitwise_or bitwise_xor broadcast_to chunk concat concatenate constant_pad_nd contiguous
    convolution cudnn_batch_norm detach_ divide dropout empty empty_permuted empty_strided expand_as feature_alpha_dropout
    feature_dropout flatten frobenius_norm ger hardshrink lift lift_fresh lift_fresh_copy mT matrix_H max_pool1d_with_indices
    max_pool2d_with_indices max_pool3d_with_indices movedim multinomial narrow native_batch_norm native_dropout
    native_group_norm native_layer_norm new_empty_strided nll_loss nll_loss2d nll_loss2d_forward nll_loss_forward normal numpy_T
    positive rand rand_like randint randn randn_like randperm reflection_pad1d reflection_pad2d reflection_pad3d
    replication_pad1d replication_pad2d replication_pad3d reshape reshape_as softshrink softsign swapaxes tanhshrink
    tensor_split to transpose_copy unflatten uniform unsafe_chunk upsample_nearest3d view_as""".split())
USED = set(aten.WRITERS) - ELSEWHERE


def ok(holds, name, why=""):
    global count, failed
    count += 1
    failed += not holds
    print("%sok %d - %s" % ("" if holds else "not ", count, name), file=tap)
    if not holds and why:
        print("# " + str(why).replace("\n", "\n# "), file=tap)
    tap.flush()
    return holds


def against_torch(folder, evaluator):
    """Every operator of the table, in a problem that uses it."""
    seen = set()

    def noted(function):
        def call(c):
            text = function(c)
            seen.add(c.name)
            return text
        return call
    for name, function in list(aten.WRITERS.items()):
        aten.WRITERS[name] = noted(function)
    for row in problems.ROWS:
        path = os.path.join(folder, row[0].replace(" ", "_").replace("'", "") + ".py")
        with open(path, "w") as f:
            f.write(problems.text(row))
        try:
            r = compare.compare(path, evaluator, row[4] if len(row) > 4 else "train")
            ok(r.good, row[0], r.why)
        except Exception as e:
            ok(False, row[0], "%s: %s" % (type(e).__name__, e))
    return seen


PLAIN = """import torch
import torch.nn as nn
class Model(nn.Module):
    def __init__(self, *a, **k):
        super().__init__()
    def forward(self, x):
        return x * 2
def get_inputs():
    return [torch.randn(2, 3)]
def get_init_inputs():
    return []
"""


def written(folder, name, text):
    path = os.path.join(folder, name + ".py")
    with open(path, "w") as f:
        f.write(text)
    return path


def asked(path, mode="train"):
    return describe.answer({"path": path, "mode": mode}, [])


# What is wrong with a file, and what is said of it.
BAD = [
    ("no Model", PLAIN.replace("Model", "Module_"), "has no Model"),
    ("two Models", PLAIN + "class Model(nn.Module):\n    pass\n", "defines Model twice, at lines 3 and 12"),
    ("no module", "def get_inputs():\n    return []\nclass Model:\n    pass\n", "Model is no torch.nn.Module"),
    ("no inputs", PLAIN.replace("def get_inputs", "def other"), "has no get_inputs"),
    ("a syntax error", PLAIN + "def f(:\n", "is no Python: invalid syntax at line 12"),
    ("a package that is not there", "import no_such_package.part\n" + PLAIN,
     "it needs the package 'no_such_package' at line 1, which is not installed"),
    ("one that raises", PLAIN.replace("return []", "raise ValueError('no sizes')"),
     "get_init_inputs() raises ValueError: no sizes at line 11"),
    ("one whose constructor raises", PLAIN.replace("super().__init__()", "super().__init__(); 1 / 0"),
     "Model() raises ZeroDivisionError: division by zero at line 5"),
    ("one whose forward raises", PLAIN.replace("x * 2", "x @ x"), "forward() raises RuntimeError"),
    ("one that exits", "import sys\nsys.exit(0)\n" + PLAIN, "it calls exit at line 2"),
    ("one that exits later", PLAIN.replace("return [torch", "import sys; sys.exit(3); return [torch"),
     "get_inputs() calls exit at line 9"),
    ("too few inputs", PLAIN.replace("[torch.randn(2, 3)]", "[]"), "get_inputs() does not fit forward(): missing"),
    ("no list", PLAIN.replace("[torch.randn(2, 3)]", "7"), "get_inputs() gives int, not a list"),
    ("no group of inputs", PLAIN.replace("get_inputs", "get_input_groups").replace("[torch.randn(2, 3)]", "[]"),
     "get_input_groups() gives no list of groups"),
    ("no tensor out", PLAIN.replace("x * 2", "3"), "forward() gives no tensor"),
    ("nothing in", PLAIN.replace("[torch.randn(2, 3)]", "[2]").replace("x * 2", "torch.ones(x)"),
     "there is no tensor among its inputs and weights"),
    ("an input that no kernel takes", PLAIN.replace("[torch.randn(2, 3)]", "[object()]").replace("x * 2", "torch.ones(2)"),
     "get_inputs() gives a object for 'x'"),
    ("complex numbers", PLAIN.replace("torch.randn(2, 3)", "torch.randn(2, 3, dtype=torch.complex64)"), "'x' is of complex64"),
    ("recursion without an end", PLAIN.replace("super().__init__()", "super().__init__(); self.__init__()"),
     "Model() runs out of stack"),
]


def bad_files(folder):
    for name, text, want in BAD:
        got = asked(written(folder, "bad", text)).get("error", "no error")
        ok(want in got, "%s is told" % name, got)
    got = asked(os.path.join(folder, "nothing.py"))["error"]
    ok("cannot be read: No such file" in got, "a file that is not there is told", got)
    with open(os.path.join(folder, "bad.py"), "wb") as f:
        f.write(b"\xff\xfe x = 1")
    got = asked(os.path.join(folder, "bad.py"))["error"]
    ok("is no UTF-8 text" in got, "no text is told", got)


def told_of(folder, make, forward="x", init="pass", mode="train"):
    """The description of a problem whose one input is made so."""
    text = PLAIN.replace("torch.randn(2, 3)", make).replace("x * 2", forward).replace("super().__init__()",
                                                                                    "super().__init__(); " + init)
    return asked(written(folder, "told", text), mode)


# How an input is made, and what it is filled with.
MADE = [
    ("torch.rand(3, 4)", {"dist": "uniform", "range": [0, 1], "dtype": "f32", "shape": [3, 4]}),
    ("torch.rand(1 << 20, 1 << 20)", {"dist": "uniform", "range": [0, 1], "shape": [1 << 20, 1 << 20]}),
    ("torch.rand(1 << 20, 1 << 10) * 4 - 2", {"dist": "uniform", "range": [-2, 2]}),
    ("torch.randn(1 << 12, 1 << 12, dtype=torch.float16) * 0.5 + 1", {"dist": "normal", "range": [1, 0.5], "dtype": "f16"}),
    ("torch.empty(1 << 22).normal_(2, 3)", {"dist": "normal", "range": [2, 3]}),
    ("torch.empty(5).uniform_(-1, 3)", {"dist": "uniform", "range": [-1, 3]}),
    ("torch.randint(3, 9, (1 << 22,))", {"dist": "integers", "range": [3, 8], "dtype": "i64"}),
    ("torch.randint(0, 2, (1 << 22,)).bool()", {"dist": "bernoulli", "range": [0.5, 0.5], "dtype": "bool"}),
    ("torch.randint(0, 2, (1 << 22,)).float() * 2 - 1", {"dist": "integers", "range": [-1, 1], "values": [-1, 1], "dtype": "f32"}),
    ("torch.rand(1 << 22) > 0.75", {"dist": "bernoulli", "range": [0.25, 0.25]}),
    ("torch.randperm(8)", {"dist": "permutation"}),
    ("torch.rand(1 << 12, 1 << 12).softmax(dim=-1)", {"dist": "probabilities"}),
    ("torch.ones(1 << 22)", {"dist": "uniform", "range": [0.5, 1.5], "constant": 1}),
    ("torch.zeros(3)", {"dist": "normal", "range": [0, 0.1], "constant": 0}),
    ("torch.full((3,), -4.0)", {"dist": "uniform", "range": [-6, -2], "constant": -4}),
    ("torch.triu(torch.rand(1 << 11, 1 << 11))", {"structure": "triu", "dist": "uniform"}),
    ("(lambda a: (a + a.T) / 2)(torch.rand(1 << 11, 1 << 11))", {"structure": "symmetric"}),
    ("torch.randn(4, 5).to('cuda')", {"dist": "normal", "range": [0, 1]}),
    ("torch.randn(4, 5, device='cuda').bfloat16()", {"dist": "normal", "dtype": "bf16"}),
    ("torch.tensor([3, 1, 2])", {"dist": "integers", "range": [1, 3]}),
    ("torch.randn(6, 4).t()", {"shape": [4, 6], "strides": [1, 4]}),
]


def what_inputs_are(folder):
    for make, want in MADE:
        d = told_of(folder, make)
        got = d.get("inputs", [{}])[0]
        ok(all(got.get(k) == v for k, v in want.items()), make, d.get("error", got))
    d = told_of(folder, "torch.zeros(4, 1 << 19)", "x.sqrt() + (x - 1).abs()")
    ok(d["inputs"][0].get("dist") == "uniform" and d["inputs"][0]["range"] == [0, 0.1], "zeros that may not be below zero are not", d["inputs"])
    near = told_of(folder, "torch.rand(1 << 22).sqrt().clamp(max=0.5)")["inputs"][0]
    ok(near["dist"] in ("uniform", "normal") and near.get("sampled"), "what has no name is told from a sample", near)
    d = told_of(folder, "(lambda x: x.masked_scatter(x < -1, x[x < -1] + 9))(torch.randn(1 << 10, 1 << 11))")
    got = d.get("inputs", [{}])[0]
    ok(got.get("shape") == [1 << 10, 1 << 11] and "dist" in got, "inputs whose values are asked for have some", d)


def what_models_are(folder):
    d = told_of(folder, "torch.rand(8, 1 << 16)", "self.l(x)", "self.l = nn.Linear(1 << 16, 1 << 16)")
    weight = d["parameters"][0]
    ok(weight["path"] == "l.weight" and weight["name"] == "l_weight" and weight["shape"] == [1 << 16] * 2,
       "a weight of 16 GiB is described and not made", weight)
    ok(weight["dist"] == "uniform" and weight["range"] == [-0.00390625, 0.00390625], "with the range of its initialisation", weight)
    d = told_of(folder, "torch.rand(4, 3)", "self.b(x)", "self.b = nn.BatchNorm1d(3)")
    ok(d["state"] == ["b.num_batches_tracked", "b.running_mean", "b.running_var"], "what a call changes is named", d["state"])
    ok([p["name"] for p in d["parameters"] if p["used"]] == ["b_weight", "b_bias"], "what outputs depend on is marked")
    ok("training=True" in d["expr"], "train mode is the default", d["expr"])
    d = told_of(folder, "torch.rand(4, 3)", "self.b(x)", "self.b = nn.BatchNorm1d(3)", "eval")
    ok(not d["state"] and "b_running_var" in d["expr"], "in eval mode statistics are inputs", d)
    ok([p["range"] for p in d["parameters"] if p["path"] == "b.running_var"] == [[0.5, 1.5]], "and variances are positive")
    d = told_of(folder, "torch.rand(4, 3)", "self.d(x) * x.sort()[0]", "self.d = nn.Dropout(0.5)")
    ok(d["expr"] is None and [(u["count"], u["line"]) for u in d["unknown"]] == [(1, 7)] and "random" in d["unknown"][0]["op"],
       "dropout in train mode is no expression, and is named with its line", d["unknown"])
    ok("told.py\"" in d["yaml"] and "# no expression" in d["yaml"], "its task refers to the file", d["yaml"])
    ok(told_of(folder, "torch.rand(4, 3)", "self.d(x)", "self.d = nn.Dropout(0.5)", "eval")["expr"] == "y = x\n",
       "and the identity in eval mode")
    d = told_of(folder, "torch.rand(4, 3)", "torch.linalg.svd(x)[1] + torch.fft.rfft(x).abs().sum()")
    ok(d["expr"] is None and len(d["unknown"]) >= 2 and d["outputs"] == [{"name": "y", "dtype": "f32", "shape": [3]}],
       "unknown operators are listed, and the rest is described", d)
    for forward in ("x if x.sum() > 0 else -x", "torch.from_numpy(x.numpy() * 2)", "x * x[x > 0.5].numel()",
                    "x.log() if x.min() > 0 else torch.linalg.cholesky(x)"):
        d = told_of(folder, "torch.rand(4, 3)", forward)
        ok(d.get("outputs") == [{"name": "y", "dtype": "f32", "shape": [4, 3]}] and d["expr"] is None and
           "found by running it" in "".join(d["notes"]), "what asks for values is run: " + forward, d)
    for forward in ("x.nonzero()", "x[x > 0.5]", "x[:int(x.sum())]"):
        d = told_of(folder, "torch.rand(4, 3)", forward)
        ok(d.get("error", "").startswith("forward() gives sizes that depend on values: ["),
           "sizes that values decide are refused: " + forward, d)
    d = told_of(folder, "torch.rand(1 << 14, 1 << 13)", "x if x.sum() > 0 else -x")
    ok("134217728 elements are too many" in d.get("error", ""), "what is too large for that is told", d)
    d = told_of(folder, "torch.rand(4, 3)", "self.f(x)", "self.f = torch.nn.utils.spectral_norm(nn.Linear(3, 3))", "eval")
    ok(d.get("outputs") and d["outputs"][0]["shape"] == [4, 3], "hooks on weights do no harm", d.get("error"))
    d = asked(written(folder, "keywords", PLAIN.replace("return []\n", "return [[], {'size': 3}]\n").replace(
        "x * 2", "x * self.size").replace("super().__init__()", "super().__init__(); self.size = k['size']")))
    ok(d["expr"] == "y = x * 3\n", "constructor arguments may be [list, dict]", d)
    d = asked(written(folder, "groups", PLAIN.replace("get_inputs", "get_input_groups").replace(
        "[torch.randn(2, 3)]", "[[torch.randn(s)] for s in ((), (4, 5), (3, 3))]")))
    ok(d.get("inputs") and d["inputs"][0]["shape"] == [4, 5] and "3 groups of inputs: the largest, number 2" in "".join(d["notes"]),
       "of several groups of inputs the largest is taken", d)
    d = asked(written(folder, "prints", PLAIN.replace("return x", "print('hello'); return x")))
    ok(d["expr"] == "y = x * 2\n", "a file may print", d)


def compiled_baselines(folder):
    """python/baseline.py in one process for many evaluations of two cases: what is called torch.compile is compiled each time."""
    from torch._dynamo.utils import counters
    real = torch.compile
    torch.compile = lambda model, mode, dynamic: real(model, backend="eager", dynamic=dynamic)  # what is looked at is which calls it takes over
    try:
        for i in range(20):
            rows, cols = ((4, 8), (8, 4))[i % 2]
            b = baseline.Baseline({"form": "line", "text": "torch.softmax(x, -1) * rows", "inputs": ["x"], "outputs": ["y"], "dims":
                                   {"rows": rows, "cols": cols}, "params": {}, "folder": folder, "tf32": False, "layout": None,
                                   "compile": "default"}, "cpu")
            b.settle(b.made()(), {})
            b.compile((torch.randn(rows, cols),), {})
    finally:
        torch.compile = real
    frames = counters["frames"]
    ok(frames["ok"] == frames["total"] == 20, "a baseline is compiled in the twentieth evaluation as in the first", dict(frames))


def main():
    evaluator = os.path.join(os.environ.get("KW_TOP", compare.TOP), os.environ.get("KW_B", "build"), "tests/unit/test_expr_given")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        seen = against_torch(folder, evaluator)
        missed = sorted(USED - seen)
        ok(not missed, "every operator that this PyTorch keeps whole was used", missed)
        what_inputs_are(folder)
        what_models_are(folder)
        bad_files(folder)
        compiled_baselines(folder)
    print("1..%d" % count, file=tap, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
