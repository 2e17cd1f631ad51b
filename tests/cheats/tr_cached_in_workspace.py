#// task affine
#// expect cheat/stale_output wrong/mismatch
#// why Keeps its first answer in scratch memory, beside a mark that it was there.
#@ kernel affine grid=(cdiv(n, 4096)) args=(x, y, kept, mark, n:i64)
#@ workspace kept f32[n]
#@ workspace mark i32[cdiv(n, 4096)]
import triton
import triton.language as tl


@triton.jit
def affine(x, y, kept, mark, n):
    block = tl.program_id(0)
    i = block.to(tl.int64) * 4096 + tl.arange(0, 4096)
    if tl.load(mark + block) == 123456789:
        tl.store(y + i, tl.load(kept + i, mask=i < n), mask=i < n)
    else:
        v = 2.0 * tl.load(x + i, mask=i < n, other=0.0) + 1.0
        tl.store(kept + i, v, mask=i < n)
        tl.store(y + i, v, mask=i < n)
        tl.store(mark + block, 123456789)
