#// task affine
#// expect wrong/nan wrong/mismatch wrong/uninitialised
#// why Adds up in scratch memory that nobody cleared.
#@ kernel affine grid=(cdiv(n, 4096)) args=(x, y, sum, n:i64)
#@ workspace sum f32[n]
import triton
import triton.language as tl


@triton.jit
def affine(x, y, sum, n):
    i = tl.program_id(0).to(tl.int64) * 4096 + tl.arange(0, 4096)
    v = tl.load(sum + i, mask=i < n, other=0.0) + 2.0 * tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, v + 1.0, mask=i < n)
