#// task softmax
#// expect wrong/nan
#// why Exponentials of large numbers overflow where the maximum is not taken off.
#@ kernel softmax grid=(rows) args=(x, y, cols:i32)
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, cols):
    at = tl.program_id(0) * cols + tl.arange(0, 4096)
    inside = tl.arange(0, 4096) < cols
    e = tl.where(inside, tl.exp(tl.load(x + at, mask=inside, other=0.0)), 0.0)
    tl.store(y + at, e / tl.sum(e, axis=0), mask=inside)
