"""Writers of what moves elements, reads by index, and makes tensors of nothing; see aten.py."""
import torch

from kwright.aten import AT_ONCE, NUMBERS, cast, joined, literal, meta_of, pad_text, slice_text, tuple_text, writer


# ---- moving elements ----

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
    return joined([c.text(p) for p in parts], c.raw("dim", 0))


@writer("stack")
def stack(c):
    parts, axis = [c.text(p) for p in c.raw("tensors")], c.raw("dim", 0)
    groups = [parts[i:i + AT_ONCE] for i in range(0, len(parts), AT_ONCE)]
    return joined(["stack((%s,), axis=%d)" % (", ".join(g), axis) for g in groups], axis)


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
    return joined(parts, dim)


@writer("select_scatter")
def select_scatter(c):
    dim, index = c.raw("dim"), c.raw("index")
    size = c.meta(0).shape[dim]
    index = index % size
    source = "expand_dims(%s, %d)" % (c[1] if c.meta(1).dtype == c.meta(0).dtype else cast(c.meta(0).dtype, c[1]), dim)
    parts = ([slice_text(c[0], 0, index, 1, dim)] if index else []) + [source] + \
        ([slice_text(c[0], index + 1, size, 1, dim)] if index + 1 < size else [])
    return joined(parts, dim)


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
