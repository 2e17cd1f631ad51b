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


# ---- softmax, norms, losses ----

@writer("softmax", "_softmax", "log_softmax", "_log_softmax", "_safe_softmax")
def softmax(c):
    x, dtype = c[0], c.raw("dtype")
    if isinstance(dtype, torch.dtype) and dtype != c.meta(0).dtype:
        x = cast(dtype, x)
    return "%s(%s, axis=%s)" % ("log_softmax" if "log" in c.name else "softmax", x, literal(c.raw("dim")))


def given(c, **names):
    """", weight=w" for each argument that is there."""
    return "".join(", %s=%s" % (to_name, c[key]) for to_name, key in names.items() if c.has(key))


@writer("layer_norm", "native_layer_norm")
def layer_norm(c):
    text = "layer_norm(%s, %s%s, eps=%s)" % (c[0], tuple_text(c.raw("normalized_shape")), given(c, weight="weight", bias="bias"),
                                            literal(c.raw("eps", 1e-5)))
    return text if c.name == "layer_norm" else [text, None, None]


@writer("rms_norm", "_fused_rms_norm")
def rms_norm(c):
    count = len(c.raw("normalized_shape"))
    eps = c.raw("eps")
    eps = torch.finfo(c.meta(0).dtype).eps if eps is None else eps
    text = "rmsnorm(%s%s, axis=%s, eps=%s)" % (c[0], given(c, weight="weight"), tuple_text(range(-count, 0)), literal(eps))
    return [text, None] if c.name == "_fused_rms_norm" else text


@writer("group_norm", "native_group_norm")
def group_norm(c):
    text = "groupnorm(%s, %d%s, eps=%s)" % (c[0], c.raw("num_groups" if c.name == "group_norm" else "group"),
                                           given(c, weight="weight", bias="bias"), literal(c.raw("eps", 1e-5)))
    return text if c.name == "group_norm" else [text, None, None]


@writer("instance_norm")
def instance_norm(c):
    if not c.raw("use_input_stats", True):
        return "batchnorm(%s, %s, %s%s, eps=%s)" % (c[0], c["running_mean"], c["running_var"],
                                                    given(c, weight="weight", bias="bias"), literal(c.raw("eps")))
    return "groupnorm(%s, %d%s, eps=%s)" % (c[0], c.meta(0).shape[1], given(c, weight="weight", bias="bias"), literal(c.raw("eps")))


@writer("batch_norm", "native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_functional",
        "_native_batch_norm_legit_no_training", "cudnn_batch_norm", "_batch_norm_no_update", "_batch_norm_with_update_functional")
def batch_norm(c):
    train = c.raw("training", c.name.endswith("functional"))
    if c.name == "_native_batch_norm_legit_no_training" or c.name == "_batch_norm_no_update":
        train = False
    if c.name == "_batch_norm_with_update_functional":
        train = True
    if not train and not c.has("running_mean"):
        train = True
    stats = ", training=True" if train else given(c, running_mean="running_mean", running_var="running_var")
    text = "batchnorm(%s%s%s, eps=%s)" % (c[0], stats, given(c, weight="weight", bias="bias"), literal(c.raw("eps")))
    return text if c.name == "batch_norm" else [text] + [None] * 5


REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}


@writer("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "kl_div")
def loss(c):
    more = {"huber_loss": given(c, delta="delta"), "smooth_l1_loss": given(c, beta="beta"),
            "kl_div": ", log_target=True" if c.raw("log_target", False) else ""}.get(c.name, "")
    x, t = c[0], c[1]
    if c.meta(0).shape != c.meta(1).shape:
        shape = tuple_text(torch.broadcast_shapes(c.meta(0).shape, c.meta(1).shape))
        x, t = "broadcast_to(%s, %s)" % (x, shape), "broadcast_to(%s, %s)" % (t, shape)
    if c.name == "smooth_l1_loss" and c.raw("beta") == 0:
        return "l1_loss(%s, %s, reduction='%s')" % (x, t, REDUCTIONS[c.raw("reduction", 1)])
    return "%s(%s, %s, reduction='%s'%s)" % (c.name, x, t, REDUCTIONS[c.raw("reduction", 1)], more)


@writer("cross_entropy_loss", "nll_loss", "nll_loss_nd", "nll_loss2d", "nll_loss_forward", "nll_loss2d_forward")
def cross_entropy(c):
    c.want(not c.has("weight"), "with weights of classes")
    c.want(not c.raw("label_smoothing", 0.0), "with label smoothing")
    name = "cross_entropy" if c.name == "cross_entropy_loss" else "nll_loss"
    text = "%s(%s, %s, reduction='%s')" % (name, c[0], c[1], REDUCTIONS[c.raw("reduction", 1)])
    return [text, None] if c.name.endswith("forward") else text


@writer("binary_cross_entropy")
def binary_cross_entropy(c):
    one = "-({1} * maximum(log({0}), -100) + (1 - {1}) * maximum(log1p(-{0}), -100))".format(c[0], c[1])
    return weighed(c, one)


@writer("binary_cross_entropy_with_logits")
def bce_with_logits(c):
    c.want(not c.has("pos_weight"), "with weights of classes")
    return weighed(c, "maximum({0}, 0) - {0} * {1} + log1p(exp(-abs({0})))".format(c[0], c[1]))


def weighed(c, one):
    if c.has("weight"):
        one = "%s * (%s)" % (c["weight"], one)
    how = REDUCTIONS[c.raw("reduction", 1)]
    return one if how == "none" else "%s(%s)" % (how, one)


# ---- contractions ----

@writer("matmul", "mm", "bmm", "mv", "dot", "vdot")
def matmul(c):
    return "%s @ %s" % (c[0], c[1])


@writer("linear")
def linear(c):
    if c.meta(1).dim() == 1:
        return "%s @ %s" % (c[0], c[1]) + (" + %s" % c["bias"] if c.has("bias") else "")
    return "linear(%s, %s%s)" % (c[0], c[1], given(c, bias="bias"))


@writer("addmm", "baddbmm", "addmv", "addbmm")
def addmm(c):
    product = "%s @ %s" % (c[1], c[2])
    if c.name == "addbmm":
        product = "sum(%s, axis=0)" % product
    if c.raw("alpha", 1) != 1:
        product = "(%s) * %s" % (product, c["alpha"])
    return product if c.raw("beta", 1) == 0 else "%s + %s" % (scaled(c, c[0], c.raw("beta", 1)), product)


@writer("einsum")
def einsum(c):
    equation, operands = c.raw("equation").replace(" ", ""), c.raw("tensors")
    c.want("." not in equation and "->" in equation and len(operands) <= 8, "with '...' or without '->'")
    return "einsum('%s', %s)" % (equation, ", ".join(c.text(o) for o in operands))


@writer("outer", "ger")
def outer(c):
    return "expand_dims(%s, 1) * %s" % (c[0], c[1])


@writer("_cdist_forward")
def cdist(c):
    p = c.raw("p")
    d = c.step("expand_dims(%s, -2) - expand_dims(%s, -3)" % (c[0], c[1]), "d")
    c.want(p in (1, 2) or p == math.inf, "with p=%s" % literal(p))
    return "norm(%s, ord=%s, axis=-1)" % (d, "inf" if p == math.inf else int(p))


@writer("scaled_dot_product_attention")
def attention(c):
    c.want(not c.raw("dropout_p", 0.0), "with dropout: random")
    q, k, v = c.meta(0), c.meta(1), c.meta(2)
    texts = [c[0], c[1], c[2]]
    lead = torch.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2]) if not c.raw("enable_gqa", False) else None
    for i, t in enumerate((q, k, v)):
        if lead is not None and tuple(t.shape[:-2]) != tuple(lead):
            texts[i] = "broadcast_to(%s, %s)" % (texts[i], tuple_text(list(lead) + list(t.shape[-2:])))
    more = given(c, mask="attn_mask", scale="scale") + (", causal=True" if c.raw("is_causal", False) else "")
    return "attention(%s, %s, %s%s)" % (texts[0], texts[1], texts[2], more)


@writer("lstm", "gru", "rnn_tanh", "rnn_relu")
def recurrent(c):
    """Layers and directions one by one, steps first: the products of the inputs, then the recurrence."""
    c.want(c.overload == "input", "of packed sequences")
    layers, both, first = c.raw("num_layers"), c.raw("bidirectional"), c.raw("batch_first")
    c.want(not c.raw("train") or not c.raw("dropout"), "with dropout in train mode: random")
    lstm = c.name == "lstm"
    states = c.raw("hx") if lstm else [c.raw("hx")]
    weights, biases = list(c.raw("params")), c.raw("has_biases")
    batched = c.meta(0).dim() == 3
    hidden = meta_of(states[0]).shape[-1]
    c.want(meta_of(weights[1]).shape[-1] == hidden, "with a projection")
    x = c[0] if batched else "expand_dims(%s, 1)" % c[0]
    x = c.step("swapaxes(%s, 0, 1)" % x if first and batched else x, "x")
    starts = [c.text(s) if batched else c.step("expand_dims(%s, 1)" % c.text(s), "start") for s in states]
    kinds = 2 if both else 1
    count = 4 if biases else 2
    last = [[] for _ in states]
    for layer in range(layers):
        outs = []
        for direction in range(kinds):
            k = layer * kinds + direction
            given_ = [c.text(w) for w in weights[k * count:(k + 1) * count]]
            out = one_direction(c, x, given_, ["%s[%d]" % (s, k) for s in starts], direction == 1)
            for i, text in enumerate(out):
                last[i].append("%s[%d]" % (text, 0 if direction else meta_steps(c) - 1))
            outs.append(out[0])
        x = outs[0] if kinds == 1 else c.step("concat((%s), axis=2)" % ", ".join(outs), "layer%d" % layer)
    ends = ["stack((%s,), axis=0)" % ", ".join(parts) for parts in last]
    if not batched:
        x, ends = "squeeze(%s, 1)" % x, ["squeeze(%s, 1)" % e for e in ends]
    return [("swapaxes(%s, 0, 1)" % x if first and batched else x)] + ends


def meta_steps(c):
    return c.meta(0).shape[1 if c.raw("batch_first") and c.meta(0).dim() == 3 else 0]


def one_direction(c, x, weights, starts, backward):
    """Names of the states of all steps, and of the cells."""
    if backward:
        x = "flip(%s, axis=0)" % x
    gru = c.name == "gru"
    gates = "linear(%s, %s%s)" % (x, weights[0], ", bias=%s" % weights[2] if len(weights) > 2 else "")
    if len(weights) > 2 and not gru:
        gates += " + %s" % weights[3]
    gates = c.step(gates, "gates")
    if c.name == "lstm":
        names = [c.fresh("states"), c.fresh("cells")]
        c.to.lines.append("%s, %s = lstm(%s, %s, %s, %s)" % (*names, gates, weights[1], starts[0], starts[1]))
    elif gru:
        names = [c.step("gru(%s, %s, %s%s)" % (gates, weights[1], starts[0], ", bias=%s" % weights[3] if len(weights) > 2 else ""))]
    else:
        names = [c.step("rnn(%s, %s, %s%s)" % (gates, weights[1], starts[0], ", activation='relu'" if c.name == "rnn_relu" else ""))]
    return [c.step("flip(%s, axis=0)" % n, "back") for n in names] if backward else names


# ---- convolution and pooling ----

def spatial(c, key, count, default):
    v = c.raw(key)
    v = default if v is None or (isinstance(v, (list, tuple)) and not v) else v
    v = list(v) if isinstance(v, (list, tuple)) else [v]
    return v * count if len(v) == 1 else v


def window_text(names):
    """", stride=(2, 2)" of what is not the default."""
    return "".join(", %s=%s" % (k, tuple_text(v)) for k, v, usual in names if any(x != usual for x in v))


def batched(c, count, call):
    """Runs call on x with a batch; an input without one gets one for as long."""
    if c.meta(0).dim() == count + 2:
        return call(c[0])
    return "squeeze(%s, 0)" % call("expand_dims(%s, 0)" % c[0])


@writer("conv1d", "conv2d", "conv3d")
def conv(c):
    n = int(c.name[4])
    stride, dilation = spatial(c, "stride", n, 1), spatial(c, "dilation", n, 1)
    padding = c.raw("padding", 0)
    kernel = c.meta(1).shape[2:]
    if isinstance(padding, str):
        total = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilation, kernel)]
        padding = [t // 2 for t in total]
        uneven = [t % 2 for t in total]
    else:
        padding, uneven = spatial(c, "padding", n, 0), [0] * n

    def call(x):
        pad = padding
        if any(uneven):
            x = pad_text(x, [(0, 0)] * 2 + [(p, p + u) for p, u in zip(padding, uneven)], 0.0)
            pad = [0] * n
        return conv_text(c, c.name, x, n, stride, pad, dilation, [0] * n, c.raw("groups", 1))
    return batched(c, n, call)


def conv_text(c, name, x, n, stride, padding, dilation, output_padding, groups):
    more = window_text([("stride", stride, 1), ("padding", padding, 0), ("output_padding", output_padding, 0),
                        ("dilation", dilation, 1)])
    return "%s(%s, %s%s%s%s)" % (name, x, c["weight"], given(c, bias="bias"), more,
                                 ", groups=%d" % groups if groups != 1 else "")


@writer("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def conv_transpose(c):
    n = int(c.name[14])
    return batched(c, n, lambda x: conv_text(
        c, c.name, x, n, spatial(c, "stride", n, 1), spatial(c, "padding", n, 0), spatial(c, "dilation", n, 1),
        spatial(c, "output_padding", n, 0), c.raw("groups", 1)))


@writer("convolution", "_convolution")
def convolution(c):
    n = c.meta(1).dim() - 2
    c.want(1 <= n <= 3, "over %d axes" % n)
    name = ("conv_transpose%dd" if c.raw("transposed") else "conv%dd") % n
    output_padding = spatial(c, "output_padding", n, 0) if c.raw("transposed") else [0] * n
    return batched(c, n, lambda x: conv_text(
        c, name, x, n, spatial(c, "stride", n, 1), spatial(c, "padding", n, 0), spatial(c, "dilation", n, 1),
        output_padding, c.raw("groups", 1)))


def pad_text(x, widths, value):
    return "pad(%s, (%s,), %s)" % (x, ", ".join("(%d, %d)" % w for w in widths), literal(float(value)))


def ceil_extra(size, out, kernel, stride, padding, dilation):
    """How many elements the last window of ceil_mode reaches beyond the padded input."""
    return max((out - 1) * stride + dilation * (kernel - 1) + 1 - (size + 2 * padding), 0)


@writer("max_pool1d", "max_pool2d", "max_pool3d", "max_pool1d_with_indices", "max_pool2d_with_indices",
        "max_pool3d_with_indices")
def max_pool(c):
    n = int(c.name[8])
    kernel, dilation = spatial(c, "kernel_size", n, 1), spatial(c, "dilation", n, 1)
    stride, padding = spatial(c, "stride", n, kernel), spatial(c, "padding", n, 0)
    size, out = c.meta(0).shape[-n:], c.result.shape[-n:]
    extra = [ceil_extra(*v) for v in zip(size, out, kernel, stride, padding, dilation)] if c.raw("ceil_mode", False) else [0] * n
    x = c[0]
    if any(extra):
        widths = [(0, 0)] * (c.meta(0).dim() - n) + [(p, p + e) for p, e in zip(padding, extra)]
        x, padding = pad_text(x, widths, -math.inf), [0] * n
    more = window_text([("stride", stride, None), ("padding", padding, 0), ("dilation", dilation, 1)])
    text = "max_pool%dd(%s, %s%s)" % (n, x, tuple_text(kernel), more)
    return [text, None] if c.name.endswith("indices") else text


@writer("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(c):
    n = int(c.name[8])
    kernel = spatial(c, "kernel_size", n, 1)
    stride, padding = spatial(c, "stride", n, kernel), spatial(c, "padding", n, 0)
    size, out = c.meta(0).shape[-n:], c.result.shape[-n:]
    if c.raw("ceil_mode", False):
        extra = [ceil_extra(*v, 1) for v in zip(size, out, kernel, stride, padding)]
        c.want(not any(extra), "with ceil_mode and windows that reach beyond the input")
    count = ", count_include_pad=False" if not c.raw("count_include_pad", True) else ""
    more = window_text([("stride", stride, None), ("padding", padding, 0)])
    text = "avg_pool%dd(%s, %s%s%s)" % (n, c[0], tuple_text(kernel), more, count if any(padding) else "")
    divisor = c.raw("divisor_override")
    if divisor:
        c.want(not count or not any(padding), "with a divisor and count_include_pad=False")
        text = "%s * %s" % (text, literal(math.prod(kernel) / divisor))
    return text


def adaptive_axis(x, name, axis, size, out):
    """Means or maxima of windows of unequal lengths along one axis."""
    parts = []
    for i in range(out):
        start, end = i * size // out, -(-(i + 1) * size // out)
        parts.append("%s(%s, axis=%d, keepdims=True)" % (name, slice_text(x, start, end, 1, axis), axis))
    return "concat((%s,), axis=%d)" % (", ".join(parts), axis)


@writer("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
        "adaptive_max_pool3d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d")
def adaptive_pool(c):
    n, average = int(c.name[-2]), "avg" in c.name
    size, out = [int(s) for s in c.meta(0).shape[-n:]], [int(s) for s in c.result.shape[-n:]]
    name = "mean" if average else "max"
    if out == [1] * n:
        text = "%s(%s, axis=%s, keepdims=True)" % (name, c[0], tuple_text(range(-n, 0)))
    elif all(s % o == 0 for s, o in zip(size, out)):
        kernel = [s // o for s, o in zip(size, out)]
        text = c[0] if kernel == [1] * n else "%s_pool%dd(%s, %s)" % ("avg" if average else "max", n, c[0], tuple_text(kernel))
    else:
        c.want(max(out) <= 32, "to windows of unequal lengths, more than 32 of them")
        text = c.step(c[0], "x")
        for i in range(n):
            if size[i] != out[i]:
                text = c.step(adaptive_axis(text, name, i - n, size[i], out[i]), "axis%d" % i)
    return text if average else [text, None]


# ---- moving elements ----

def slice_text(x, start, end, step, axis):
    return "slice(%s, %d, %d%s, axis=%d)" % (x, start, end, ", %d" % step if step != 1 else "", axis)


@writer("view", "reshape", "_unsafe_view", "flatten", "unflatten", "_reshape_alias", "reshape_as", "view_as")
def view(c):
    shape = c.result.shape
    return c[0] if shape == c.meta(0).shape else "reshape(%s, %s)" % (c[0], tuple_text(shape))


@writer("squeeze", "unsqueeze")
def squeeze(c):
    shape = c.result.shape
    if shape == c.meta(0).shape:
        return c[0]
    if c.name == "unsqueeze":
        return "expand_dims(%s, %d)" % (c[0], c.raw("dim"))
    return "reshape(%s, %s)" % (c[0], tuple_text(shape))


@writer("permute")
def permute(c):
    rank = c.meta(0).dim()
    return "permute(%s, %s)" % (c[0], tuple_text([d % rank for d in c.raw("dims")])) if rank else c[0]


@writer("transpose", "swapaxes", "transpose_copy")
def transpose(c):
    return "swapaxes(%s, %d, %d)" % (c[0], c.raw(1), c.raw(2)) if c.meta(0).dim() > 1 else c[0]


@writer("t", "numpy_T", "mT", "adjoint", "matrix_H")
def t(c):
    return "swapaxes(%s, -1, -2)" % c[0] if c.meta(0).dim() == 2 or c.name == "mT" else permuted(c)


def permuted(c):
    rank = c.meta(0).dim()
    return c[0] if rank < 2 else "permute(%s, %s)" % (c[0], tuple_text(range(rank - 1, -1, -1)))


@writer("movedim")
def movedim(c):
    rank = c.meta(0).dim()
    source, to_ = ([v % rank for v in (c.raw(k) if isinstance(c.raw(k), (list, tuple)) else [c.raw(k)])]
                   for k in ("source", "destination"))
    order = [d for d in range(rank) if d not in source]
    for d, s in sorted(zip(to_, source)):
        order.insert(d, s)
    return "permute(%s, %s)" % (c[0], tuple_text(order))


@writer("expand", "expand_as", "broadcast_to")
def expand(c):
    shape = c.result.shape
    return c[0] if shape == c.meta(0).shape else "broadcast_to(%s, %s)" % (c[0], tuple_text(shape))


@writer("cat", "concat", "concatenate")
def cat(c):
    parts = [p for p in c.raw("tensors") if not (meta_of(p).dim() == 1 and meta_of(p).numel() == 0 and c.result.dim() > 1)]
    if len(parts) == 1:
        return c.text(parts[0])
    c.want(len(parts) <= 4 * 64, "of more than 256 tensors")
    return "concat((%s), axis=%d)" % (", ".join(c.text(p) for p in parts), c.raw("dim", 0))


@writer("stack")
def stack(c):
    parts = c.raw("tensors")
    return "stack((%s,), axis=%d)" % (", ".join(c.text(p) for p in parts), c.raw("dim", 0))


@writer("split", "split_with_sizes", "chunk", "tensor_split", "unsafe_split", "unsafe_chunk")
def split(c):
    dim = c.raw("dim", 0)
    at, out = 0, []
    for v in c.node.meta["val"]:
        out.append(slice_text(c[0], at, at + v.shape[dim], 1, dim))
        at += v.shape[dim]
    return out


@writer("unbind")
def unbind(c):
    dim = c.raw("dim", 0)
    return [select_text(c[0], dim % c.meta(0).dim(), i) for i in range(len(c.node.meta["val"]))]


def select_text(x, axis, index):
    return "%s[%s%d]" % (x if x.isidentifier() else "(%s)" % x, ":, " * axis, index)


@writer("select")
def select(c):
    size = c.meta(0).shape[c.raw("dim")]
    return select_text(c[0], c.raw("dim") % c.meta(0).dim(), c.raw("index") % size)


def bounds(c, dim):
    size = int(c.meta(0).shape[dim])
    start, end = c.raw("start") or 0, c.raw("end")
    end = size if end is None else end
    start, end = (max(v + size, 0) if v < 0 else min(v, size) for v in (start, end))
    return start, max(end, start), c.raw("step", 1) or 1, size


@writer("slice", "narrow")
def slice_(c):
    dim = c.raw("dim", 0)
    if c.name == "narrow":
        start = c.raw("start")
        start = start + c.meta(0).shape[dim] if start < 0 else start
        return slice_text(c[0], start, start + c.raw("length"), 1, dim)
    start, end, step, size = bounds(c, dim)
    return c[0] if (start, end, step) == (0, size, 1) else slice_text(c[0], start, end, step, dim)


@writer("slice_scatter")
def slice_scatter(c):
    dim = c.raw("dim", 0)
    start, end, step, size = bounds(c, dim)
    c.want(step == 1, "with a step")
    source = c[1] if c.meta(1).dtype == c.meta(0).dtype else cast(c.meta(0).dtype, c[1])
    parts = ([slice_text(c[0], 0, start, 1, dim)] if start else []) + ([source] if end > start else []) + \
        ([slice_text(c[0], end, size, 1, dim)] if end < size else [])
    return parts[0] if len(parts) == 1 else "concat((%s), axis=%d)" % (", ".join(parts), dim)


@writer("select_scatter")
def select_scatter(c):
    dim, index = c.raw("dim"), c.raw("index")
    size = c.meta(0).shape[dim]
    index = index % size
    source = "expand_dims(%s, %d)" % (c[1] if c.meta(1).dtype == c.meta(0).dtype else cast(c.meta(0).dtype, c[1]), dim)
    parts = ([slice_text(c[0], 0, index, 1, dim)] if index else []) + [source] + \
        ([slice_text(c[0], index + 1, size, 1, dim)] if index + 1 < size else [])
    return parts[0] if len(parts) == 1 else "concat((%s), axis=%d)" % (", ".join(parts), dim)


@writer("flip", "fliplr", "flipud")
def flip(c):
    dims = c.raw("dims") if c.name == "flip" else [1 if c.name == "fliplr" else 0]
    return "flip(%s, axis=%s)" % (c[0], tuple_text(dims)) if dims else c[0]


@writer("roll")
def roll(c):
    shifts, dims = (v if isinstance(v, (list, tuple)) else [v] for v in (c.raw("shifts"), c.raw("dims", [])))
    if not dims:
        shape = c.meta(0).shape
        return "reshape(roll(flatten(%s), %d, axis=0), %s)" % (c[0], shifts[0] % max(c.meta(0).numel(), 1), tuple_text(shape))
    x = c[0]
    for shift, dim in zip(shifts, dims):
        x = "roll(%s, %d, axis=%d)" % (x, shift % c.meta(0).shape[dim], dim)
    return x


@writer("repeat", "tile")
def repeat(c):
    times, shape = list(c.raw("repeats" if c.name == "repeat" else "dims")), list(c.meta(0).shape)
    times = [1] * (len(shape) - len(times)) + times
    shape = [1] * (len(times) - len(shape)) + shape
    x = c[0] if len(shape) == c.meta(0).dim() else "reshape(%s, %s)" % (c[0], tuple_text(shape))
    for i, k in enumerate(times):
        if k == 1:
            continue
        before, after = shape[:i], shape[i + 1:]
        if shape[i] == 1:
            x = "broadcast_to(%s, %s)" % (x, tuple_text(before + [k] + after))
        else:
            c.want(len(shape) < 8, "of 8 axes")
            x = "reshape(broadcast_to(expand_dims(%s, %d), %s), %s)" % (
                x, i, tuple_text(before + [k, shape[i]] + after), tuple_text(before + [k * shape[i]] + after))
        shape[i] *= k
    return x


@writer("repeat_interleave")
def repeat_interleave(c):
    times, dim = c.raw("repeats"), c.raw("dim")
    c.want(isinstance(times, int), "by a tensor")
    x = c[0] if dim is not None else "flatten(%s)" % c[0]
    return "repeat(%s, %d, axis=%d)" % (x, times, dim or 0)


@writer("unfold")
def unfold(c):
    dim, size, step = c.raw("dimension"), c.raw("size"), c.raw("step")
    rank = c.meta(0).dim()
    dim, windows = dim % rank, c.result.shape[dim % rank]
    if step == size:
        shape = list(c.meta(0).shape)
        x = c[0] if windows * size == shape[dim] else slice_text(c[0], 0, windows * size, 1, dim)
        x = "reshape(%s, %s)" % (x, tuple_text(shape[:dim] + [windows, size] + shape[dim + 1:]))
    else:
        x = "take(%s, expand_dims(arange(%d) * %d, 1) + arange(%d), axis=%d)" % (c[0], windows, step, size, dim)
    order = [i for i in range(rank + 1) if i != dim + 1] + [dim + 1]
    return x if order == list(range(rank + 1)) else "permute(%s, %s)" % (x, tuple_text(order))


@writer("tril", "triu")
def tri(c):
    return "%s(%s, k=%d)" % (c.name, c[0], c.raw("diagonal", 0))


@writer("diag_embed")
def diag_embed(c):
    c.want(c.raw("offset", 0) == 0 and c.raw("dim1", -2) == -2 and c.raw("dim2", -1) == -1, "elsewhere than on the last diagonal")
    n = c.meta(0).shape[-1]
    return "where(expand_dims(arange(%d), 1) == arange(%d), expand_dims(%s, -1), 0)" % (n, n, c[0])


@writer("diagonal")
def diagonal(c):
    rank = c.meta(0).dim()
    c.want({c.raw("dim1", 0) % rank, c.raw("dim2", 1) % rank} == {rank - 2, rank - 1} and c.raw("offset", 0) == 0,
           "of other axes than the last two")
    shape = list(c.meta(0).shape)
    flat = "reshape(%s, %s)" % (c[0], tuple_text(shape[:-2] + [shape[-2] * shape[-1]]))
    return slice_text(flat, 0, c.result.shape[-1] * (shape[-1] + 1) - shape[-1], shape[-1] + 1, -1)


@writer("constant_pad_nd", "pad")
def pad(c):
    widths, mode = list(c.raw("pad")), c.raw("mode", "constant")
    value = c.raw("value") or 0.0
    pairs = [(0, 0)] * c.meta(0).dim()
    for i in range(len(widths) // 2):
        pairs[-1 - i] = (widths[2 * i], widths[2 * i + 1])
    x = c[0]
    for i, (before, after) in enumerate(pairs):
        if before < 0 or after < 0:
            size = c.meta(0).shape[i]
            x = slice_text(x, max(-before, 0), size - max(-after, 0), 1, i)
    pairs = [(max(b, 0), max(a, 0)) for b, a in pairs]
    if mode == "constant":
        return pad_text(x, pairs, value) if any(p != (0, 0) for p in pairs) else x
    return pad_edge(c, c.step(x, "x"), pairs, mode)


@writer("reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d", "replication_pad2d",
        "replication_pad3d")
def pad_by_name(c):
    widths = c.raw("padding")
    pairs = [(0, 0)] * c.meta(0).dim()
    for i in range(len(widths) // 2):
        pairs[-1 - i] = (widths[2 * i], widths[2 * i + 1])
    c.want(min(widths) >= 0, "with negative widths")
    return pad_edge(c, c.step(c[0], "x"), pairs, "reflect" if c.name.startswith("reflection") else "replicate")


def pad_edge(c, x, pairs, mode):
    sizes = list(c.meta(0).shape)
    for axis, (before, after) in enumerate(pairs):
        n = sizes[axis]
        parts = []
        if mode == "reflect":
            parts += ["flip(%s, axis=%d)" % (slice_text(x, 1, 1 + before, 1, axis), axis)] if before else []
            parts += [x]
            parts += ["flip(%s, axis=%d)" % (slice_text(x, n - 1 - after, n - 1, 1, axis), axis)] if after else []
        elif mode == "circular":
            parts = ([slice_text(x, n - before, n, 1, axis)] if before else []) + [x] + \
                ([slice_text(x, 0, after, 1, axis)] if after else [])
        else:
            parts += ["repeat(%s, %d, axis=%d)" % (slice_text(x, 0, 1, 1, axis), before, axis)] if before else []
            parts += [x]
            parts += ["repeat(%s, %d, axis=%d)" % (slice_text(x, n - 1, n, 1, axis), after, axis)] if after else []
        if len(parts) > 1:
            x = c.step("concat((%s), axis=%d)" % (", ".join(parts), axis), "padded%d" % axis)
    return x


@writer("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def upsample_nearest(c):
    size, out, x = c.meta(0).shape[2:], c.result.shape[2:], c[0]
    for i, (a, b) in enumerate(zip(size, out)):
        c.want(b % a == 0, "by a factor that is no whole number")
        if b != a:
            x = "repeat(%s, %d, axis=%d)" % (x, b // a, i + 2)
    return x


# ---- by index ----

@writer("embedding")
def embedding(c):
    return "embedding(%s, %s)" % (c["indices"], c["weight"])


@writer("index_select")
def index_select(c):
    return "take(%s, %s, axis=%d)" % (c[0], c["index"], c.raw("dim"))


@writer("gather")
def gather(c):
    return "gather(%s, %s, axis=%d)" % (c[0], c["index"], c.raw("dim"))


@writer("index")
def index(c):
    indices = c.raw("indices")
    there = [(i, v) for i, v in enumerate(indices) if v is not None]
    c.want(len(there) == 1, "with %d tensors" % len(there))
    axis, tensor = there[0]
    c.want(meta_of(tensor).dtype != torch.bool, "with a mask: its size depends on values")
    size = c.meta(0).shape[axis]
    return "take(%s, where({0} < 0, {0} + %d, {0}), axis=%d)".format(c.text(tensor)) % (c[0], size, axis)


@writer("one_hot")
def one_hot(c):
    return "one_hot(%s, %d)" % (c[0], c.raw("num_classes"))


# ---- tensors made of nothing ----

@writer("full", "full_like", "new_full", "zeros", "zeros_like", "new_zeros", "ones", "ones_like", "new_ones", "scalar_tensor")
def full(c):
    if c.name.startswith(("zeros", "new_zeros")):
        value = 0.0
    elif c.name.startswith(("ones", "new_ones")):
        value = 1.0
    else:
        value = c.raw("fill_value", c.raw("s"))
    c.want(isinstance(value, NUMBERS), "of a tensor")
    dtype = c.result.dtype
    value = float(value) if dtype.is_floating_point else int(value)
    text = "full(%s, %s)" % (tuple_text(c.result.shape), literal(value))
    return text if dtype in (torch.float32, torch.float64) else cast(dtype, text)


@writer("empty", "empty_like", "new_empty", "empty_permuted", "empty_strided", "new_empty_strided")
def empty(c):
    # whatever it holds is written over before it is read, or the problem has no answer
    text = "full(%s, 0.0)" % tuple_text(c.result.shape)
    return text if c.result.dtype in (torch.float32, torch.float64) else cast(c.result.dtype, text)


@writer("arange")
def arange(c):
    start, end, step = c.raw("start") or 0, c.raw("end"), c.raw("step") or 1
    c.want(all(isinstance(v, int) or float(v).is_integer() for v in (start, end, step)), "of fractions")
    text = "arange(%d, %d, %d)" % (start, end, step)
    return text if c.result.dtype == torch.int64 else cast(c.result.dtype, text)


@writer("linspace")
def linspace(c):
    start, end, steps = c.raw("start"), c.raw("end"), c.raw("steps")
    return "%s + arange(%d) * %s" % (c.text(float(start)), steps, c.text((end - start) / max(steps - 1, 1)))
