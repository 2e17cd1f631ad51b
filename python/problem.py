"""A problem in KernelBench's form: a file with a module `Model`, `get_inputs` and `get_init_inputs`.

What is wrong with a file is a `Problem`, one sentence. Whoever loads one has given its own standard output away before:
a file may print.
"""
import ast
import inspect
import linecache
import os
import re
import sys
import types

import torch

from kwright.made import LIMIT, Making

DTYPES = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
          torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool"}
for f8, f8_name in (("float8_e4m3fn", "f8e4m3"), ("float8_e5m2", "f8e5m2")):
    if hasattr(torch, f8):
        DTYPES[getattr(torch, f8)] = f8_name
# Names of the expression language, and words that no name of a task may be.
RESERVED = set("""auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while asm bool true
    false and or not sm cores simd_bytes smem_bytes layout large""".split())
RESERVED |= {"inf", "nan", "pi", "True", "False", "None", "newaxis"} | set(DTYPES.values()) | {
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "half", "double", "float",
    "int", "long", "short"}


VALUES_MOST = 1 << 26       # elements of a tensor whose values are asked for
WITHOUT_VALUES = re.compile(r"\bmeta\b|register_meta|tensor subclasses")

NAME_MAX = 44       # of 48 characters, so that there is room to tell two of them apart


NEEDED = (("Model", "a class Model, a torch.nn.Module"),
          ("get_inputs", "a function get_inputs() that gives the arguments of Model's forward(), a list of tensors"))


def elements(value):
    if isinstance(value, torch.Tensor):
        return value.numel()
    values = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return sum(elements(v) for v in values)


class Problem(Exception):
    """What is wrong with a problem, in one sentence."""


class ValuesNeeded(Problem):
    """It asks for values where there are none, as what is large has no memory."""


def name_of(path):
    """A name of the expression language for a path of a state dict."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", path)
    if len(name) > NAME_MAX:
        name = "_" + name[1 - NAME_MAX:]
    if not re.match(r"[A-Za-z_]", name):
        name = "_" + name
    return name + "_" if name in RESERVED else name


def said(error):
    """The first line of what an exception says."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # That a tensor is without memory while a problem is looked at is not its author's affair.
    return (lines[0] if lines else type(error).__name__).replace("FakeTensor", "Tensor")[:300]


def where(error, path):
    """The last line of the file that the exception came through."""
    at, trace = None, error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == path:
            at = trace.tb_lineno
        trace = trace.tb_next
    return " at line %d" % at if at else ""


def guarded(doing, path, call, *args, **kwargs):
    """Calls what the file says; whatever it does is a sentence."""
    try:
        return call(*args, **kwargs)
    except Problem:
        raise
    except SystemExit as e:
        raise Problem("%s calls exit%s" % (doing, where(e, path)))
    except ImportError as e:
        missing = getattr(e, "name", None)
        if missing and isinstance(e, ModuleNotFoundError):
            raise Problem("%s needs the package '%s'%s, which is not installed" % (doing, missing.split(".")[0], where(e, path)))
        raise Problem("%s raises %s: %s%s" % (doing, type(e).__name__, said(e), where(e, path)))
    except (MemoryError, RecursionError) as e:
        raise Problem("%s runs out of %s%s" % (doing, "memory" if isinstance(e, MemoryError) else "stack", where(e, path)))
    except BaseException as e:
        if "DataDependent" in type(e).__name__ or "DynamicOutputShape" in type(e).__name__:
            raise ValuesNeeded("%s goes ways, or gives sizes, that depend on values%s" % (doing, where(e, path)))
        kind = ValuesNeeded if WITHOUT_VALUES.search(str(e)) else Problem
        raise kind("%s raises %s: %s%s" % (doing, type(e).__name__, said(e), where(e, path)))


class Loaded:
    """A problem whose tensors have been made as far as they need to be: model, args, kwargs, making. What has over `limit` elements has no
    memory; where the file asks for its values, it gets some, up to VALUES_MOST."""

    def __init__(self, path, mode="train", limit=LIMIT):
        self.path, self.mode, self.notes = path, mode, []
        try:
            module = self.load(limit)
        except ValuesNeeded:
            if limit >= VALUES_MOST:
                raise
            self.notes = []
            module = self.load(VALUES_MOST)
        self.get_inputs = module.get_inputs
        self.model.train(mode == "train")
        self.names = self.argument_names()

    def load(self, limit):
        self.making = Making(limit)
        module = self.read()
        with self.making:
            self.model = self.construct(module)
            self.args, self.kwargs = self.inputs(module)
        return module

    def read(self):
        try:
            with open(self.path, "rb") as f:
                source = f.read().decode("utf-8-sig")
        except OSError as e:
            raise Problem("cannot be read: %s" % e.strerror)
        except UnicodeDecodeError:
            raise Problem("is no UTF-8 text")
        try:
            tree = ast.parse(source, self.path)
        except (SyntaxError, ValueError) as e:
            raise Problem("is no Python: %s%s" % (getattr(e, "msg", said(e)),
                                                 " at line %d" % e.lineno if getattr(e, "lineno", None) else ""))
        classes = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Model"]
        if len(classes) > 1:
            raise Problem("defines Model twice, at lines %s" % " and ".join(str(c.lineno) for c in classes))
        module = types.ModuleType("kwright_problem")
        module.__file__ = self.path
        sys.modules[module.__name__] = module
        linecache.cache[self.path] = (len(source), None, source.splitlines(True), self.path)
        folder = os.path.dirname(os.path.abspath(self.path))
        sys.path.insert(0, folder)
        with self.making:
            guarded("it", self.path, exec, compile(tree, self.path, "exec"), module.__dict__)
        sys.path.remove(folder)
        if not hasattr(module, "get_inputs") and hasattr(module, "get_input_groups"):
            module.get_inputs = lambda: self.largest_group(module.get_input_groups())
        for name, what in NEEDED:
            if not hasattr(module, name):
                raise Problem("has no %s: a problem has %s" % (name, what))
        if not (inspect.isclass(module.Model) and issubclass(module.Model, torch.nn.Module)):
            raise Problem("Model is no torch.nn.Module")
        return module

    def construct(self, module):
        args, kwargs = [], {}
        if hasattr(module, "get_init_inputs"):
            given = guarded("get_init_inputs()", self.path, module.get_init_inputs)
            if isinstance(given, dict):
                kwargs = given
            elif isinstance(given, (list, tuple)):
                args = list(given)
                if len(args) == 2 and isinstance(args[0], (list, tuple)) and isinstance(args[1], dict):
                    args, kwargs = list(args[0]), args[1]
            elif given is not None:
                raise Problem("get_init_inputs() gives %s, not a list" % type(given).__name__)
        else:
            self.notes.append("no get_init_inputs: Model is made without arguments")
        self.init = args, kwargs
        return guarded("Model()", self.path, module.Model, *args, **kwargs)

    def inputs(self, module):
        given = guarded("get_inputs()", self.path, module.get_inputs)
        if isinstance(given, torch.Tensor):
            given = [given]
        if isinstance(given, dict):
            return [], given
        if not isinstance(given, (list, tuple)):
            raise Problem("get_inputs() gives %s, not a list" % type(given).__name__)
        return list(given), {}

    def largest_group(self, groups):
        """MultiKernelBench's form with several sizes: what is judged is the largest."""
        if not isinstance(groups, (list, tuple)) or not groups:
            raise Problem("get_input_groups() gives no list of groups of inputs")
        largest = max(range(len(groups)), key=lambda i: elements(groups[i]))
        note = "get_input_groups() gives %d groups of inputs: the largest, number %d, is taken" % (len(groups), largest + 1)
        if note not in self.notes:
            self.notes.append(note)
        return groups[largest]

    def argument_names(self):
        """Names for args, by the signature of forward."""
        names, extra = [], "x"
        try:
            signature = inspect.signature(self.model.forward)
        except (TypeError, ValueError):
            signature = inspect.Signature()
        try:
            signature.bind(*self.args, **self.kwargs)
        except TypeError as e:
            raise Problem("get_inputs() does not fit forward(): %s" % said(e))
        for p in signature.parameters.values():
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
                names.append(p.name)
            elif p.kind == p.VAR_POSITIONAL:
                extra = p.name
        while len(names) < len(self.args):
            names.append("%s_%d" % (extra, len(names)))
        return names[:len(self.args)]
