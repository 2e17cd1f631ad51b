# bias_gelu.py: bias and gelu as torch.compile writes such operations: a tile of elements a program, the bias by a remainder, kept in the caches.
# Judged beside it: kwright tune TASK bench/bias_gelu.py --baselines compile, TASK tasks/bias_gelu.yaml with `torch: F.gelu(x + bias)` in its reference.
#@ kernel bg grid=(cdiv(rows * cols, XBLOCK)) args=(x, bias, y, rows * cols:i32)
#@ tune XBLOCK in {512, 1024, 2048} default 1024
#@ tune num_warps in {4, 8} default 4
#@ define COLS = cols
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def bg(x, bias, y, n, XBLOCK: tl.constexpr, COLS: tl.constexpr):
    i = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)
    m = i < n
    v = tl.load(x + i, m) + tl.load(bias + i % COLS, m, eviction_policy="evict_last")
    tl.store(y + i, v * 0.5 * (libdevice.erf(v * 0.7071067811865476) + 1), m)
