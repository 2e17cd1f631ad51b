#// task affine
#// expect wrong/out_of_bounds runtime_error/illegal_access
#// why Writes far beyond everything that it was given.
#@ kernel affine grid=(cdiv(n, 4096)) args=(x, y, n:i64)
import triton
import triton.language as tl


@triton.jit
def affine(x, y, n):
    i = tl.program_id(0).to(tl.int64) * 4096 + tl.arange(0, 4096)
    tl.store(y + i + 100000000000, 2.0 * tl.load(x + i, mask=i < n) + 1.0, mask=i < n)
