#// task rowsum
#// expect ok
#// why A function of its own, a constant of the module, and a loop.
#@ kernel rowsum grid=(rows) args=(x, y, cols:i32)
import triton
import triton.language as tl


BLOCK = tl.constexpr(512)


@triton.jit
def part(x, c, cols):
    i = c + tl.arange(0, BLOCK)
    return tl.load(x + i, mask=i < cols, other=0.0)


@triton.jit
def rowsum(x, y, cols):
    s = tl.zeros((BLOCK,), tl.float32)
    for c in range(0, cols, BLOCK):
        s += part(x + tl.program_id(0) * cols, c, cols)
    tl.store(y + tl.program_id(0), tl.sum(s, axis=0))
