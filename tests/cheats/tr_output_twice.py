#// task affine
#// expect wrong/alias
#// why Gets its output through two pointers.
#@ kernel affine grid=(cdiv(n, 4096)) args=(x, y, y, n:i64)
import triton
import triton.language as tl


@triton.jit
def affine(x, y, z, n):
    i = tl.program_id(0).to(tl.int64) * 4096 + tl.arange(0, 4096)
    tl.store(z + i, 2.0 * tl.load(x + i, mask=i < n) + 1.0, mask=i < n)
