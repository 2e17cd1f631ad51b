#// task affine
#// expect wrong/unwritten
#// why It reads and writes nothing.
#@ kernel affine grid=(cdiv(n, 4096)) args=(x, y, n:i64)
import triton
import triton.language as tl


@triton.jit
def affine(x, y, n):
    i = tl.program_id(0).to(tl.int64) * 4096 + tl.arange(0, 4096)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, v, mask=(i < n) & (v > 1e30))
