#// task affine
#// expect wrong/out_of_bounds
#// why Whole blocks only, whatever the size.
#@ kernel affine grid=(cdiv(n, 4096)) args=(x, y)
import triton
import triton.language as tl


@triton.jit
def affine(x, y):
    i = tl.program_id(0).to(tl.int64) * 4096 + tl.arange(0, 4096)
    tl.store(y + i, 2.0 * tl.load(x + i) + 1.0)
