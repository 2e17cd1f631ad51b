"""How tensors were made, seen while they are made.

Problems make gigabytes of random numbers of which only the shape, the dtype and the distribution matter. Under `Making`
tensors over LIMIT elements have no memory (device "meta"), and for each tensor it is remembered what its values are: from the
call itself where it says so, as torch.rand does, else from a sample of values that goes through the same calls.

    with Making() as making:
        x = torch.rand(1 << 20, 1 << 20) * 2 - 1
    making.describe(x)   # {"dist": "uniform", "range": [-1, 1]}
"""
import math

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_map

from kwright.watching import Watching

LIMIT = 1 << 20     # elements; what is larger has no memory
SAMPLE = 4096       # values that stand for such a tensor
CREATES = {"zeros": 0.0, "zeros_like": 0.0, "new_zeros": 0.0, "zero": 0.0,
           "ones": 1.0, "ones_like": 1.0, "new_ones": 1.0}
KEEPS = {"clone", "detach", "alias", "contiguous", "_unsafe_view", "reshape", "view", "expand", "repeat", "flip", "roll",
         "_reshape_alias", "lift_fresh", "lift", "lift_fresh_copy", "permute", "transpose", "t", "index_select", "slice",
         "select", "unsqueeze", "squeeze", "set_data", "copy", "_to_copy", "narrow", "as_strided", "unbind", "split"}


class Origin:
    """What the values of a tensor are: kind and range, or a sample; structure: "triu", "tril", "symmetric"."""

    def __init__(self, kind, low=0.0, high=1.0, exact=True, structure=None, sample=None, values=None):
        self.kind, self.low, self.high, self.exact = kind, float(low), float(high), exact
        self.structure, self.sample, self.values = structure, sample, values

    def but(self, **changes):
        fields = dict(kind=self.kind, low=self.low, high=self.high, exact=self.exact, structure=self.structure,
                      sample=self.sample, values=self.values)
        fields.update(changes)
        return Origin(**fields)

    def draw(self):
        """SAMPLE values, one-dimensional, in f32."""
        if self.sample is not None:
            return self.sample
        n = SAMPLE
        if self.kind == "normal":
            return torch.randn(n) * self.high + self.low
        if self.kind == "uniform":
            return torch.rand(n) * (self.high - self.low) + self.low
        if self.kind == "integers" and self.values:
            return torch.tensor(self.values)[torch.randint(0, len(self.values), (n,))].float()
        if self.kind in ("integers", "permutation"):
            return torch.randint(int(self.low), int(self.high) + 1, (n,)).float()
        if self.kind == "bernoulli":
            return (torch.rand(n) < self.low).float()
        if self.kind == "constant":
            return torch.full((n,), self.low)
        return torch.rand(n)


def of_sample(values, exact=False, structure=None):
    """The nearest of normal and uniform, or whole numbers, to a few values."""
    v = values.detach().flatten()
    if v.is_complex() or v.numel() == 0:
        return Origin("normal", 0, 1, exact=False, structure=structure)
    whole = not v.dtype.is_floating_point
    if v.dtype == torch.bool:
        p = v.float().mean().item()
        return Origin("bernoulli", p, p, exact=False, structure=structure)
    v = v.double()
    v = v[torch.isfinite(v)]
    if v.numel() == 0:
        return Origin("normal", 0, 1, exact=False, structure=structure)
    low, high = v.min().item(), v.max().item()
    if low == high:
        return Origin("constant", low, low, exact=exact, structure=structure)
    if whole or bool((v == v.round()).all()):
        few = torch.unique(v)
        values = few.tolist() if few.numel() <= 4 else None
        return Origin("integers", low, high, exact=exact, structure=structure, values=values)
    mean, deviation = v.mean().item(), v.std().item()
    flat = ((v - mean) ** 4).mean().item() / max(deviation ** 4, 1e-300)     # 3 for a normal, 1.8 for a uniform one
    if v.numel() >= 64 and flat > 2.4:
        return Origin("normal", mean, deviation, exact=False, structure=structure, sample=v.float()[:SAMPLE])
    return Origin("uniform", low, high, exact=False, structure=structure, sample=v.float()[:SAMPLE])


def storage_of(tensor):
    return tensor.untyped_storage()._cdata


def on(device, value):
    return value.to(device) if isinstance(value, torch.Tensor) and value.device.type != device else value


def on_cpu(value):
    """A device of any kind as the processor: nothing is made elsewhere."""
    if isinstance(value, torch.device) or isinstance(value, str) and value.split(":")[0] in ("cuda", "hip", "xpu", "mps"):
        return torch.device("cpu")
    return value


class OnCpu(TorchFunctionMode):
    """Files may say device='cuda' where there is none."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.cuda:
            return args[0]
        if func is torch.Tensor.to:
            args = args[:1] + tuple(on_cpu(a) for a in args[1:])
        if "device" in kwargs:
            kwargs["device"] = torch.device("cpu")
        return func(*args, **kwargs)


class Making(Watching):
    def __init__(self, limit=LIMIT):
        super().__init__()
        self.limit = limit
        self.origins = {}       # of a storage
        self.alive = []         # storages, so that no address comes twice
        self.on_cpu = OnCpu()

    def __enter__(self):
        self.on_cpu.__enter__()
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self.on_cpu.__exit__(*error)

    # ---- what is asked for ----

    def origin(self, tensor):
        found = self.origins.get(storage_of(tensor))
        if found:
            return found
        return None if tensor.is_meta else of_sample(tensor.flatten()[:1 << 16], exact=False)

    def describe(self, tensor):
        """dist and range as a task says them. What is constant is varied, so that no kernel can leave it out."""
        o = self.origin(tensor)
        whole = not tensor.dtype.is_floating_point and not tensor.dtype.is_complex
        d = {}
        if o is None:
            o = Origin("normal", 0, 1, exact=False)
            d["guess"] = True
        if tensor.dtype == torch.bool:
            p = o.low if o.kind in ("bernoulli", "constant") else 0.5
            d.update(dist="bernoulli", range=[number(p), number(p)])
        elif o.kind == "constant":
            d.update(varied(o.low, whole))
        elif whole and o.kind not in ("integers", "permutation"):
            low, high = (0, 1) if o.kind == "bernoulli" else extent(o)
            d.update(dist="integers", range=[int(low), int(high)])
        elif o.kind == "permutation":
            d.update(dist="permutation")
        elif o.kind == "probabilities":
            d.update(dist="probabilities")
        else:
            d.update(dist=o.kind, range=[number(o.low), number(o.high)])
            if o.values:
                d["values"] = [number(v) for v in o.values]
        if not o.exact:
            d["sampled"] = True
        if o.structure:
            d["structure"] = o.structure
        return d

    # ---- what happens ----

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if kwargs.get("device") is not None:
            kwargs["device"] = torch.device("cpu")
        tensors = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)]
        out = self.run(func, args, kwargs, tensors)
        try:
            self.note(func, args, kwargs, tensors, out)
        except (RuntimeError, ValueError, TypeError, IndexError, KeyError):
            pass                # its values are then told from the values themselves
        return out

    def run(self, func, args, kwargs, tensors):
        in_place = func._schema.name.endswith("_") or "out" in kwargs
        if any(t.is_meta for t in tensors):
            if in_place and not args[0].is_meta:
                self.origins.pop(storage_of(args[0]), None)
                return args[0]
            args, kwargs = tree_map(lambda v: on("meta", v), (args, kwargs))
            if "device" in kwargs:
                kwargs["device"] = torch.device("meta")
            return func(*args, **kwargs)
        if in_place:
            return func(*args, **kwargs)
        large = self.large(func, args, kwargs, tensors)
        return func(*args, **kwargs) if large is None else large

    def large(self, func, args, kwargs, tensors):
        """The result without memory, if it would be over the limit."""
        if not tensors and not any(a.name == "device" for a in func._schema.arguments):
            return None
        try:
            a, k = tree_map(lambda v: on("meta", v), (args, kwargs))
            if any(x.name == "device" for x in func._schema.arguments):
                k["device"] = torch.device("meta")
            if any(x.name == "pin_memory" for x in func._schema.arguments):
                k.pop("pin_memory", None)
            out = func(*a, **k)
        except Exception:       # no such form of it: then it is made
            return None
        sizes = [t.numel() for t in tree_flatten(out)[0] if isinstance(t, torch.Tensor)]
        return out if sizes and max(sizes) > self.limit else None

    def note(self, func, args, kwargs, tensors, out):
        name = func._schema.name.split("::")[-1]
        in_place = name.endswith("_") and not name.endswith("__")
        results = [t for t in tree_flatten(out)[0] if isinstance(t, torch.Tensor)]
        if not results:
            return
        given = {a.name: v for a, v in zip(func._schema.arguments, args)}
        given.update(kwargs)
        base = name.rstrip("_") if in_place else name
        seen = {storage_of(t) for t in tensors}
        if not in_place and all(storage_of(t) in seen for t in results):
            return              # a view of what is known
        origin = self.made(base, given, tensors, results[0], func)
        for t in results:
            key = storage_of(t)
            self.alive.append(t.untyped_storage())
            part = in_place and t.numel() * t.element_size() < t.untyped_storage().nbytes()
            if part and self.origins.get(key) is not None:
                self.origins[key] = self.origins[key].but(exact=False)
            elif origin is None:
                self.origins.pop(key, None)
            else:
                self.origins[key] = origin

    def made(self, base, given, tensors, result, func):
        """What a call gives; None: not known."""
        if base in CREATES:
            return Origin("constant", CREATES[base], CREATES[base])
        if base in ("full", "full_like", "new_full", "scalar_tensor", "fill"):
            v = given.get("fill_value", given.get("value", given.get("s", 0)))
            v = v.item() if isinstance(v, torch.Tensor) else v
            return Origin("constant", v, v)
        if base in ("rand", "rand_like"):
            return Origin("uniform", 0, 1)
        if base in ("randn", "randn_like"):
            return Origin("normal", 0, 1)
        if base == "normal" and not [t for t in tensors if t is not result]:
            return Origin("normal", given.get("mean", 0), given.get("std", 1))
        if base == "uniform":
            return Origin("uniform", given.get("from", 0), given.get("to", 1))
        if base in ("randint", "randint_like"):
            return Origin("integers", given.get("low", 0), given["high"] - 1)
        if base == "random" and given.get("to") is not None:
            return Origin("integers", given.get("from", 0) or 0, given["to"] - 1)
        if base == "randperm":
            return Origin("permutation", 0, result.numel() - 1)
        if base == "bernoulli" and isinstance(given.get("p"), float):
            return Origin("bernoulli", given["p"], given["p"])
        if not tensors:
            return None
        return self.changed(base, given, tensors, result, func)

    def changed(self, base, given, tensors, result, func):
        first = self.origin(tensors[0])
        if base == "copy":
            first = self.origin(tensors[-1])
        if first is None:
            return None
        if base in KEEPS:
            return converted(first, tensors[-1 if base == "copy" else 0].dtype, result.dtype)
        if base in ("triu", "tril") and not given.get("diagonal"):
            return first.but(structure=base)
        if base == "_softmax":
            last = given["dim"] in (-1, result.dim() - 1)
            return Origin("probabilities", exact=True) if last else None
        scalar = given.get("other")
        if isinstance(scalar, torch.Tensor):
            scalar = scalar.item() if scalar.dim() == 0 and not scalar.is_meta else None
        if base in ("mul", "div", "add", "sub", "rsub", "neg") and (base == "neg" or isinstance(scalar, (int, float))) and \
                not given.get("rounding_mode"):
            moved = affine(first, base, scalar, given.get("alpha", 1))
            if moved is not None and result.dtype.is_floating_point:
                return moved
        if base in ("gt", "ge", "lt", "le") and first.kind == "uniform" and isinstance(scalar, (int, float)):
            share = min(max((scalar - first.low) / (first.high - first.low), 0.0), 1.0)
            p = share if base in ("lt", "le") else 1 - share
            return Origin("bernoulli", p, p)
        if torch.Tag.pointwise in func.tags:
            return self.pointwise(given, tensors, func)
        return None

    def pointwise(self, given, tensors, func):
        structure = None
        if len(tensors) == 2 and storage_of(tensors[0]) == storage_of(tensors[1]) and \
                tensors[0].stride() != tensors[1].stride():
            structure = "symmetric"

        def sample(v):
            if not isinstance(v, torch.Tensor):
                return v
            o = self.origin(v)
            s = (o or Origin("uniform")).draw()
            return s[torch.randperm(s.numel())].to(v.dtype)
        with torch.utils._python_dispatch._disable_current_modes():
            values = func(*[sample(v) for v in given.values()]) if all(
                not a.kwarg_only for a in func._schema.arguments if a.name in given) else \
                func(**{k: sample(v) for k, v in given.items()})
        return of_sample(values, structure=structure)


def affine(o, base, scalar, alpha):
    """The origin of a o + b; None where it has no name."""
    a, b = {"mul": lambda: (scalar, 0), "div": lambda: (1 / scalar, 0), "add": lambda: (1, scalar * alpha),
            "sub": lambda: (1, -scalar * alpha), "rsub": lambda: (-alpha, scalar), "neg": lambda: (-1, 0)}[base]()
    if o.kind == "constant":
        return o.but(low=a * o.low + b, high=a * o.low + b)
    if o.kind == "normal":
        return o.but(low=a * o.low + b, high=abs(a) * o.high, sample=None)
    if o.kind == "uniform":
        ends = sorted((a * o.low + b, a * o.high + b))
        return o.but(low=ends[0], high=ends[1], sample=None)
    if o.kind in ("integers", "bernoulli"):
        values = o.values or ([0.0, 1.0] if o.kind == "bernoulli" else
                              [float(v) for v in range(int(o.low), int(o.high) + 1)] if o.high - o.low < 64 else None)
        if values is None:
            return None
        values = sorted(a * v + b for v in values)
        if any(v != round(v) for v in values):
            return None
        steps = {y - x for x, y in zip(values, values[1:])}
        return Origin("integers", values[0], values[-1], values=None if steps <= {1.0} else values)
    return None


def converted(o, before, after):
    if before == after or before.is_floating_point == after.is_floating_point and after != torch.bool:
        return o
    if after == torch.bool:
        if o.kind == "integers":
            n = o.high - o.low + 1
            p = 1 - (1 / n if o.low <= 0 <= o.high else 0)
        else:
            p = (o.draw() != 0).float().mean().item()
        return Origin("bernoulli", p, p, exact=o.exact)
    if after.is_floating_point:
        return o
    if o.kind in ("integers", "constant", "bernoulli"):
        return o
    low, high = extent(o)
    return Origin("integers", math.trunc(low), math.trunc(math.nextafter(high, low) if o.kind == "uniform" else high),
                  exact=o.exact)


def extent(o):
    if o.kind == "normal":
        return o.low - 3 * o.high, o.low + 3 * o.high
    return o.low, o.high


def varied(value, whole):
    """A constant input could be left out by a kernel; around it nothing can."""
    if whole:
        return {"dist": "integers", "range": [int(value), int(value)], "constant": int(value)}
    if value == 0:
        return {"dist": "normal", "range": [0, 0.1], "constant": 0}
    ends = sorted((value / 2, value * 1.5))
    return {"dist": "uniform", "range": [number(ends[0]), number(ends[1])], "constant": number(value)}


def number(v):
    v = float("%.6g" % v)
    return int(v) if v == int(v) and abs(v) < 1e15 else v
