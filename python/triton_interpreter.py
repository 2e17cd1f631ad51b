"""Triton's interpreter, made as strict as a device: for the player of kernels (python/triton_player.py) and for that of modules
(python/triton_module.py), which run programs with numpy, one after the other.

Every address is looked up before it is used, lanes that a mask leaves out of a load without `other` hold rubbish, as Triton promises
nothing about them, bf16 is rounded as hardware rounds it, programs run in an order of their own in every call, and functions of CUDA's
own library are there."""

import inspect
import math
import os
import random

os.environ["TRITON_INTERPRET"] = "1"

import numpy as np
import triton
import triton.language as tl
from triton.runtime import interpreter

NUMBERS = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u1": np.bool_, "fp32": np.float32,
           "fp64": np.float64}


class Guard:
    """In the place of the code that touches memory: only what lies in a buffer of the call is touched."""

    def __init__(self, inner):
        self.inner, self.player = inner, None
        self.use([], None)

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def use(self, maps, player):
        self.player = player
        real = sorted((address, address + size, read_only) for address, size, read_only, _ in maps if size)
        self.starts = np.array([r[0] for r in real] or [0], dtype=np.uint64)
        self.ends = np.array([r[1] for r in real] or [0], dtype=np.uint64)
        self.read_only = np.array([r[2] for r in real] or [True])

    def check(self, pointers, mask, size, write):
        used = pointers[mask] if mask is not None else pointers.ravel()
        if self.player is None or used.size == 0:
            return
        at = np.maximum(np.searchsorted(self.starts, used, side="right").astype(np.int64) - 1, 0)
        bad = (used < self.starts[at]) | (used + np.uint64(size) > self.ends[at])
        if write:
            bad |= self.read_only[at]
        if bad.any():
            self.player.fault(used[bad][0], write)

    def load(self, pointers, mask, other, dtype):
        self.check(pointers, mask, np.dtype(dtype).itemsize, False)
        return self.inner.load(pointers, mask, other, dtype)

    def store(self, pointers, value, mask):
        self.check(pointers, mask, value.dtype.itemsize, True)
        return self.inner.store(pointers, value, mask)

    def atomic_rmw(self, operation, pointers, value, mask, semantic):
        self.check(pointers, mask, value.dtype.itemsize, True)
        return self.inner.atomic_rmw(operation, pointers, value, mask, semantic)

    def atomic_cas(self, pointers, compared, value, semantic):
        self.check(pointers, None, value.dtype.itemsize, True)
        return self.inner.atomic_cas(pointers, compared, value, semantic)

def rubbish(handle, kind):
    """What nobody promised: no number, and the largest and the smallest by turns, since a maximum passes over what is no number."""
    dtype = interpreter._get_np_dtype(kind)
    values = np.empty(handle.data.shape, dtype=dtype)
    if dtype == np.bool_:
        three = [True, False, True]
    elif np.dtype(dtype).kind == "f":
        three = [np.nan, np.finfo(dtype).max, np.finfo(dtype).min]
    elif kind.is_floating():  # as their bits; the largest of bf16 is 0x7f7f, of f8e4m3 0x7e, of f8e5m2 0x7b
        three = [0x7FFF, 0x7F7F, 0xFF7F] if values.dtype.itemsize == 2 else [0x7F, 0x7B, 0xFB]
    else:
        three = [np.iinfo(dtype).max, np.iinfo(dtype).min, np.iinfo(dtype).max // 3]
    first = random.randrange(3)
    flat = values.reshape(-1)
    for i in range(3):
        flat[i::3] = three[(first + i) % 3]
    return interpreter.TensorHandle(values, kind)


def masked_load(self, ptrs, mask, other, *rest, **more):
    if other is None and not np.all(mask.data):
        other = rubbish(ptrs, ptrs.get_element_ty())
    return original_masked_load(self, ptrs, mask, other, *rest, **more)


def only(data):
    """The one value of an array, which numpy converts only where it has no dims."""
    return data.reshape(-1)[0] if data.size == 1 else data


def patch_tensor(tensor, *scope):
    original_patch_tensor(tensor, *scope)
    set_one = scope[0].set_attr if scope else setattr  # before 3.6 nothing is put back
    set_one(tensor, "__index__", lambda self: int(only(self.handle.data)))
    set_one(tensor, "__bool__", lambda self: bool(only(self.handle.data)) if self.handle.data.size == 1 else True)


def type_of(name):
    return tl.str_to_ty(name, None) if len(inspect.signature(tl.str_to_ty).parameters) > 1 else tl.str_to_ty(name)


# ---- bf16, which numpy has not: the interpreter keeps it as whole numbers, and would calculate with those ----


def wide(handle):
    """The values of bf16 as f32; of other types as they are."""
    if handle.dtype.scalar != tl.bfloat16:
        return handle.data
    return (handle.data.astype(np.uint32) << 16).view(np.float32)


def narrow(values):
    """f32 to the nearest bf16, ties to even."""
    values = np.asarray(values, dtype=np.float32)
    bits = np.ascontiguousarray(values).view(np.uint32).reshape(values.shape)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> 16) & np.uint32(1))) >> 16
    return np.where(np.isnan(values), np.uint32(0x7FC0), rounded).astype(np.uint16)


def handle_of(values, like):
    kind = like.dtype.scalar
    values = narrow(values) if kind == tl.bfloat16 and values.dtype != np.bool_ else values
    return interpreter.TensorHandle(values, kind)


BITS = (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.left_shift, np.right_shift)


def in_f32(name, inputs):
    """An operation of the interpreter whose first `inputs` arguments may be bf16."""
    original = getattr(interpreter.InterpreterBuilder, name)

    def operation(self, *args):
        if args[0].dtype.scalar != tl.bfloat16 or args[-1] in BITS:
            return original(self, *args)
        if name == "create_fma":
            return handle_of(wide(args[0]) * wide(args[1]) + wide(args[2]), args[2])
        if name == "create_rsqrt":
            return handle_of(1 / np.sqrt(wide(args[0])), args[0])
        return handle_of(args[-1](*[wide(a) for a in args[:inputs]]), args[inputs - 1])

    setattr(interpreter.InterpreterBuilder, name, operation)


def dot(self, a, b, d, *rest):
    if a.dtype.scalar != tl.bfloat16:
        return original_dot(self, a, b, d, *rest)
    return handle_of(np.matmul(wide(a), wide(b), dtype=np.float32) + wide(d), d)


def cast(name):
    original = getattr(interpreter.InterpreterBuilder, name)

    def operation(self, src, kind, *rest):
        if kind.scalar == tl.bfloat16 and src.dtype.scalar != tl.bfloat16:
            return interpreter.TensorHandle(narrow(src.data), kind.scalar)
        if src.dtype.scalar == tl.bfloat16 and kind.scalar != tl.bfloat16:
            src = interpreter.TensorHandle(wide(src), tl.float32)
            if kind.scalar == tl.float32:
                return src
        return original(self, src, kind, *rest)

    setattr(interpreter.InterpreterBuilder, name, operation)


def reduced_sum(self, input):
    if input.dtype.scalar != tl.bfloat16:
        return original_sum(self, input)
    return self.to_tensor(narrow(np.sum(wide(input.handle), axis=self.axis, keepdims=self.keep_dims)), input.dtype)


for name, inputs in (("unary_op", 1), ("binary_op", 2), ("create_fma", 3), ("create_rsqrt", 1)):
    in_f32(name, inputs)
for name in ("cast_impl", "create_fp_to_fp"):
    cast(name)
original_dot, interpreter.InterpreterBuilder.create_dot = interpreter.InterpreterBuilder.create_dot, dot
original_sum, interpreter.ReduceOps.sum = interpreter.ReduceOps.sum, reduced_sum


# ---- programs ----


def pointer(address, kind):
    t = tl.pointer_type(type_of(kind[1:]))
    return tl.tensor(interpreter.TensorHandle(np.array([address], dtype=np.uint64), t), t)


def number(value, kind):
    t = tl.int1 if kind == "u1" else type_of(kind)
    return tl.tensor(interpreter.TensorHandle(np.array([value], dtype=NUMBERS[kind]), t), t)


def launch(function, grid, arguments):
    in_any_order(function.rewrite(), grid, arguments)


def in_any_order(rewritten, grid, arguments):
    programs = [(x, y, z) for x in range(grid[0]) for y in range(grid[1]) for z in range(grid[2])]
    random.shuffle(programs)
    scope = interpreter._patch_lang(rewritten)
    builder = interpreter.interpreter_builder
    try:
        builder.set_grid_dim(*grid)
        for place in programs:
            builder.set_grid_idx(*place)
            rewritten(**arguments)
    finally:
        if scope is not None:
            scope.restore()


# ---- functions of CUDA's own library, which the interpreter has not ----


def of_numpy(function):
    def operation(*args, **unused):
        like = next(a for a in args if isinstance(a, tl.tensor))
        data = [a.handle.data if isinstance(a, tl.tensor) else a for a in args]
        result = np.asarray(function(*data), dtype=like.handle.data.dtype)
        return tl.tensor(interpreter.TensorHandle(result, like.dtype.scalar), tl.block_type(like.dtype.scalar, list(like.shape)) if
                         like.type.is_block() else like.type)

    return operation


def inverse_root(x):
    return 1 / np.sqrt(x)


error_function = np.vectorize(math.erf, otypes=[np.float64])


def add_libdevice():
    from triton.language.extra import cuda, libdevice

    for name, function in (("tanh", np.tanh), ("expm1", np.expm1), ("log1p", np.log1p), ("log10", np.log10), ("sin", np.sin),
                           ("cos", np.cos), ("tan", np.tan), ("atan", np.arctan), ("pow", np.power), ("rint", np.rint),
                           ("trunc", np.trunc), ("sqrt", np.sqrt), ("exp", np.exp), ("log", np.log), ("fmod", np.fmod),
                           ("erf", error_function), ("rsqrt", inverse_root), ("exp2", np.exp2), ("log2", np.log2), ("floor", np.floor),
                           ("ceil", np.ceil), ("abs", np.abs), ("fast_expf", np.exp), ("fast_logf", np.log), ("fast_tanhf", np.tanh),
                           ("fast_sinf", np.sin), ("fast_cosf", np.cos), ("fast_powf", np.power), ("sinh", np.sinh), ("cosh", np.cosh),
                           ("asin", np.arcsin), ("acos", np.arccos), ("atan2", np.arctan2), ("asinh", np.arcsinh), ("cbrt", np.cbrt),
                           ("hypot", np.hypot)):
        setattr(libdevice, name, of_numpy(function))
        setattr(cuda.libdevice, name, of_numpy(function))


def install():
    """From here on kernels are interpreted so."""
    add_libdevice()
    interpreter.InterpreterBuilder.create_masked_load = masked_load
    interpreter._patch_lang_tensor = patch_tensor
    interpreter._interpreter = guard


original_masked_load = interpreter.InterpreterBuilder.create_masked_load
original_patch_tensor = interpreter._patch_lang_tensor
guard = Guard(interpreter._interpreter)
install()
