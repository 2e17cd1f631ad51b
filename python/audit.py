"""What makes a task with a reference in PyTorch easy to cheat on, by evaluation on one of its cases: `kwright task check`.

    labels(request, evaluate)       # evaluate(values) -> outputs in the widest type that the reference can be computed in

The same labels as src/expr/audit.c has for expressions.
"""
import math
import time

import torch

# What KernelBench and many scripts take as their absolute tolerance.
COMMON_ATOL = 1e-2
UNSTEADY = 1e-2         # of the outputs' RMS
SECONDS = 30            # for the question which inputs matter
SEEDS = (2, 3, 4)


def drawn(t, dtype, seed):
    """An input as the judge would fill it, near enough for an audit."""
    generator = torch.Generator().manual_seed(seed * 7919 + t["index"])
    shape, dist = t["shape"], t["dist"]
    low, high = t["range"] if t["range"] else (None, None)

    def uniform(a, b):
        return torch.rand(shape, generator=generator, dtype=torch.float64) * (b - a) + a

    if dist == "uniform":
        v = uniform(*(t["range"] or (0, 1)))
    elif dist == "integers":
        a, b = t["range"] or (0, 7)
        v = torch.randint(int(a), int(b) + 1, shape, generator=generator)
    elif dist == "bernoulli":
        v = uniform(0, 1) < (0.5 if low is None else low)
    elif dist == "probabilities":
        v = uniform(0.05, 1)
        v = v / v.sum(-1, keepdim=True) if v.dim() else v
    elif dist == "permutation":
        v = torch.rand(shape, generator=generator).argsort(-1)
    elif dist in ("ones", "zeros"):
        v = torch.full(shape, float(dist == "ones"), dtype=torch.float64)
    else:
        v = torch.randn(shape, generator=generator, dtype=torch.float64)
        v = v.abs() + 0.1 if dist == "positive" else v if low is None else v * high + low
    return v.to(dtype)


class Audit:
    def __init__(self, request, evaluate, dtypes):
        self.request, self.dtypes, self.found = request, dtypes, []
        self.inputs, self.outputs = request["inputs"], request["outputs"]
        for i, t in enumerate(self.inputs):
            t["index"] = i
        self.values = {t["name"]: self.draw(t, 1) for t in self.inputs}
        self.run = lambda values: [t.detach().to(torch.float64, copy=True) for t in evaluate(
            {name: v.clone() for name, v in values.items()})]

    def draw(self, t, seed):
        return drawn(t, self.dtypes[t["dtype"]], seed)

    def label(self, text, *args):
        if text % args not in self.found:
            self.found.append(text % args)

    def labels(self):
        first, began = self.run(self.values), time.monotonic()
        again = self.run(self.values)
        took = time.monotonic() - began
        other = self.run({t["name"]: self.draw(t, 2) for t in self.inputs})
        steady = []
        for want, x, y, z in zip(self.outputs, first, again, other):
            if not close(x, y):
                self.label("nondeterministic: '%s' differs between two evaluations", want["name"])
            else:
                steady.append(want["name"])
            self.value(want, x, z)
            self.scale(want, x)
        self.conditioned(first, steady)
        self.dependence(first, took)
        return self.found

    def conditioned(self, first, steady):
        """Where the last place of an f32 input decides, no kernel can be held against the reference."""
        generator = torch.Generator().manual_seed(5)

        def moved(v):
            return v.double() * (1 + 6e-8 * torch.randn(v.shape, generator=generator)) if v.is_floating_point() else v

        results = self.run({name: moved(v) for name, v in self.values.items()})
        for want, x, y in zip(self.outputs, first, results):
            there = x.isfinite() & y.isfinite()
            if want["name"] not in steady:  # what moves it is not known
                continue
            size, off = x[there].square().mean().sqrt().item(), (x - y)[there].square().mean().sqrt().item()
            if size > 0 and off > UNSTEADY * size:
                self.label("ill_conditioned: '%s' moves by %.0f%% of its size when the inputs move in the last place of an f32",
                           want["name"], 100 * off / size)

    def value(self, want, x, other):
        name, n = want["name"], x.numel()
        if n == 0:
            return
        nan, infinite = int(x.isnan().sum()), int(x.isinf().sum())
        if nan:
            self.label("nan_output: %d of %d values of '%s' are NaN with the declared inputs", nan, n, name)
        if infinite:
            self.label("infinite_output: %d of %d values of '%s' are infinite with the declared inputs", infinite, n, name)
        first = bool((x == x.flatten()[0]).all())
        if bool((x == 0).all()):
            self.label("zero_output: '%s' is 0 everywhere", name)
        elif same(x, other) and first:
            self.label("constant_output: '%s' is %g whatever the inputs are", name, x.flatten()[0].item())
        elif same(x, other):
            self.label("constant_output: '%s' does not change with the inputs", name)
        elif first and n > 8:
            self.label("constant_output: all values of '%s' are the same (%g)", name, x.flatten()[0].item())

    def scale(self, want, x):
        """Returning zeros must not pass."""
        finite = x[x.isfinite()]
        if not want["dtype"].startswith(("f", "bf")) or finite.numel() == 0:
            return
        most, case = finite.abs().max().item(), self.request["case"]
        if most == 0:
            return
        if self.request["atol"] >= most:
            self.label("zeros_pass: the tolerance of %g accepts zeros; the largest value of '%s' is %.3g (%s)", self.request["atol"],
                       want["name"], most, case)
        elif most <= COMMON_ATOL:
            self.label("small_output: the largest value of '%s' is %.3g (%s); an absolute tolerance of %g would accept zeros",
                       want["name"], most, case, COMMON_ATOL)

    def dependence(self, first, took):
        """Which inputs change something: one at a time is filled anew."""
        end, passed = time.monotonic() + SECONDS, 0
        for t in self.inputs:
            if math.prod(t["shape"]) == 0:
                continue
            if time.monotonic() + took > end:
                passed += 1
                continue
            changed = [self.draw(t, seed) for seed in SEEDS]
            if all(same(c, self.values[t["name"]]) for c in changed):
                self.label("constant_input: '%s' always holds the same values", t["name"])
            elif not any(self.matters(t["name"], c, first) for c in changed):
                self.label("ignores_input: no output depends on '%s'", t["name"])
        if passed:
            self.label("not_evaluated: whether %d of the %d inputs matter takes too long to find out", passed, len(self.inputs))

    def matters(self, name, value, first):
        return any(not same(x, y) for x, y in zip(first, self.run({**self.values, name: value})))


def same(x, y):
    return x.shape == y.shape and bool(((x == y) | (x.isnan() & y.isnan()) if x.is_floating_point() else x == y).all())


def close(x, y):
    """Threads may add in another order."""
    if x.shape != y.shape:
        return False
    finite = x[x.isfinite()]
    most = finite.abs().max().item() if finite.numel() else 0.0
    return torch.allclose(x, y, rtol=1e-6, atol=1e-12 * most, equal_nan=True)


def labels(request, evaluate, dtypes):
    return Audit(request, evaluate, dtypes).labels()
