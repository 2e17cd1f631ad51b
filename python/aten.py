"""What each operator of PyTorch's graphs is in the expression language (docs/expressions.md).

A writer gets the call `c` and returns the text of its value, a list of texts where the operator gives several tensors, or
raises Unknown with what is missing. Operators that have a writer stay whole when the graph is taken apart.
"""
import math

import torch

WRITERS = {}
NUMBERS = (int, float, bool)


class Unknown(Exception):
    """An operator that no expression says; the text is for people."""


def writer(*names):
    def add(function):
        for name in names:
            WRITERS[name] = function
        return function
    return add


def base_name(target):
    """("softmax", "int") of aten.softmax.int."""
    schema = getattr(target, "_schema", None)
    if schema is None:
        return getattr(target, "__name__", str(target)), ""
    return schema.name.split("::")[-1], schema.overload_name


def is_known(target):
    schema = getattr(target, "_schema", None)
    return schema is not None and schema.name.startswith("aten::") and not schema.is_mutable and base_name(target)[0] in WRITERS


def literal(v):
    if isinstance(v, bool):
        return "True" if v else "False"
    if isinstance(v, int):
        return str(v)
    if math.isinf(v):
        return "inf" if v > 0 else "-inf"
    return "nan" if math.isnan(v) else repr(float(v))


def tuple_text(values):
    values = [v if isinstance(v, str) else literal(int(v)) for v in values]
    return "(%s,)" % values[0] if len(values) == 1 else "(%s)" % ", ".join(values)


DTYPE_TEXT = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
              torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool"}


def cast(dtype, text):
    if dtype not in DTYPE_TEXT:
        raise Unknown("a conversion to %s" % str(dtype).replace("torch.", ""))
    return "cast(%s, '%s')" % (text, DTYPE_TEXT[dtype])


class Call:
    """One node: its arguments by name, as written in the expression."""

    def __init__(self, to, node):
        self.to, self.node = to, node
        self.name, self.overload = base_name(node.target)
        self.schema = node.target._schema
        self.given = {a.name: (a.default_value if a.has_default_value() else None) for a in self.schema.arguments}
        self.given.update(zip([a.name for a in self.schema.arguments], node.args))
        self.given.update(node.kwargs)
        self.order = [a.name for a in self.schema.arguments]

    def raw(self, key, default=None):
        """The argument itself; by its place where key is a number."""
        key = self.order[key] if isinstance(key, int) else key
        return self.given.get(key, default)

    def text(self, value):
        if isinstance(value, torch.fx.Node):
            t = self.to.text[value]
            return t[0] if isinstance(t, list) else t
        if isinstance(value, NUMBERS):
            t = literal(value)
            return "(%s)" % t if t.startswith("-") else t
        if isinstance(value, (list, tuple)):
            return tuple_text([self.text(v) for v in value])
        if value is None:
            return "None"
        raise Unknown("%s of %s" % (self.name, type(value).__name__))

    def __getitem__(self, key):
        return self.text(self.raw(key))

    def has(self, key):
        return self.raw(key) is not None

    def meta(self, key):
        """The (fake) tensor of an argument."""
        return meta_of(self.raw(key) if isinstance(key, (str, int)) else key)

    @property
    def result(self):
        v = self.node.meta.get("val")
        return v[0] if isinstance(v, (list, tuple)) else v

    def refuse(self, what):
        raise Unknown("%s %s" % (self.name, what))

    def want(self, holds, what):
        if not holds:
            self.refuse(what)

    def step(self, text, hint="t"):
        """A statement of its own; gives its name."""
        if text.isidentifier():
            return text
        name = self.to.fresh("%s_%s" % (self.node.name, hint))
        self.to.lines.append("%s = %s" % (name, text))
        return name

    def fresh(self, hint):
        return self.to.fresh("%s_%s" % (self.node.name, hint))


def meta_of(value):
    if not isinstance(value, torch.fx.Node):
        return value
    v = value.meta.get("val")
    return v[0] if isinstance(v, (list, tuple)) else v


def write(to, node):
    """The text of a node's value."""
    if getattr(node.target, "__name__", "") == "getitem":
        return part(to, node)
    if not hasattr(node.target, "_schema"):
        raise Unknown(getattr(node.target, "__name__", str(node.target)))
    name = base_name(node.target)[0]
    val = node.meta.get("val")
    if name in WRITERS and node.target._schema.name.startswith("aten::"):
        if any("?" == to.text.get(n) for n in node.all_input_nodes):
            pass                            # its operand is not known; this one is
        return WRITERS[name](Call(to, node))
    if not isinstance(val, (torch.Tensor, list, tuple)) and name.startswith(("_assert", "sym_")):
        return None
    raise Unknown(str(node.target))


def part(to, node):
    whole, index = node.args
    texts = to.text[whole]
    if texts == "?":
        return "?"
    if not isinstance(texts, list) or index >= len(texts) or texts[index] is None:
        raise Unknown("part %d of %s" % (index, whole.target))
    return texts[index]


def slice_text(x, start, end, step, axis):
    return "slice(%s, %d, %d%s, axis=%d)" % (x, start, end, ", %d" % step if step != 1 else "", axis)


def pad_text(x, widths, value):
    return "pad(%s, (%s,), %s)" % (x, ", ".join("(%d, %d)" % w for w in widths), literal(float(value)))


AT_ONCE = 64    # tensors of one call of the expression language


def joined(parts, axis):
    """All in one along an axis, in several steps where a call does not take so many."""
    while len(parts) > 1:
        groups = [parts[i:i + AT_ONCE] for i in range(0, len(parts), AT_ONCE)]
        parts = ["concat((%s,), axis=%d)" % (", ".join(g), axis) for g in groups]
    return parts[0]


# ---- elementwise ----

SAME = {"exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
        "sqrt": "sqrt", "rsqrt": "rsqrt", "reciprocal": "reciprocal", "sin": "sin", "cos": "cos", "tan": "tan",
        "atan": "arctan", "arctan": "arctan", "tanh": "tanh", "erf": "erf", "sigmoid": "sigmoid", "relu": "relu",
        "abs": "abs", "absolute": "abs", "square": "square", "sign": "sign", "sgn": "sign", "floor": "floor", "ceil": "ceil",
        "trunc": "trunc", "fix": "trunc", "isnan": "isnan", "silu": "silu", "mish": "mish", "selu": "selu",
        "softsign": "softsign", "hardsigmoid": "hardsigmoid", "hardswish": "hardswish", "relu6": "relu6",
        "log_sigmoid": "logsigmoid", "bitwise_not": "bitwise_not"}


@writer(*SAME)
def same(c):
    return "%s(%s)" % (SAME[c.name], c[0])


SAID = {"neg": "-{0}", "negative": "-{0}", "positive": "{0}", "erfc": "1 - erf({0})", "sinh": "(exp({0}) - exp(-{0})) / 2",
        "cosh": "(exp({0}) + exp(-{0})) / 2", "isinf": "abs({0}) == inf", "isfinite": "abs({0}) < inf",
        "frac": "{0} - trunc({0})", "tanhshrink": "{0} - tanh({0})", "rad2deg": "{0} * (180 / pi)",
        "deg2rad": "{0} * (pi / 180)", "signbit": "{0} < 0",
        "asinh": "sign({0}) * log(abs({0}) + sqrt({0} * {0} + 1))", "acosh": "log({0} + sqrt({0} * {0} - 1))",
        "atanh": "(log1p({0}) - log1p(-{0})) / 2", "asin": "arctan({0} / sqrt(1 - {0} * {0}))",
        "acos": "pi / 2 - arctan({0} / sqrt(1 - {0} * {0}))", "sinc": "where({0} == 0, 1, sin(pi * {0}) / (pi * {0}))"}


@writer(*SAID)
def said(c):
    x = c[0]
    return SAID[c.name].format(x if x.isidentifier() else "(%s)" % x)


@writer("round")
def round_(c):
    c.want(not c.raw("decimals", 0), "to decimals")
    return "round(%s)" % c[0]


BINARY = {"mul": "*", "multiply": "*", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
          "bitwise_and": "&", "bitwise_or": "|", "__and__": "&", "__or__": "|"}


@writer(*BINARY)
def binary(c):
    return "%s %s %s" % (c[0], BINARY[c.name], c[1])


def scaled(c, x, alpha):
    return x if alpha in (1, None) else "%s * %s" % (x, c.text(alpha))


@writer("add", "sub", "subtract")
def add(c):
    bools = [m for m in (c.meta(0), c.meta(1)) if isinstance(m, torch.Tensor) and m.dtype == torch.bool]
    if len(bools) == 2:
        return "%s | %s" % (c[0], c[1])
    return "%s %s %s" % (c[0], "+" if c.name == "add" else "-", scaled(c, c[1], c.raw("alpha", 1)))


@writer("rsub")
def rsub(c):
    return "%s - %s" % (c[1], scaled(c, c[0], c.raw("alpha", 1)))


@writer("div", "divide", "true_divide")
def div(c):
    mode = c.raw("rounding_mode")
    if mode == "floor":
        return "floor(%s / %s)" % (c[0], c[1]) if c.result.dtype.is_floating_point else "%s // %s" % (c[0], c[1])
    if mode == "trunc":
        return cast(c.result.dtype, "trunc(%s / %s)" % (c[0], c[1]))
    return "%s / %s" % (c[0], c[1])


@writer("floor_divide")
def floor_divide(c):
    return "%s // %s" % (c[0], c[1])


@writer("remainder")
def remainder(c):
    return "%s %% %s" % (c[0], c[1])


@writer("fmod")
def fmod(c):
    return "%s - trunc(%s / %s) * %s" % (c[0], c[0], c[1], c[1])


@writer("pow", "float_power")
def pow_(c):
    return "%s ** %s" % (c[0], c[1])


@writer("maximum", "minimum")
def larger(c):
    return "%s(%s, %s)" % (c.name, c[0], c[1])


@writer("fmax", "fmin")
def fmax(c):
    x, y = c.step(c[0], "a"), c.step(c[1], "b")
    return "where(isnan({0}), {1}, where(isnan({1}), {0}, {2}({0}, {1})))".format(x, y, "maximum" if c.name == "fmax" else "minimum")


@writer("logical_and", "logical_or", "logical_xor", "bitwise_xor", "__xor__")
def logical(c):
    sides = [t if m.dtype == torch.bool else "(%s != 0)" % t for t, m in ((c[0], c.meta(0)), (c[1], c.meta(1)))]
    if "xor" in c.name:
        c.want(c.name == "logical_xor" or c.meta(0).dtype == torch.bool, "of whole numbers")
        return "%s != %s" % tuple(sides)
    return "%s %s %s" % (sides[0], "&" if "and" in c.name else "|", sides[1])


@writer("logical_not")
def logical_not(c):
    return "logical_not(%s)" % c[0] if c.meta(0).dtype == torch.bool else "%s == 0" % c[0]


@writer("hypot")
def hypot(c):
    return "sqrt({0} * {0} + {1} * {1})".format(c[0], c[1])


@writer("xlogy")
def xlogy(c):
    return "where({0} == 0, 0, {0} * log({1}))".format(c[0], c[1])


@writer("logaddexp")
def logaddexp(c):
    return "maximum({0}, {1}) + log1p(exp(-abs({0} - {1})))".format(c[0], c[1])


@writer("addcmul", "addcdiv")
def addcmul(c):
    value = c.raw("value", 1)
    return "%s + %s%s %s %s" % (c[0], "" if value == 1 else c.text(value) + " * ", c[1], "*" if c.name == "addcmul" else "/", c[2])


@writer("lerp")
def lerp(c):
    return "{0} + {2} * ({1} - {0})".format(c[0], c[1], c[2])


@writer("where")
def where(c):
    c.want(c.has(1), "with one argument")
    return "where(%s, %s, %s)" % (c[0], c[1], c[2])


@writer("masked_fill")
def masked_fill(c):
    return "where(%s, %s, %s)" % (c["mask"], c["value"], c[0])


@writer("clamp", "clip")
def clamp(c):
    numbers = all(c.raw(k) is None or isinstance(c.raw(k), NUMBERS) for k in ("min", "max"))
    if numbers:
        return "clip(%s, %s, %s)" % (c[0], c["min"], c["max"])
    x = c[0]
    if c.has("min"):
        x = "maximum(%s, %s)" % (x, c["min"])
    return "minimum(%s, %s)" % (x, c["max"]) if c.has("max") else x


@writer("clamp_min", "clamp_max")
def clamp_one(c):
    return "%s(%s, %s)" % ("maximum" if c.name == "clamp_min" else "minimum", c[0], c[1])


@writer("gelu")
def gelu(c):
    return "gelu(%s, approximate='%s')" % (c[0], c.raw("approximate", "none"))


@writer("softplus")
def softplus(c):
    beta, threshold = c.raw("beta", 1), c.raw("threshold", 20)
    plain = "softplus(%s, beta=%s)" % (c[0], c.text(float(beta)))
    # beyond beta * x = 20 PyTorch gives x itself, which differs by less than 2e-9
    return plain if threshold >= 20 else "where(%s * %s > %s, %s, %s)" % (c[0], c.text(beta), c.text(threshold), c[0], plain)


@writer("leaky_relu")
def leaky_relu(c):
    return "leaky_relu(%s, negative_slope=%s)" % (c[0], c["negative_slope"])


@writer("rrelu")
def rrelu(c):
    c.want(not c.raw("training", False), "draws random slopes in train mode")
    return "leaky_relu(%s, negative_slope=%s)" % (c[0], c.text((c.raw("lower") + c.raw("upper")) / 2))


@writer("elu")
def elu(c):
    scale, input_scale = c.raw("scale", 1), c.raw("input_scale", 1)
    if scale == 1 and input_scale == 1:
        return "elu(%s, alpha=%s)" % (c[0], c["alpha"])
    return "%s * where(%s > 0, %s, %s * expm1(minimum(%s, 0) * %s))" % (
        c.text(scale), c[0], c[0], c["alpha"], c[0], c.text(input_scale))


@writer("celu")
def celu(c):
    return "where({0} > 0, {0}, {1} * expm1(minimum({0}, 0) / {1}))".format(c[0], c["alpha"])


@writer("hardtanh")
def hardtanh(c):
    return "hardtanh(%s, min_val=%s, max_val=%s)" % (c[0], c["min_val"], c["max_val"])


@writer("threshold")
def threshold(c):
    return "where(%s > %s, %s, %s)" % (c[0], c["threshold"], c[0], c["value"])


@writer("prelu", "_prelu_kernel")
def prelu(c):
    weight, rank = c.meta(1), c.meta(0).dim()
    w = c[1]
    if weight.dim() == 1 and weight.numel() > 1 and rank > 1:
        w = "reshape(%s, %s)" % (w, tuple_text([-1 if i == 1 else 1 for i in range(rank)]))
    elif weight.dim() > rank:
        w = "reshape(%s, ())" % w
    return "where(%s < 0, %s * %s, %s)" % (c[0], c[0], w, c[0])


@writer("softshrink")
def softshrink(c):
    return "where({0} > {1}, {0} - {1}, where({0} < -{1}, {0} + {1}, 0 * {0}))".format(c[0], c["lambd"])


@writer("hardshrink")
def hardshrink(c):
    return "where(abs({0}) > {1}, {0}, 0 * {0})".format(c[0], c["lambd"])


@writer("glu")
def glu(c):
    dim = c.raw("dim", -1)
    half = c.meta(0).shape[dim] // 2
    return "{0} * sigmoid({1})".format(slice_text(c[0], 0, half, 1, dim), slice_text(c[0], half, 2 * half, 1, dim))


@writer("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout", "native_dropout")
def dropout(c):
    p, train = c.raw("p", 0.5), c.raw("train", True)
    if p == 0 or train is False:
        return c[0]
    c.refuse("p=%s in train mode: random" % literal(p))


@writer("rand", "randn", "randint", "bernoulli", "rand_like", "randn_like", "normal", "multinomial", "randperm", "uniform")
def random(c):
    c.refuse("draws random numbers")


# ---- dtypes and copies ----

@writer("_to_copy", "to", "type_as")
def to(c):
    before, after = c.meta(0).dtype, c.result.dtype
    return c[0] if before == after else cast(after, c[0])


@writer("clone", "contiguous", "detach", "alias", "lift_fresh_copy", "detach_", "lift", "lift_fresh")
def copy(c):
    return c[0]


@writer("copy")
def copy_into(c):
    x, source, into = c[1], c.meta(1), c.meta(0)
    if source.dtype != into.dtype:
        x = cast(into.dtype, x)
    return x if source.shape == into.shape else "broadcast_to(%s, %s)" % (x, tuple_text(into.shape))


# ---- reductions ----

def axes_text(c, key="dim"):
    dim = c.raw(key)
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return ""
    return ", axis=%s" % (tuple_text(dim) if isinstance(dim, (list, tuple)) else literal(dim))


def keep_text(c):
    return ", keepdims=True" if c.raw("keepdim", False) else ""


def reduced(c, name, x, more=""):
    if c.meta(0).dim() == 0 and name not in ("argmax", "argmin"):
        x, more = "reshape(%s, (1,))" % x, more
        return "%s(%s%s)" % (name, x, more)
    return "%s(%s%s%s%s)" % (name, x, axes_text(c), keep_text(c), more)


@writer("sum", "mean", "amax", "amin", "any", "all", "prod", "logsumexp")
def reduction(c):
    x, dtype = c[0], c.raw("dtype")
    if dtype is not None and dtype != c.meta(0).dtype:
        x = cast(dtype, x)
    if c.name in ("any", "all") and c.meta(0).dtype != torch.bool:
        x = "%s != 0" % x
    return reduced(c, {"amax": "max", "amin": "min"}.get(c.name, c.name), x)


@writer("max", "min")
def extreme(c):
    if c.overload in ("other",):
        return "%s(%s, %s)" % ("maximum" if c.name == "max" else "minimum", c[0], c[1])
    if c.overload == "dim":
        return [reduced(c, c.name, c[0]), reduced(c, "arg" + c.name, c[0])]
    return "%s(%s)" % (c.name, c[0])


@writer("aminmax")
def aminmax(c):
    return [reduced(c, "min", c[0]), reduced(c, "max", c[0])]


@writer("argmax", "argmin")
def arg(c):
    if not c.has("dim"):
        return "%s(flatten(%s), axis=0)" % (c.name, c[0])
    return reduced(c, c.name, c[0])


@writer("var", "std", "var_mean", "std_mean")
def var(c):
    correction = c.raw("correction")
    if correction is None:
        correction = 1 if c.raw("unbiased", True) else 0
    texts = [reduced(c, c.name.split("_")[0], c[0], ", correction=%s" % literal(int(correction)))]
    if "mean" in c.name:
        return texts + [reduced(c, "mean", c[0])]
    return texts[0]


@writer("linalg_vector_norm", "norm", "linalg_norm", "frobenius_norm")
def norm(c):
    order = c.raw("p" if c.name == "norm" else "ord", 2)
    if c.name == "frobenius_norm" or order is None:
        order = 2
    c.want(isinstance(order, NUMBERS), "of order %s" % order)
    c.want(c.name != "linalg_norm" or c.raw("dim") is None or isinstance(c.raw("dim"), int) or len(c.raw("dim")) == 1,
           "of matrices")
    if order in (1, 2) or order == math.inf:
        return reduced(c, "norm", c[0], ", ord=%s" % ("inf" if order == math.inf else int(order)))
    if order == -math.inf:
        return reduced(c, "min", "abs(%s)" % c[0])
    if order == 0:
        return reduced(c, "sum", "where(%s != 0, 1.0, 0.0)" % c[0])
    return "%s ** %s" % (reduced(c, "sum", "abs(%s) ** %s" % (c[0], literal(order))), literal(1 / order))


@writer("count_nonzero")
def count_nonzero(c):
    return reduced(c, "sum", "i64(%s != 0)" % c[0])


@writer("cumsum", "cumprod")
def scan(c):
    x, dtype = c[0], c.raw("dtype")
    if dtype is not None and dtype != c.meta(0).dtype:
        x = cast(dtype, x)
    elif c.meta(0).dtype != c.result.dtype:
        x = cast(c.result.dtype, x)
    return "%s(%s, axis=%s)" % (c.name, x, literal(c.raw("dim")))


@writer("cummax")
def cummax(c):
    return ["cummax(%s, axis=%s)" % (c[0], literal(c.raw("dim"))), None]


@writer("cummin")
def cummin(c):
    return ["-cummax(-%s, axis=%s)" % (c[0], literal(c.raw("dim"))), None]


@writer("logcumsumexp")
def logcumsumexp(c):
    dim = literal(c.raw("dim"))
    m = c.step("max(%s, axis=%s, keepdims=True)" % (c[0], dim), "m")
    return "log(cumsum(exp(%s - %s), axis=%s)) + %s" % (c[0], m, dim, m)


@writer("topk", "sort", "argsort")
def topk(c):
    dim, shape = c.raw("dim", -1), c.meta(0).shape
    k = c.raw("k") if c.name == "topk" else shape[dim]
    falling = c.raw("largest", True) if c.name == "topk" else c.raw("descending", False)
    c.want(c.meta(0).dim() > 0, "of a number")
    values, indices = c.fresh("values"), c.fresh("indices")
    x = c[0] if falling else "-%s" % c[0]
    c.to.lines.append("%s, %s = topk(%s, %d, axis=%d)" % (values, indices, x, k, dim))
    if c.name == "argsort":
        return indices
    return [values if falling else "-%s" % values, indices]
