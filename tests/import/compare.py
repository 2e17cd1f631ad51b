"""A problem's expression against the problem itself: the same numbers through both, in f64.

    compare(path, evaluator) -> Result      # evaluator: build/tests/unit/test_expr_given
"""
import importlib.util
import os
import subprocess
import sys
import tempfile
import types

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DTYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
          "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool}


def package():
    """The files of python/ as the package that the program makes of them."""
    if "kwright" not in sys.modules:
        m = types.ModuleType("kwright")
        m.__path__ = [os.path.join(TOP, "python")]
        sys.modules["kwright"] = m


class Result:
    """unsteady: PyTorch itself gives something else when the inputs move in their last place, so nothing was compared."""

    def __init__(self, good, why, description=None, worst=None, unsteady=False):
        self.good, self.why, self.description, self.worst, self.unsteady = good, why, description, worst, unsteady


def draw(t, generator):
    """Numbers of an input as the judge would draw them, but in f64."""
    shape, dist, (a, b) = t["shape"], t.get("dist", "normal"), t.get("range", [0, 1])
    if "values" in t:
        picks = torch.randint(0, len(t["values"]), shape, generator=generator)
        return torch.tensor(t["values"], dtype=torch.float64)[picks]
    if dist == "uniform":
        return torch.rand(shape, dtype=torch.float64, generator=generator) * (b - a) + a
    if dist == "integers":
        return torch.randint(int(a), int(b) + 1, shape, generator=generator).double()
    if dist == "bernoulli":
        return (torch.rand(shape, generator=generator) < a).double()
    if dist == "probabilities":
        return torch.rand(shape, dtype=torch.float64, generator=generator).add(0.01).softmax(-1)
    if dist == "permutation":
        rows = torch.rand(shape, generator=generator)
        return rows.argsort(-1).double()
    return torch.randn(shape, dtype=torch.float64, generator=generator) * b + a


def in_f64(dtype):
    return "f64" if DTYPES[dtype].is_floating_point else dtype


def load(path):
    spec = importlib.util.spec_from_file_location("compared_problem", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["compared_problem"] = module
    spec.loader.exec_module(module)
    return module


def construct(module):
    from kwright.problem import Loaded
    holder = types.SimpleNamespace(notes=[], path=module.__file__)
    return Loaded.construct(holder, module)


def place(model, path, value):
    *owners, name = path.split(".")
    for owner in owners:
        model = getattr(model, owner)
    with torch.no_grad():
        old = getattr(model, name)
        old.copy_(value.to(old.dtype))


def run_torch(path, d, values, mode):
    """What the problem gives for these numbers."""
    torch.manual_seed(0)
    module = load(path)
    model = construct(module).double()
    model.train(mode == "train")
    for p in d["parameters"]:
        if p["path"] in values:
            t = values[p["path"]]
            if p["role"] == "attribute":
                owner = model
                *owners, name = p["path"].split(".")
                for o in owners:
                    owner = getattr(owner, o)
                setattr(owner, name, t.to(DTYPES[in_f64(p["dtype"])]))
            else:
                place(model, p["path"], t)
    given = module.get_inputs()
    leaves, spec = tree_flatten(given)
    for i, described in enumerate(d["inputs"]):
        if described["kind"] == "tensor":
            leaves[i] = values[described["name"]].to(DTYPES[in_f64(described["dtype"])])
    given = tree_unflatten(leaves, spec)
    with torch.no_grad():
        out = model(**given) if isinstance(given, dict) else model(*given)
    return [t for t in tree_flatten(out)[0] if isinstance(t, torch.Tensor)]


def task_in_f64(d, path):
    from kwright import task_text
    wide = dict(d)
    for key in ("inputs", "parameters", "outputs"):
        wide[key] = [dict(t, dtype=in_f64(t["dtype"])) if "dtype" in t else t for t in d[key]]
        for t in wide[key]:
            t.pop("strides", None)
    return task_text.task_text(wide, path)


def run_expression(d, path, values, evaluator):
    from kwright import task_text
    tensors = [(t["name"], t) for t in d["inputs"] if t["kind"] == "tensor"] + [(p["path"], p) for p in task_text.used(d)]
    with tempfile.TemporaryDirectory() as folder:
        task, given, out = (os.path.join(folder, n) for n in ("task.yaml", "in", "out"))
        with open(task, "w") as f:
            f.write(task_in_f64(d, path))
        with open(given, "wb") as f:
            for key, _ in tensors:
                f.write(values[key].contiguous().numpy().tobytes())
        done = subprocess.run([evaluator, task, given, out], capture_output=True, text=True, timeout=600)
        if done.returncode:
            return None, done.stderr.strip()[:500]
        with open(out, "rb") as f:
            flat = torch.frombuffer(bytearray(f.read()) or bytearray(8), dtype=torch.float64)
    results, at = [], 0
    for o in d["outputs"]:
        n = 1
        for s in o["shape"]:
            n *= s
        results.append(flat[at:at + n].reshape(o["shape"]))
        at += n
    return results, None


def difference(got, want, rel):
    """None, or what differs; the largest error as a share of the largest value."""
    want = want.double()
    if list(got.shape) != list(want.shape):
        return "shape %s, not %s" % (list(got.shape), list(want.shape)), None
    if got.numel() == 0:
        return None, 0.0
    same = (got == want) | (got.isnan() & want.isnan())
    scale = want[want.isfinite()].abs().max().item() if bool(want.isfinite().any()) else 1.0
    error = torch.where(same, torch.zeros_like(want), (got - want).abs() / max(scale, 1e-300))
    worst = float("inf") if bool(error.isnan().any()) else error.max().item()
    if worst <= rel:
        return None, worst
    at = error.nan_to_num(nan=float("inf")).flatten().argmax().item()
    return "[%d] is %r, torch gives %r" % (at, got.flatten()[at].item(), want.flatten()[at].item()), worst


def moved(t, generator):
    """The same within a few roundings of f64."""
    if not DTYPES[t["dtype"]].is_floating_point:
        return lambda v: v
    return lambda v: v * (1 + 1e-15 * torch.randn(v.shape, dtype=torch.float64, generator=generator))


def compare(path, evaluator, mode="train", rel=1e-8, description=None):
    package()
    from kwright import describe
    d = description or describe.describe(path, mode)
    if d["expr"] is None:
        return Result(False, "no expression: %s %s" % (d["unknown"], d["notes"]), d)
    generator = torch.Generator().manual_seed(1)
    values = {}
    tensors = [(t["name"], t) for t in d["inputs"] if t["kind"] == "tensor"] + [(p["path"], p) for p in d["parameters"]]
    for key, t in tensors:
        values[key] = draw(t, generator)
    got, why = run_expression(d, path, values, evaluator)
    if got is None:
        return Result(False, why, d)
    want = run_torch(path, d, values, mode)
    if len(got) != len(want):
        return Result(False, "%d outputs, torch gives %d" % (len(got), len(want)), d)
    worst = 0.0
    for i, (g, w) in enumerate(zip(got, want)):
        differs, error = difference(g, w, rel)
        if differs:
            again = run_torch(path, d, {key: moved(t, generator)(values[key]) for key, t in tensors}, mode)
            own, _ = difference(again[i], w, rel)
            if own:
                return Result(False, "output %d (%s) of torch itself, for inputs that differ by 1e-15: %s" % (i, tuple(w.shape), own), d,
                              unsteady=True)
            return Result(False, "output %d (%s)%s" % (i, tuple(w.shape), differs), d)
        worst = max(worst, error)
    return Result(True, "", d, worst)
