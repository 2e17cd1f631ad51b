#// task affine
#// expect wrong/input_modified
#// why Uses its input as scratch memory.
#@ kernel affine grid=(cdiv(n, 4096)) args=(x, y, n:i64)
import triton
import triton.language as tl


@triton.jit
def affine(x, y, n):
    i = tl.program_id(0).to(tl.int64) * 4096 + tl.arange(0, 4096)
    tl.store(x + i, 2.0 * tl.load(x + i, mask=i < n), mask=i < n)
    tl.store(y + i, tl.load(x + i, mask=i < n) + 1.0, mask=i < n)
