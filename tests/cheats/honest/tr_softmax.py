#// task softmax
#// expect ok
#// why One program a row, the fill value that a maximum needs.
#@ kernel softmax grid=(rows) args=(x, y, cols:i32)
#@ define BLOCK = cols <= 1024 ? 1024 : 4096
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, cols, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(0) * cols + i, mask=i < cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + tl.program_id(0) * cols + i, e / tl.sum(e, axis=0), mask=i < cols)
