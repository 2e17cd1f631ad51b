#// task affine
#// expect cheat/copied_input
#// why Returns its input.
#@ kernel affine grid=(cdiv(n, 4096)) args=(x, y, n:i64)
import triton
import triton.language as tl


@triton.jit
def affine(x, y, n):
    i = tl.program_id(0).to(tl.int64) * 4096 + tl.arange(0, 4096)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)
