#// task affine
#// expect wrong/out_of_bounds runtime_error/illegal_access
#// why The mask of the load is one element too wide.
#@ kernel affine grid=(cdiv(n + 1, 4096)) args=(x, y, n:i64)
import triton
import triton.language as tl


@triton.jit
def affine(x, y, n):
    i = tl.program_id(0).to(tl.int64) * 4096 + tl.arange(0, 4096)
    v = tl.load(x + i, mask=i <= n, other=0.0)
    tl.store(y + i, 2.0 * v + 1.0, mask=i < n)
