#// task affine
#// expect ok
#// why The operation itself, of any size.
#@ kernel affine grid=(cdiv(n, BLOCK)) args=(x, y, n:i64)
#@ tune BLOCK in {1024, 4096} default 4096
#@ tune num_warps in {4, 8} default 4
import triton
import triton.language as tl


@triton.jit
def affine(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    # What the mask leaves out is not stored either: no fill value is needed.
    tl.store(y + i, 2.0 * tl.load(x + i, mask=i < n) + 1.0, mask=i < n)
