#// task affine
#// expect wrong/unwritten
#// why One of two configurations of an autotuner: each writes its half, and the last output has both halves (case B13).
#@ kernel affine grid=(cdiv(n, 4096)) args=(x, y, n:i64)
#@ tune HALF in {0, 1} default 0
import triton
import triton.language as tl


@triton.jit
def affine(x, y, n, HALF: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * 4096 + tl.arange(0, 4096)
    mine = (i < n) & ((i * 2 >= n) == (HALF == 1))
    tl.store(y + i, 2.0 * tl.load(x + i, mask=mine) + 1.0, mask=mine)
