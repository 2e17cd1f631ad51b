"""TritonBench's files as problems and modules in KernelBench's form.

A file of TritonBench is an operator, a line of '#', and tests that call it. The tests are run once, on the CPU, and what they call the
operator with is written down: shapes, dtypes, and what the tensors are filled with; other arguments as they are.

    answer({"problem": "exp_sqrt.py"}, [])                          {"text": a file with Model and get_inputs, "calls": 4, "of": 4}
    answer({"problem": "exp_sqrt.py", "candidate": "mine.py"}, [])  {"text": a file with ModelNew, which makes the same calls, ...}

All calls of the tests are one call of Model: its inputs are the tensors of all of them, and so are its outputs. Left out, with a note, are
calls that raise (tests of errors), that write into `out`, or whose arguments or answers no kernel takes.
"""
import ast
import io
import os
import re
import sys
import types
from contextlib import redirect_stdout

import torch
from torch.utils._pytree import tree_flatten

from kwright.made import Making
from kwright.problem import DTYPES, Problem, guarded

LINE = re.compile(r"^#{100,}[ \t]*$", re.M)
TENSORS_MAX = 22        # of one task
PLAIN = (bool, int, float, str, type(None))


def parts(path):
    """The operator and its tests."""
    try:
        with open(path, encoding="utf-8-sig") as f:
            text = f.read()
    except OSError as e:
        raise Problem("cannot be read: %s" % e.strerror)
    except UnicodeDecodeError:
        raise Problem("is no UTF-8 text")
    found = LINE.split(text)
    return found[0], found[-1] if len(found) > 1 else ""


def operator_of(text, path):
    """The function that a file is about: the one that is called as the file, else its last public one."""
    try:
        tree = ast.parse(text, path)
    except (SyntaxError, ValueError) as e:
        raise Problem("is no Python: %s" % e)
    names = [n.name for n in tree.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")]
    stem = os.path.splitext(os.path.basename(path))[0]
    if stem in names:
        return stem
    if not names:
        raise Problem("defines no function that could be called")
    return names[-1]


def uses_triton(text):
    return re.search(r"^\s*(import|from)\s+triton\b", text, re.M) is not None


class Unfit(Exception):
    """Why a call is left out."""


class Calls:
    """What the tests call an operator with."""

    def __init__(self, path):
        operator, tests = parts(path)
        if uses_triton(operator):
            raise Problem("its reference is a Triton kernel: there is nothing more exact that a candidate could be held against")
        if not tests.strip():
            raise Problem("has no tests behind a line of '#', so that it is not known what it is called with")
        self.source, self.name = operator, operator_of(operator, path)
        self.kept, self.left, self.inputs, self.outputs = [], [], [], 0
        self.making = Making()
        self.run(path, tests)
        if not self.kept:
            raise Problem("no call of %s can be taken: %s" % (self.name, self.left[0] if self.left else "its tests make none"))

    def run(self, path, tests):
        module = types.ModuleType("kwright_tritonbench")
        module.__file__ = path
        sys.modules[module.__name__] = module
        # Some tests import the operator from its file.
        sys.modules.setdefault(os.path.splitext(os.path.basename(path))[0], module)
        with self.making, redirect_stdout(io.StringIO()):
            guarded("it", path, exec, compile(self.source, path, "exec"), module.__dict__)
            inner, depth = module.__dict__[self.name], [0]

            def outer(*args, **kwargs):
                depth[0] += 1
                try:
                    return inner(*args, **kwargs) if depth[0] > 1 else self.take(inner, args, kwargs)
                finally:
                    depth[0] -= 1
            module.__dict__[self.name] = outer
            guarded("its test", path, exec, compile(tests, path, "exec"), module.__dict__)

    def take(self, inner, args, kwargs):
        before = (len(self.inputs), self.outputs)
        try:
            text = self.arguments(args, kwargs)
        except Unfit as e:
            text = None
            self.left.append(str(e))
        try:
            result = inner(*args, **kwargs)
        except Exception as e:
            self.left.append("it raises %s" % type(e).__name__)
            del self.inputs[before[0]:]
            raise
        if text is not None:
            try:
                self.keep(text, result)
            except Unfit as e:
                self.left.append(str(e))
                text = None
        if text is None:
            del self.inputs[before[0]:]
        return result

    def keep(self, text, result):
        leaves = tree_flatten(result)[0]
        tensors = [i for i, t in enumerate(leaves) if isinstance(t, torch.Tensor)]
        if not tensors:
            raise Unfit("it gives no tensor")
        for i in tensors:
            if leaves[i].dtype not in DTYPES:
                raise Unfit("it gives a tensor of %s" % leaves[i].dtype)
        if len(self.inputs) + self.outputs + len(tensors) > TENSORS_MAX:
            raise Unfit("the calls have more than %d tensors together" % TENSORS_MAX)
        self.outputs += len(tensors)
        self.kept.append((text, tensors))

    def arguments(self, args, kwargs):
        if kwargs.get("out") is not None:
            raise Unfit("it is given an out to write into")
        texts = [self.argument(a) for a in args]
        return ", ".join(texts + ["%s=%s" % (k, self.argument(v)) for k, v in kwargs.items()])

    def argument(self, value):
        if isinstance(value, torch.Tensor):
            if value.dtype not in DTYPES or value.layout != torch.strided:
                raise Unfit("an argument is a tensor of %s" % (value.dtype if value.layout == torch.strided else value.layout))
            self.inputs.append((tuple(value.shape), value.dtype, self.making.describe(value)))
            return "t%d" % (len(self.inputs) - 1)
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            return "float('%r')" % value
        if isinstance(value, PLAIN):
            return repr(value)
        if isinstance(value, torch.dtype):
            return str(value)
        if isinstance(value, torch.device):
            raise Unfit("an argument is a device")
        if isinstance(value, (tuple, list)):
            inner = ", ".join(self.argument(v) for v in value)
            return "[%s]" % inner if isinstance(value, list) else "(%s%s)" % (inner, "," if len(value) == 1 else "")
        raise Unfit("an argument is a %s" % type(value).__name__)

    # ---- files ----

    def forward(self):
        names = ", ".join("t%d" % i for i in range(len(self.inputs)))
        lines = ["    def forward(self%s):" % (", " + names if names else ""), "        out = []"]
        for text, tensors in self.kept:
            lines.append("        leaves = _kwright_flatten(%s(%s))[0]" % (self.name, text))
            lines.append("        out += [leaves[i] for i in %r]" % (tensors,))
        lines.append("        return tuple(out) if len(out) > 1 else out[0]")
        return lines

    def problem(self):
        lines = [self.source.rstrip(), "", "", "import torch", "from torch.utils._pytree import tree_flatten as _kwright_flatten",
                 "", "", "class Model(torch.nn.Module):"] + self.forward()
        lines += ["", "", "def get_inputs():", "    return ["]
        matrices = MATRICES.search(self.source) is not None
        lines += ["        %s," % made(*i, matrices) for i in self.inputs]
        lines += ["    ]", "", "", "def get_init_inputs():", "    return []", ""]
        return "\n".join(lines)

    def module(self, path):
        source, _ = parts(path)
        tree = ast.parse(source, path)
        names = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))} | {
            t.id for n in tree.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}
        if self.name not in names:
            raise Problem("the candidate defines no %s" % self.name)
        return "\n".join([source.rstrip(), "", "", "import torch", "from torch.utils._pytree import tree_flatten as _kwright_flatten",
                          "", "", "class ModelNew(torch.nn.Module):"] + self.forward() + [""])


WHOLE_MAX = 2 ** 53     # of a float that holds whole numbers
IGNORED = -100          # PyTorch's mark for a target that does not count
MATRICES = re.compile(r"linalg|\b(solve|inverse|cholesky|slogdet|logdet|det|qr|svd|eig|eigh|lu)\b")


def made(shape, dtype, d, matrices):
    """An expression that makes such a tensor. matrices: they are solved, for which a few whole numbers are singular too often."""
    shape, kind, span = repr(list(shape)), d.get("dist"), d.get("range", [0, 1])
    if dtype == torch.bool:
        return "torch.rand(%s) < %r" % (shape, span[0])
    if not dtype.is_floating_point:
        low, high = (int(span[0]), int(span[1])) if kind in ("integers", "uniform") else (0, 1)
        if kind == "permutation":
            return "torch.randperm(%s[0]).to(%s)" % (shape, dtype)
        if low == IGNORED and high >= 0:
            low = 0
        return "torch.randint(%d, %d, %s, dtype=%s)" % (low, max(high, low) + 1, shape, dtype)
    if kind == "integers" and (matrices or max(abs(v) for v in span) >= WHOLE_MAX):
        kind = "uniform"
    if kind == "uniform":
        text = "torch.rand(%s) * %r + %r" % (shape, span[1] - span[0], span[0])
    elif kind == "integers":
        text = "torch.randint(%d, %d, %s).float()" % (int(span[0]), int(span[1]) + 1, shape)
    else:
        text = "torch.randn(%s) * %r + %r" % (shape, span[1] if kind == "normal" else 1.0, span[0] if kind == "normal" else 0.0)
    structure = d.get("structure")
    if structure in ("triu", "tril"):
        text = "torch.%s(%s)" % (structure, text)
    return text if dtype == torch.float32 else "(%s).to(%s)" % (text, dtype)


def answer(request, fds):
    try:
        calls = Calls(request["problem"])
        candidate = request.get("candidate")
        return {"text": calls.module(candidate) if candidate else calls.problem(), "calls": len(calls.kept),
                "of": len(calls.kept) + len(calls.left), "left": calls.left[:20]}
    except Problem as e:
        return {"error": str(e)}
