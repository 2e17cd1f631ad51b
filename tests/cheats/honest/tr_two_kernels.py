#// task softmax
#// expect ok
#// why Row sums in scratch memory, then a second launch.
#@ kernel sums grid=(rows) args=(x, part, cols:i32)
#@ kernel scale grid=(rows) args=(x, part, y, cols:i32)
#@ workspace part f32[rows, 2]
import triton
import triton.language as tl


@triton.jit
def sums(x, part, cols):
    row = tl.program_id(0)
    i = tl.arange(0, 4096)
    v = tl.load(x + row * cols + i, mask=i < cols, other=-float("inf"))
    top = tl.max(v, axis=0)
    tl.store(part + 2 * row, top)
    tl.store(part + 2 * row + 1, tl.sum(tl.exp(v - top), axis=0))


@triton.jit
def scale(x, part, y, cols):
    row = tl.program_id(0)
    i = tl.arange(0, 4096)
    v = tl.load(x + row * cols + i, mask=i < cols)
    tl.store(y + row * cols + i, tl.exp(v - tl.load(part + 2 * row)) / tl.load(part + 2 * row + 1), mask=i < cols)
