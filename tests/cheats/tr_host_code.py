#// task affine
#// expect build_error/syntax
#// why Brings a function of Python that launches it.
#@ kernel affine grid=(cdiv(n, 4096)) args=(x, y, n:i64)
import triton
import triton.language as tl


@triton.jit
def affine(x, y, n):
    i = tl.program_id(0).to(tl.int64) * 4096 + tl.arange(0, 4096)
    tl.store(y + i, 2.0 * tl.load(x + i, mask=i < n) + 1.0, mask=i < n)


def solution(x):
    affine[(1,)](x, x, 1)
    return x
