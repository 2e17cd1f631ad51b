"""Writers of norms, losses, contractions, convolutions, pooling and recurrent layers; see aten.py."""
import math

import torch

from kwright.aten import cast, joined, literal, meta_of, pad_text, scaled, slice_text, tuple_text, writer


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
    return joined(parts, axis)


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
