"""The reference of a task in PyTorch: computes what is right, in f64, for inputs that the judge drew.

Values come and go in memory that is shared by a descriptor, never in a file. One process serves a judge for as long as it lives; what a
call changes (running statistics, inputs updated in place) is put back by giving everything anew in the next.
"""
import base64
import ast
import contextlib
import functools
import importlib.util
import inspect
import math
import mmap
import os
import pickle
import sys
import tempfile

import torch
import torch.nn.functional as F

from kwright.watching import Watching

DTYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
          "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool,
          "f8e4m3": getattr(torch, "float8_e4m3fn", None), "f8e5m2": getattr(torch, "float8_e5m2", None)}
NAMES = {v: k for k, v in DTYPES.items() if v is not None}
SMALLEST = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.rand(2, 2)]
"""
# Sums of a plain kernel have one accumulator; PyTorch's on a processor have that many, which err by the root of it less.
ACCUMULATORS = 64


class Trouble(Exception):
    """What is wrong with a reference, in one sentence."""


def offline(event, args):
    """A reference that downloads would be another one tomorrow."""
    if event == "socket.getaddrinfo" or event == "socket.connect" and isinstance(args[1], tuple):
        raise ConnectionRefusedError("a reference may not download anything")


# ---- the forms: each has call(values) -> outputs, a list ----

def flat(result):
    """The tensors of a result, in order; numbers are some where there is nothing else."""
    leaves = leaves_of(result)
    tensors = [t for t in leaves if isinstance(t, torch.Tensor)]
    return tensors or [torch.tensor(v) for v in leaves]


def leaves_of(result):
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, (bool, int, float)):
        return [result]
    if isinstance(result, dict):
        return [t for v in result.values() for t in leaves_of(v)]
    if isinstance(result, (list, tuple)):
        return [t for v in result for t in leaves_of(v)]
    if result is None:
        return []
    if hasattr(result, "to_tuple"):
        return leaves_of(result.to_tuple())
    raise Trouble("it gives a %s, not a tensor" % type(result).__name__)


class Line:
    """`torch.softmax(x, -1)`, or statements that end in the names of the outputs."""

    def __init__(self, request):
        self.notes = []
        self.names = [o["name"] for o in request.get("outputs", [])]
        text = request["text"].strip()
        try:
            tree = ast.parse(text, "reference")
        except SyntaxError as error:
            raise Trouble("'torch' is no Python: %s at line %d" % (error.msg, error.lineno or 1))
        self.expression = len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr)
        if not self.expression and not self.names:
            raise Trouble("statements need declared 'outputs', whose names they assign")
        self.code = compile(text, "reference", "eval" if self.expression else "exec")

    def call(self, values, dims):
        # Built-in names come by themselves; one dictionary, so that functions inside see what was assigned.
        space = {"torch": torch, "F": F, "nn": torch.nn, "math": math, **dims, **values}
        if self.expression:
            return flat(eval(self.code, space))
        exec(self.code, space)
        missing = [n for n in self.names if n not in space]
        if missing:
            raise Trouble("nothing is assigned to the output '%s'" % missing[0])
        return [t for n in self.names for t in flat(space[n])]


class Owner:
    """What gives inputs and weights their places: a module or a function, with arguments like those that it was shown with."""

    def __init__(self, function, args, kwargs, names, weights, mode):
        self.function, self.args, self.kwargs, self.names, self.weights = function, args, kwargs, names, weights
        self.init, self.notes = ((), {}), []
        self.made, self.wide = {}, None
        self.keeps = set()      # paths of what outputs depend on and a call changes: the next call of the same module would differ
        self.own = lambda: (self.args, self.kwargs)  # what its author calls it with
        if isinstance(function, torch.nn.Module):
            function.train(mode == "train")
            self.settle(function)

    def settle(self, model):
        """Dropout draws numbers, which nobody else can draw again: it is left out, and that is said."""
        found = []
        for path, m in model.named_modules():
            for attribute in ("p", "dropout"):
                rate = m.__dict__.get(attribute)
                known = isinstance(m, torch.nn.modules.dropout._DropoutNd) or type(m).__module__.startswith("torch.nn")
                if known and m.training and isinstance(rate, float) and rate > 0 and (attribute != "p" or "Dropout" in type(m).__name__):
                    setattr(m, attribute, 0.0)
                    found.append(path or type(m).__name__)
        if found:
            self.notes.append("dropout is left out (%s)" % ", ".join(found[:4]))

    def call(self, values, dims):
        flat_args, tree = torch.utils._pytree.tree_flatten((tuple(self.args), dict(self.kwargs)))
        filled = [values[name] if name in values else old for name, old in zip(self.names, flat_args)]
        args, kwargs = torch.utils._pytree.tree_unflatten(filled, tree)
        if not isinstance(self.function, torch.nn.Module):
            return flat(self.function(*args, **kwargs))
        self.place(values)
        given = {path: self.held(path) for path, name in self.weights.items() if name in values}
        before = {path: t._version for path, t in given.items() if isinstance(t, torch.Tensor)}
        results = self.function(*args, **kwargs)
        self.keeps.update(path for path, t in given.items() if self.held(path) is not t or path in before and t._version != before[path])
        return flat(results)

    def held(self, path):
        return functools.reduce(getattr, path.split("."), self.function)

    def stand_in(self, inputs):
        """For a module in place of this one: how it is made and called, where inputs are written as ("\\0input", name); and what it
        must hold. Constructors take whatever they like, so it is a pickle."""
        flat_args, tree = torch.utils._pytree.tree_flatten((tuple(self.args), dict(self.kwargs)))
        marked = [("\0input", name) if name in inputs else v for name, v in zip(self.names, flat_args)]
        args, kwargs = torch.utils._pytree.tree_unflatten(marked, tree)
        weights = {path: name for path, name in self.weights.items() if name in inputs}
        how = {"init": self.init, "args": args, "kwargs": kwargs, "weights": weights}
        return {"how": base64.b64encode(pickle.dumps(how)).decode(), "weights": sorted(set(weights.values()))}

    def place(self, values):
        """Weights, buffers and plain attributes by their paths; shared ones stay shared, as each path names one of them. What the task does not
        give (statistics that a call only writes) is as it was made, in the precision of the others."""
        for path, name in self.weights.items():
            owner = self.function
            *folders, last = path.split(".")
            for part in folders:
                owner = getattr(owner, part)
            old = getattr(owner, last)
            new = values[name] if name in values else self.as_made(path, old)
            if isinstance(old, torch.nn.Parameter):
                self.replace(old, torch.nn.Parameter(new, requires_grad=False))
            elif last in owner._buffers:
                self.replace(old, new)
            else:
                setattr(owner, last, new)
        for m in self.function.modules():
            if isinstance(m, torch.nn.RNNBase):
                m._flat_weights = [getattr(m, n, None) for n in m._flat_weights_names]

    def as_made(self, path, now):
        first = self.made.setdefault(path, now.detach())
        return first.to(self.wide if self.wide and first.is_floating_point() else first.dtype, copy=True)

    def replace(self, old, new):
        for m in self.function.modules():
            for store in (m._parameters, m._buffers):
                for key, t in store.items():
                    if t is old:
                        store[key] = new


@contextlib.contextmanager
def without_dropout(found=None):
    """The functions too, as far as they are called by their places in torch. found: a set that gets the names of those that would have dropped."""
    found = set() if found is None else found
    names = [n for n in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout") if hasattr(F, n)]
    kept = {n: getattr(F, n) for n in names}
    attention = F.scaled_dot_product_attention

    def identity(name):
        def same(input, p=0.5, training="alpha" not in name, *args, **kwargs):
            if training and p > 0:
                found.add("F." + name)
            return input
        return same

    def quiet(query, key, value, attn_mask=None, dropout_p=0.0, *args, **kwargs):
        if dropout_p > 0:
            found.add("F.scaled_dot_product_attention")
        return attention(query, key, value, attn_mask, 0.0, *args, **kwargs)

    for n in names:
        setattr(F, n, identity(n))
    F.scaled_dot_product_attention = quiet
    try:
        yield
    finally:
        for n in names:
            setattr(F, n, kept[n])
        F.scaled_dot_product_attention = attention


def callable_of(request):
    """`module.py:name`, with the arguments that a file of torch.save holds."""
    path, name = request["path"], request["callable"]
    spec = importlib.util.spec_from_file_location("kwright_users_module", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    function = module
    for part in name.split("."):
        if not hasattr(function, part):
            raise Trouble("there is no '%s' in %s" % (name, os.path.basename(path)))
        function = getattr(function, part)
    if inspect.isclass(function):
        function = function()
    if not callable(function):
        raise Trouble("'%s' is a %s, nothing to call" % (name, type(function).__name__))
    return function


def arguments_of(path):
    """A tensor, a list of arguments, a dictionary of named ones, or a pair of both."""
    try:
        given = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise Trouble("%s cannot be read as tensors: %s" % (path, str(error).split("\n")[0]))
    if isinstance(given, torch.Tensor):
        return [given], {}
    if isinstance(given, dict):
        return [], given
    if isinstance(given, (list, tuple)):
        if len(given) == 2 and isinstance(given[0], (list, tuple)) and isinstance(given[1], dict):
            return list(given[0]), given[1]
        return list(given), {}
    raise Trouble("%s holds a %s, not arguments" % (path, type(given).__name__))


def argument_names(function, args, kwargs):
    """A name for each tensor or number among the arguments: that of the parameter, numbered inside of lists."""
    try:
        signature = inspect.signature(function.forward if isinstance(function, torch.nn.Module) else function)
        signature.bind(*args, **kwargs)
        known = [p.name for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except ValueError:  # functions that are built in have none
        known = []
    except TypeError as error:
        raise Trouble("the arguments do not fit: %s" % error)
    names = []
    for i, (base, value) in enumerate([(known[i] if i < len(known) else "x%d" % i, v) for i, v in enumerate(args)] + list(kwargs.items())):
        leaves = torch.utils._pytree.tree_flatten(value)[0]
        names += [base if len(leaves) == 1 else "%s_%d" % (base, k) for k in range(len(leaves))]
    return names


def weight_names(model, taken):
    """Paths of what a module holds, each with a name of its own: dots become underscores."""
    tensors = dict(model.named_parameters())
    tensors.update(model.named_buffers())
    out = {}
    for path in tensors:
        name = path.replace(".", "_")
        while name in taken or name in out.values():
            name += "_"
        out[path] = name
    return out, tensors


def load_callable(request):
    function = callable_of(request)
    args, kwargs = arguments_of(request["args"])
    names = argument_names(function, args, kwargs)
    weights = weight_names(function, names)[0] if isinstance(function, torch.nn.Module) else {}
    return Owner(function, args, kwargs, names, weights, request["mode"])


def load_problem(request):
    """KernelBench's form: `Model`, `get_inputs`, `get_init_inputs`. Its own tensors only show names and places here."""
    from kwright import describe, graph, problem
    try:
        found = problem.Loaded(request["path"], request["mode"])
        flat_args = graph.flat_inputs(found.names, found.args, found.kwargs)
        weights = describe.weights_json(found.model, found.making, {name for name, _ in flat_args})
    except problem.Problem as error:
        raise Trouble(str(error))
    owner = Owner(found.model, found.args, found.kwargs, [name for name, _ in flat_args],
                  {path: w["name"] for path, w in weights.items()}, request["mode"])
    owner.init = found.init
    owner.own = lambda: given_by(found.get_inputs)
    return owner


def given_by(get_inputs):
    given = get_inputs()
    if isinstance(given, torch.Tensor):
        return [given], {}
    return ([], given) if isinstance(given, dict) else (list(given), {})


FORMS = {"line": Line, "problem": load_problem, "callable": load_callable}


# ---- describing: a task in YAML ----

def number(v):
    return float("%.6g" % v)


def values_like(t):
    """What a tensor that somebody saved is filled with, as near as its values show."""
    if t.numel() == 0 or t.is_meta:
        return {}
    if t.dtype == torch.bool:
        return {"dist": "bernoulli", "range": [number(t.float().mean().item())] * 2}
    if not t.dtype.is_floating_point:
        return {"dist": "integers", "range": [int(t.min()), int(t.max())]}
    v = t.to(torch.float64)
    low, high = v.min().item(), v.max().item()
    if not (math.isfinite(low) and math.isfinite(high)):
        return {}
    if low == high:  # a constant could be left out by a kernel
        return {"dist": "normal", "range": [0, 0.1]} if low == 0 else {"dist": "uniform", "range": sorted((number(low / 2), number(low * 1.5)))}
    mean, deviation = v.mean().item(), v.std().item()
    # A uniform's deviation is its width by the root of 12, within some noise; what has long tails is wider.
    if (high - low) < 3.7 * deviation or v.numel() < 16:
        return {"dist": "uniform", "range": [number(low), number(high)]}
    return {"dist": "normal", "range": [number(mean), number(deviation)]}


def tensor_line(name, t):
    if t.dtype not in NAMES:
        raise Trouble("'%s' is of %s, which no kernel here takes" % (name, str(t.dtype).replace("torch.", "")))
    parts = ["dtype: " + NAMES[t.dtype], "shape: [%s]" % ", ".join(map(str, t.shape))]
    like = values_like(t)
    parts += ["dist: " + like["dist"], "range: [%r, %r]" % tuple(like["range"])] if like else []
    return "  %s: { %s }\n" % (name, ", ".join(parts))


def identifier(name):
    name = "".join(c if c.isalnum() and c.isascii() else "_" for c in name)
    return name if name and not name[0].isdigit() else "_" + name


def describe_callable(request):
    owner = load_callable(request)
    leaves = torch.utils._pytree.tree_flatten((tuple(owner.args), dict(owner.kwargs)))[0]
    tensors = [(n, t) for n, t in zip(owner.names, leaves) if isinstance(t, torch.Tensor)]
    numbers = [(n, v) for n, v in zip(owner.names, leaves) if isinstance(v, (int, float)) and not isinstance(v, bool)]
    if isinstance(owner.function, torch.nn.Module):
        held = dict(owner.function.named_parameters())
        held.update(owner.function.named_buffers())
        tensors += [(owner.weights[path], t.detach()) for path, t in held.items() if path in owner.weights]
    with torch.no_grad(), without_dropout():
        results = flat(owner.function(*[a.clone() if isinstance(a, torch.Tensor) else a for a in owner.args], **owner.kwargs))
    taken = {n for n, _ in tensors + numbers}
    text = "inputs:\n" + "".join(tensor_line(identifier(n), t) for n, t in tensors)
    if numbers:
        text += "params:\n" + "".join("  %s: { dtype: %s, value: %r }\n" % (identifier(n), "i64" if isinstance(v, int) else "f32", v)
                                      for n, v in numbers)
    text += "outputs:\n"
    for i, t in enumerate(results):
        name = "y" if len(results) == 1 else "y%d" % i
        while name in taken:
            name += "_"
        if t.dtype not in NAMES:
            raise Trouble("an output is of %s, which no kernel here gives" % str(t.dtype).replace("torch.", ""))
        text += "  %s: { dtype: %s, shape: [%s] }\n" % (name, NAMES[t.dtype], ", ".join(map(str, t.shape)))
    return {"text": text + "perf:\n  - {}\n", "notes": owner.notes}


def describe_problem(request):
    from kwright import describe, lasting, problem, task_text
    try:
        found = describe.describe(request["path"], request["mode"])
    except problem.Problem as error:
        raise Trouble(str(error))
    return {"text": task_text.task_text(found, request["path"]), "notes": found["notes"], "lasting": lasting.lasting(request["path"])}


# ---- running ----

class Sums(Watching):
    """How long the longest sum is."""

    ALONG = ("sum", "mean", "var", "var_mean", "std", "std_mean", "prod", "logsumexp", "linalg_vector_norm", "norm", "avg_pool2d",
             "avg_pool3d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "mse_loss", "nll_loss_forward", "dot")
    LAST = ("_softmax", "_log_softmax", "native_layer_norm", "_fused_rms_norm", "cumsum", "cumprod", "_safe_softmax")
    PRODUCTS = {"mm": 0, "bmm": 0, "mv": 0, "addmm": 1, "baddbmm": 1, "addmv": 1}

    def __init__(self):
        super().__init__()
        self.longest = 1

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        first = next((a for a in args if isinstance(a, torch.Tensor)), None)
        n = 1
        if name in self.PRODUCTS:
            n = args[self.PRODUCTS[name]].shape[-1]
        elif "convolution" in name:
            n = args[1].numel() // max(args[1].shape[0], 1)
        elif "attention" in name and first is not None:
            n = max(first.shape[-1], first.shape[-2])
        elif "batch_norm" in name or "group_norm" in name:
            n = first.numel() // max(first.shape[1], 1)
        elif name in self.ALONG and first is not None and isinstance(result, torch.Tensor):
            n = first.numel() // max(result.numel(), 1)
        elif name in self.LAST and first is not None and first.dim():
            n = max(first.shape)
        self.longest = max(self.longest, n)
        return result


def disturb(t):
    """Half a unit in the last place, up or down: what a plain kernel's roundings may do where no wider type shows them."""
    signs = torch.randint(-1, 2, t.shape, device=t.device)
    t.mul_(1 + signs.to(torch.float64) * torch.finfo(t.dtype).eps / 2) if t.dtype == torch.float64 else t.copy_(
        t.to(torch.float64) * (1 + signs * torch.finfo(t.dtype).eps / 2))


def read(fd, request, precision, device, disturbed):
    """The inputs as tensors of their own, in the precision that is computed in."""
    total = request["input_bytes"]
    room = mmap.mmap(fd, max(total, 1), mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
    wide = {"f64": torch.float64, "f32": torch.float32}.get(precision)
    values = {}
    for given in request["inputs"]:
        dtype, shape = DTYPES[given["dtype"]], given["shape"]
        if math.prod(shape) == 0:
            t = torch.empty(shape, dtype=dtype)
        else:
            t = torch.frombuffer(room, dtype=dtype, count=math.prod(shape), offset=given["at"]).reshape(shape)
        values[given["name"]] = t.to(device=device, dtype=wide if wide and dtype.is_floating_point else dtype, copy=True)
        if disturbed and dtype.is_floating_point:
            disturb(values[given["name"]])
        if request.get("moved") and dtype.is_floating_point:  # in the last place of an f32
            values[given["name"]].mul_(1 + 6e-8 * torch.randn(values[given["name"]].shape, dtype=torch.float64).to(device))
        del t
    room.close()
    for p in request.get("params", []):
        values[p["name"]] = float(p["value"]) if p["dtype"].startswith(("f", "bf")) else int(p["value"])
    return values


def agree(outputs, results):
    """What is given is what the task declares."""
    if len(results) != len(outputs):
        raise Trouble("it gives %d tensor%s, and the task has %d output%s" % (
            len(results), "" if len(results) == 1 else "s", len(outputs), "" if len(outputs) == 1 else "s"))
    for want, got in zip(outputs, results):
        if list(got.shape) != want["shape"]:
            raise Trouble("'%s' has the shape %s, and the task says %s" % (want["name"], list(got.shape), want["shape"]))


def write(fd, request, results):
    outputs = request["outputs"]
    agree(outputs, results)
    room = mmap.mmap(fd, max(request["output_bytes"], 1), mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
    for want, got in zip(outputs, results):
        if got.numel() == 0:
            continue
        t = torch.frombuffer(room, dtype=torch.float64, count=got.numel(), offset=want["at"]).reshape(want["shape"])
        t.copy_(got.detach())
        del t
    room.close()


def on_device(device):
    if device == "cuda" and not torch.cuda.is_available():
        return "cpu"
    return device


def settle():
    """What a file that was here before may have set for the whole process."""
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_grad_enabled(True)


class Server:
    def __init__(self):
        self.form = self.device = None
        self.exact, self.plain = "f64", "f32"
        self.left_out = set()

    def prepare(self, request, fds):
        """What the first problem would wait for: modules of PyTorch that are imported late, and the GPU."""
        if on_device(request["device"]) == "cuda":
            torch.zeros(1, device="cuda")
        with tempfile.NamedTemporaryFile("w", suffix=".py") as f:
            f.write(SMALLEST)
            f.flush()
            load_problem({"path": f.name, "mode": "train"})
        return {}

    def load(self, request, fds):
        settle()
        self.form, self.left_out = None, set()
        torch.set_num_threads(request.get("threads") or 1)
        self.device = on_device(request.get("device", "cpu"))
        self.form = FORMS[request["form"]](request)
        if self.device == "cuda":
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
            if isinstance(getattr(self.form, "function", None), torch.nn.Module):
                # What is large was made without memory; each call gives it values.
                self.form.function._apply(lambda t: t if t.is_meta else t.to("cuda"))
        return {"torch": torch.__version__, "device": self.device, "notes": self.form.notes}

    def describe(self, request, fds):
        """A task's inputs, params, outputs and cases, as a problem or a callable shows them."""
        settle()
        torch.set_num_threads(request.get("threads") or 1)
        kept = torch.get_default_dtype(), list(sys.path), torch.is_grad_enabled()
        try:
            with torch.random.fork_rng(devices=[]):
                return {"problem": describe_problem, "callable": describe_callable}[request["form"]](request)
        finally:  # the next one is another's
            torch.set_default_dtype(kept[0])
            torch.set_default_device(None)
            torch.set_grad_enabled(kept[2])
            sys.path[:] = kept[1]

    def run(self, request, fds):
        """One evaluation: inputs from the first descriptor, outputs to the second."""
        try:
            if request["plain"]:
                return self.attempt(request, fds, self.plain, self.plain == self.exact or request.get("disturbed", False))
            failed = None
            # Not every operation knows every type, and not every machine has the memory.
            for precision in ("f64", "f32", "own"):
                try:
                    done = self.attempt(request, fds, precision, False)
                    self.exact, self.plain = precision, "f32" if precision == "f64" else precision
                    return done
                except Trouble:
                    raise
                except Exception as error:
                    failed = failed or error
            raise failed
        finally:
            for fd in fds:
                os.close(fd)

    def attempt(self, request, fds, precision, disturbed):
        torch.manual_seed(request["seed"])
        values = read(fds[0], request, precision, self.device, disturbed)
        with Sums() as sums:
            results = self.compute(values, request, precision)
        write(fds[1], request, results)
        return {"precision": precision, "longest": min(sums.longest, ACCUMULATORS), "left_out": ", ".join(sorted(self.left_out)),
                "keeps": ", ".join(sorted(getattr(self.form, "keeps", ())))}

    def compute(self, values, request, precision):
        before = torch.get_default_dtype()
        # What the reference itself makes (torch.zeros, torch.randn) counts in the same precision.
        torch.set_default_dtype(torch.float64 if precision == "f64" else torch.float32)
        self.form.wide = {"f64": torch.float64, "f32": torch.float32}.get(precision)
        try:
            with torch.no_grad(), without_dropout(self.left_out):
                return self.form.call(values, request.get("dims", {}))
        finally:
            torch.set_default_dtype(before)

    def audit(self, request, fds):
        """What a check of the task finds by evaluation (python/audit.py)."""
        from kwright import audit
        failed = None
        numbers = {p["name"]: float(p["value"]) if p["dtype"].startswith(("f", "bf")) else int(p["value"]) for p in request["params"]}
        for precision in ("f64", "f32", "own"):
            wide = {"f64": torch.float64, "f32": torch.float32}.get(precision)

            def evaluate(values):
                torch.manual_seed(len(made))
                made.append(1)
                given = {n: v.to(wide if wide and v.is_floating_point() else v.dtype) for n, v in values.items()}
                results = self.compute({**given, **numbers}, request, precision)
                agree(request["outputs"], results)
                return results
            made = []
            try:
                return {"labels": audit.labels(request, evaluate, DTYPES)}
            except Trouble:
                raise
            except Exception as error:
                failed = failed or error
        raise failed

    def stand_in(self, request, fds):
        if not isinstance(self.form, Owner):
            return {"how": None, "weights": []}
        try:
            return self.form.stand_in(request["inputs"])
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise Trouble("what its constructor is given cannot be handed on: %s" % error)

    def original(self, request, fds):
        """What the author of the reference calls it with, drawn anew: to the descriptor, as far as shapes are those of the case."""
        try:
            if not isinstance(self.form, Owner):
                raise Trouble("a line has no inputs of its own")
            torch.manual_seed(request["seed"])
            args, kwargs = self.form.own()
            leaves = torch.utils._pytree.tree_flatten((tuple(args), dict(kwargs)))[0]
            own = {n: v for n, v in zip(self.form.names, leaves) if isinstance(v, torch.Tensor)}
            given = [i for i in request["inputs"] if i["name"] in own and list(own[i["name"]].shape) == i["shape"]]
            room = mmap.mmap(fds[0], max(request["input_bytes"], 1), mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
            for i in given:
                if math.prod(i["shape"]):
                    t = torch.frombuffer(room, dtype=DTYPES[i["dtype"]], count=math.prod(i["shape"]), offset=i["at"]).reshape(i["shape"])
                    t.copy_(own[i["name"]].detach())
                    del t
            room.close()
            return {"given": [i["name"] for i in given]}
        finally:
            for fd in fds:
                os.close(fd)

    def shapes(self, request, fds):
        """What it gives for inputs of these shapes; nothing has memory."""
        values = {}
        for given in request["inputs"]:
            values[given["name"]] = torch.empty(given["shape"], dtype=DTYPES[given["dtype"]], device="meta")
        for p in request.get("params", []):
            values[p["name"]] = float(p["value"]) if p["dtype"].startswith(("f", "bf")) else int(p["value"])
        with torch.no_grad(), torch.device("meta"):  # what the line makes itself has no memory either
            results = self.form.call(values, request.get("dims", {}))
        for t in results:
            if t.dtype not in NAMES:
                raise Trouble("an output is of %s, which no kernel here gives" % str(t.dtype).replace("torch.", ""))
        return {"outputs": [{"dtype": NAMES[t.dtype], "shape": list(t.shape)} for t in results]}


server = Server()
sys.addaudithook(offline)


def answer(request, fds):
    return getattr(server, request["do"])(request, fds)
