import triton
import triton.language as tl

@triton.jit
def add(x, y, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * 200 + tl.arange(0, 200)
    mask = offs < n
    tl.store(y + offs, tl.load(x + offs, mask=mask) + 1, mask=mask)
