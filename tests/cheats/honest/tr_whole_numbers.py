#// task rowsum_i64
#// expect ok
#// why Sums of i64 are exact.
#@ kernel rowsum grid=(rows) args=(x, y, cols:i64)
import triton
import triton.language as tl


@triton.jit
def rowsum(x, y, cols):
    i = tl.arange(0, 8192)
    tl.store(y + tl.program_id(0), tl.sum(tl.load(x + tl.program_id(0) * cols + i, mask=i < cols, other=0), axis=0))
